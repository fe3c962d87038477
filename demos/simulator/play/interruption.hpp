// Handles signals that end the command early, such as Ctrl-C.
#pragma once

#include <atomic>
#include <string>

#include <signal.h>

namespace caisson::sim {

/// While one of these lives, SIGINT, SIGTERM, SIGHUP and SIGPIPE end nothing by
/// themselves but make `caught` true. A second signal, SIGPIPE aside, that
/// comes 100 ms after the first or later removes all unfinished files and ends
/// the process as if it had not been caught.
/// SIGINT and SIGHUP stay ignored if they were, as under `nohup`. One at a
/// time.
class signal_watch {
public:
  signal_watch();
  ~signal_watch();
  signal_watch(const signal_watch&) = delete;
  signal_watch& operator=(const signal_watch&) = delete;

  /// Whether a signal has come. Stays true.
  [[nodiscard]] static const std::atomic<bool>& caught() noexcept;

  /// How many signals there are.
  static constexpr std::size_t signals = 4;

private:
  struct sigaction before_[signals];
};

/// While one of these lives, the first signal ends the process as a second one
/// does: for what may wait for ever, such as the other end of a pipe, where
/// nothing is done yet that could be kept.
class ends_at_once {
public:
  explicit ends_at_once(bool active = true) noexcept;
  ~ends_at_once();
  ends_at_once(const ends_at_once&) = delete;
  ends_at_once& operator=(const ends_at_once&) = delete;

private:
  bool active_;
};

/// Makes a new and empty file beside `target` and returns its path; empty, with
/// `errno` set, if that is not possible. Until it is `forget_unfinished`, a
/// second signal removes it.
[[nodiscard]] std::string make_unfinished(const std::string& target);

/// The file is finished, or has been removed.
void forget_unfinished(const std::string& path);

} // namespace caisson::sim
