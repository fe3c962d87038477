// Stacks from settings: from a TOML file, or from tables within a larger one.
#pragma once

#include <caisson/caf.hpp>
#include <caisson/settings.hpp>
#include <caisson/stack.hpp>
#include <caisson/supervision.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace caisson {

/// One stack as a file describes it.
struct stack_entry {
  /// Its layers and the settings of its gate.
  stack policies;
  /// How a worker is supervised that the gate makes itself; of no effect for
  /// workers given as handles.
  supervision_config supervision = {};
};

/// The stacks of a file, by the key that follows `stack.`.
struct stack_file {
  std::map<std::string, stack_entry, std::less<>> stacks;
};

/// Reads one stack: the fields of `gate_config` (`name` defaults to the `name`
/// given here), a list of tables `layer` in the order in which a call meets
/// them, and a table `worker` with the fields of `supervision_config`.
///
/// `path` and `place` say where `table` stands: keys in problems begin with
/// `path`, and problems that no single value is to blame for get `place`.
/// Alternatives of a fallback that are actors are looked up in the registry of
/// `sys`, now; without `sys` each of them is a problem.
///
/// Appends everything that is wrong to `out`, and then returns nothing.
[[nodiscard]] std::optional<stack_entry>
stack_from(const settings& table, const std::string& name,
           const setting_path& path, std::string_view place, problems& out,
           caf::actor_system* sys = nullptr);

/// Reads every stack in the table under the key `stack` of `root`; it is no
/// problem if there is none. The other keys of `root` are left to the caller.
///
/// Appends everything that is wrong, with all stacks, to `out`; then the result
/// is empty.
[[nodiscard]] stack_file read_stacks(const settings& root, problems& out,
                                     caf::actor_system* sys = nullptr);

/// Reads a file that consists of stacks. Throws `config_error` with everything
/// that is wrong with it, keys other than `stack` included.
[[nodiscard]] stack_file load_stacks(const std::filesystem::path& path,
                                     caf::actor_system* sys = nullptr);

} // namespace caisson
