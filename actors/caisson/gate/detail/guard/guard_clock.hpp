// The clock of a guard.
#pragma once

#include <caisson/base/time.hpp>

#include <condition_variable>
#include <mutex>

namespace caisson::detail {

/// The clock of a guard, and how a thread waits for it.
class guard_clock {
public:
  virtual ~guard_clock() = default;

  [[nodiscard]] virtual time_point now() const = 0;

  /// Gives the mutex up until `changed` is notified or `until` has come; may
  /// return early.
  virtual void wait(std::unique_lock<std::mutex>& lock,
                    std::condition_variable& changed, time_point until)
    = 0;

  /// That of the machine. Lives as long as the program.
  static guard_clock& steady();
};

} // namespace caisson::detail
