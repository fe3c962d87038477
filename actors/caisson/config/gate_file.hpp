// All gates of a system in one TOML file.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/config/stack_toml.hpp>
#include <caisson/gate/described_worker.hpp>
#include <caisson/gate/supervision_group.hpp>
#include <caisson/gate/worker.hpp>
#include <caisson/gate/worker_names.hpp>
#include <caisson/settings/settings.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace caisson {

/// One gate from a file.
struct gate_entry {
  /// Its layers, its own settings, and how it supervises its worker.
  stack_entry policies;
  /// The name of its worker; `none`: it only lends permits. Empty if the file
  /// describes the worker itself.
  std::string worker = {};
  /// The worker that the file describes; null if it only has a name.
  std::shared_ptr<const described_worker> described = {};
  /// The supervision group of the worker; empty: none.
  std::string group = {};
  /// The worker's rank in its group: lower ones start first and stop last.
  std::uint32_t rank = 0;
  /// Of each layer: what the file says of it besides its settings, such as the
  /// alternatives of a fallback, as one text.
  std::vector<std::string> fixed = {};
  /// `file:line:column` of the gate.
  std::string place = {};
  /// `file:line:column` of the worker's name, or of its table.
  std::string worker_place = {};
};

/// The gates of a file and the supervision groups of their workers, by name.
struct gate_file {
  /// The gates; none if the file had a problem.
  std::map<std::string, gate_entry, std::less<>> gates;
  /// The supervision groups.
  std::map<std::string, supervision_group_config, std::less<>> groups;
};

using group_handles = std::map<std::string, supervision_group, std::less<>>;

/// Reads the gates in the table under the key `gates` of `root`, each a table
/// as `stack_from` reads it, but for its key `worker`: the name of the worker,
/// or a table with that as `name`, the fields of `supervision_config`, and
/// `group` and `rank` if it is in one of the groups of the table `groups`, each
/// a table with the fields of `supervision_group_config`. Workers are looked up
/// in `known` and then in the registry of `sys`. A table with a `kind` of
/// `known` describes the worker itself: it has the settings of the kind, and
/// those of supervision in a table `supervision`.
///
/// The table `default`, which may be absent, is a stack without a name. Gates
/// have its settings where they do not state them, and its layers, or its
/// preset, unless they have their own. A table `override` in a gate changes
/// settings of the layers of `default`, by the names of the layers. Actors
/// named in layers are looked up, too.
///
/// On problems, appends those of all gates to `out` and returns none of them.
[[nodiscard]] gate_file read_gates(const settings& root,
                                   const worker_names& known, problems& out,
                                   caf::actor_system& sys);

/// Reads a file that consists of gates. Appends every problem, including keys
/// other than `default`, `gates` and `groups`, and that there is no gate, to
/// `out`, and then returns no gate.
[[nodiscard]] gate_file read_gate_file(const std::filesystem::path& path,
                                       const worker_names& known, problems& out,
                                       caf::actor_system& sys);

/// The worker of an entry. The name must be known, as it was when the entry
/// was read; a registered actor that has gone meanwhile is a worker that is
/// down. Throws `config_error` if it is to be in a group but is not made by the
/// gate, or has a group already, or if `groups` lacks the group.
[[nodiscard]] worker worker_of(const gate_entry& x, const worker_names& known,
                               caf::actor_system& sys,
                               const group_handles& groups = {});

} // namespace caisson
