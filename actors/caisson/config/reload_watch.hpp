// Reloads on SIGHUP, and when a file changes.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/settings/field.hpp>

#include <filesystem>
#include <memory>

namespace caisson {

/// When to ask for a reload: on a signal, after a change, or both.
struct reload_watch_config {
  /// Whether SIGHUP asks for a reload. At most one watch of a process can.
  bool on_hangup = true;

  /// Whether a change of the file does, also one by an editor that puts another
  /// file in its place.
  bool on_change = true;

  /// A change counts once the file has been left alone for so long: 20 ms to 1
  /// min, default 200 ms. A signal counts at once, and further ones within that
  /// time of it together at its end.
  duration debounce = std::chrono::milliseconds(200);
};

void describe(field_visitor& v, reload_watch_config& c);

/// As long as it lives, it sends `reload` to the controller of a set of gates
/// on SIGHUP and when the file has changed. The file as the watch finds it
/// counts as a change, too: it may be another than the gates were made from.
/// The watch has a thread of its own, which sleeps until something happens, and
/// does not block SIGHUP, whatever other threads do. The handler of the signal
/// only writes to a descriptor; the one that was there before is put back at
/// the end.
///
/// Changes are noticed by inotify in the directory of the file. If that cannot
/// be watched, the constructor throws; if it is removed or renamed later, only
/// the signal counts from then on. For Linux. Must not outlive the system.
class reload_watch {
public:
  /// `file` is that of the gates. Throws `config_error` if the configuration is
  /// not valid, and `std::system_error` if the system refuses the watch, or
  /// another watch of the process has the signal.
  reload_watch(caf::actor controller, const std::filesystem::path& file,
               reload_watch_config c = {});
  ~reload_watch();

  reload_watch(const reload_watch&) = delete;
  reload_watch& operator=(const reload_watch&) = delete;

private:
  class watcher;
  std::unique_ptr<watcher> watcher_;
};

} // namespace caisson
