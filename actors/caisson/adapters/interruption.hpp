// Lets one thread wait for a socket, and another one end that.
#pragma once

#include <caisson/base/time.hpp>

#include <atomic>
#include <cstdint>

namespace caisson {

/// Waits for a socket until a deadline, or until somebody else calls the job at
/// hand off. One thread does numbered jobs one after the other and waits; any
/// other thread may `interrupt` a job.
///
/// On the monotonic clock of the machine: not for virtual time.
class interruption {
public:
  /// What ended a wait.
  enum class wake : std::uint8_t { ready, timeout, interrupted };

  /// Throws `std::system_error` if the system has no file descriptor left.
  interruption();
  ~interruption();

  interruption(const interruption&) = delete;
  interruption& operator=(const interruption&) = delete;

  // -- for the thread that waits ----------------------------------------------

  /// A job begins. Numbers are positive, and grow.
  void begin(std::uint64_t job) noexcept { job_ = job; }

  /// Whether the current job was called off.
  [[nodiscard]] bool interrupted() const noexcept { return last_ >= job_; }

  /// Waits for `events` (`POLLIN`, `POLLOUT`) of `fd`, or for the end of its
  /// connection, which counts as ready, until `until`. A job that was called
  /// off waits for nothing, and neither does one whose time is over.
  [[nodiscard]] wake wait(int fd, short events, time_point until);

  // -- for any thread ---------------------------------------------------------

  /// Calls off the job with this number, and all earlier ones: its waits end
  /// at once, now and later. Does nothing if it is over.
  void interrupt(std::uint64_t job) noexcept;

private:
  std::uint64_t job_ = 1;
  std::atomic<std::uint64_t> last_{0};
  int fd_;
};

} // namespace caisson
