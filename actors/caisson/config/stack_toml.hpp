// Stacks from settings: from a TOML file, or from tables within a larger one.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/engine/supervision.hpp>
#include <caisson/settings/settings.hpp>
#include <caisson/stack/stack.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace caisson {

/// One stack from a file.
struct stack_entry {
  /// Its layers and the settings of its gate.
  stack policies;
  /// How the gate supervises a worker that it spawns; no effect for workers
  /// given as handles.
  supervision_config supervision = {};
};

/// The stacks of a file, by the key that follows `stack.`.
struct stack_file {
  /// None if the file had a problem.
  std::map<std::string, stack_entry, std::less<>> stacks;
};

/// Reads one stack: the fields of `gate_config` (`name` defaults to the `name`
/// given here), a list of tables `layer` in the order in which a call passes
/// them, or a `preset` (see presets.hpp), and a table `worker` with the fields
/// of `supervision_config`.
///
/// `path` and `place` say where `table` is: keys in problems begin with `path`,
/// and problems that no single value causes get `place`. Alternatives of a
/// fallback that are actors are looked up in the registry of `sys`, now;
/// without `sys` each of them is a problem. What the table does not say of the
/// supervision is as in `base`.
///
/// On problems, appends all of them to `out` and returns nothing.
[[nodiscard]] std::optional<stack_entry>
stack_from(const settings& table, const std::string& name,
           const setting_path& path, std::string_view place, problems& out,
           caf::actor_system* sys = nullptr,
           const supervision_config& base = {});

/// Reads every stack in the table under the key `stack` of `root`, which may be
/// absent. The other keys of `root` are left to the caller.
///
/// On problems, appends those of all stacks to `out` and returns nothing.
[[nodiscard]] stack_file read_stacks(const settings& root, problems& out,
                                     caf::actor_system* sys = nullptr);

/// Reads a file that consists of stacks. Throws `config_error` with every
/// problem, including keys other than `stack`.
[[nodiscard]] stack_file load_stacks(const std::filesystem::path& path,
                                     caf::actor_system* sys = nullptr);

} // namespace caisson
