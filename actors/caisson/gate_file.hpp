// All gates of a system in one TOML file.
#pragma once

#include <caisson/caf.hpp>
#include <caisson/settings.hpp>
#include <caisson/stack_toml.hpp>
#include <caisson/worker.hpp>
#include <caisson/worker_names.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace caisson {

/// One gate from a file.
struct gate_entry {
  /// Its layers, its own settings, and how it supervises its worker.
  stack_entry policies;
  /// The name of its worker; `none`: it only lends permits.
  std::string worker = {};
  /// Of each layer: what the file says of it besides its settings, such as the
  /// alternatives of a fallback, as one text.
  std::vector<std::string> fixed = {};
  /// `file:line:column` of the gate, and of its worker's name.
  std::string place = {};
  std::string worker_place = {};
};

/// The gates of a file, by name.
struct gate_file {
  std::map<std::string, gate_entry, std::less<>> gates;
};

/// Reads the gates in the table under the key `gates` of `root`, each a table
/// as `stack_from` reads it, but for its key `worker`: the name of the worker,
/// or a table with that as `name` and the fields of `supervision_config`.
/// Workers are looked up in `known` and then in the registry of `sys`.
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
/// other than `default` and `gates`, and that there is no gate, to `out`, and
/// then returns no gate.
[[nodiscard]] gate_file read_gate_file(const std::filesystem::path& path,
                                       const worker_names& known, problems& out,
                                       caf::actor_system& sys);

/// The worker of an entry. The name must be known, as it was when the entry
/// was read; a registered actor that has gone meanwhile is a worker that is
/// down.
[[nodiscard]] worker worker_of(const gate_entry& x, const worker_names& known,
                               caf::actor_system& sys);

} // namespace caisson
