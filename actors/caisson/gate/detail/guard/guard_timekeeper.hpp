// Makes a waiting thread look at the clock of its guard.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/gate/detail/guard/guard_caller.hpp>
#include <caisson/gate/detail/guard/guard_clock.hpp>

#include <mutex>
#include <vector>

namespace caisson::detail {

/// When the engine's next timer is due, and the threads that wait in a guard,
/// one of which waits for that timer, for all of them. Protected by the guard's
/// mutex.
class guard_timekeeper {
public:
  explicit guard_timekeeper(guard_clock& clock) : clock_(clock) {}

  // -- the timer --------------------------------------------------------------

  [[nodiscard]] time_point now() const { return clock_.now(); }

  /// For when the timer is set; `never` if it is not.
  [[nodiscard]] time_point armed() const noexcept { return armed_; }
  [[nodiscard]] bool is_due() const { return armed_ <= clock_.now(); }

  /// Sets the timer. Returns whether it is due earlier than before.
  bool arm(time_point at);
  void disarm() noexcept { armed_ = never; }

  // -- waiting threads --------------------------------------------------------

  /// Waits for a change of that call, and, if no other thread does so, for the
  /// timer. Returns whether this thread did. To be followed by `remove`.
  bool wait(std::unique_lock<std::mutex>& lock, thread_caller& caller);
  /// The thread waits no more. It may still keep the time.
  void remove(thread_caller& caller);

  /// Waits for `changed`, and for the timer if no thread does so.
  void wait_for(std::unique_lock<std::mutex>& lock,
                std::condition_variable& changed);

  /// Whether that thread, or any, waits for the timer.
  [[nodiscard]] bool keeps_time(const thread_caller& caller) const noexcept {
    return keeper_ == &caller;
  }
  [[nodiscard]] bool is_kept() const noexcept { return keeper_ != nullptr; }

  /// Another thread waits for the timer from now on. Returns whether there is
  /// one.
  bool pass_on();

  void wake_all();

private:
  guard_clock& clock_;
  time_point armed_ = never;
  std::vector<thread_caller*> waiting_;
  thread_caller* keeper_ = nullptr;
};

} // namespace caisson::detail
