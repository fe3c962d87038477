// The gates of a TOML file, which can change while they run.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/call_handle.hpp>
#include <caisson/gate/supervision_group.hpp>
#include <caisson/gate/worker_names.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

namespace detail {
class gate_directory;
} // namespace detail

/// A handle of all gates of one file. Copies are handles of the same gates,
/// which are stopped when the last copy goes, or by `stop`. Safe to use from
/// any thread; must not outlive the system.
class gate_set {
public:
  gate_set() = default;

  /// The gate of that name, with full control; null if there is none. A gate
  /// keeps its handle through reloads, as long as the file has it.
  [[nodiscard]] control_handle find(std::string_view name) const;

  /// A handle of that gate for calls only; null if there is none.
  [[nodiscard]] call_handle calls(std::string_view name) const {
    return call_handle{find(name)};
  }

  /// The supervision group of that name, for `reconfigure`, `get_status` and
  /// further workers of the program's; without a handle if there is none.
  [[nodiscard]] supervision_group group(std::string_view name) const;

  /// The names of the gates that there are now, in alphabetical order.
  [[nodiscard]] std::vector<std::string> names() const;

  /// Takes `reload`, which it answers with a `reload_report`, and `subscribe`
  /// and `unsubscribe` for events of the kind `reconfigured` about all gates
  /// and groups.
  /// Not to be published to other nodes.
  [[nodiscard]] const caf::actor& controller() const;

  /// Stops all gates. Calls that they hold are answered with `cancelled`.
  void stop();

private:
  friend gate_set spawn_gates(caf::actor_system& sys,
                              std::filesystem::path file, worker_names known);

  struct state;
  std::shared_ptr<state> state_;
};

/// Spawns the gates of a file, see gate_file.hpp. The file is read again on
/// `reload`; docs/reload.md describes what happens then.
///
/// Throws `config_error` with every problem, and spawns nothing, if the file
/// is not valid or makers of workers throw.
[[nodiscard]] gate_set spawn_gates(caf::actor_system& sys,
                                   std::filesystem::path file,
                                   worker_names known = {});

} // namespace caisson
