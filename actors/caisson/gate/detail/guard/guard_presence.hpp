// Counts the threads that are in a guard, for those who await its end.
#pragma once

#include <condition_variable>
#include <cstddef>

namespace caisson::detail {

/// How many threads have calls in a guard, or carry one on. Protected by the
/// guard's mutex.
class guard_presence {
public:
  void enter() noexcept { ++inside_; }
  void leave() {
    --inside_;
    notify();
  }

  /// Whether nobody is inside.
  [[nodiscard]] bool is_empty() const noexcept { return inside_ == 0; }

  // -- for those who await an end ---------------------------------------------

  /// From now on somebody may wait for `left`.
  void await() noexcept { is_awaited_ = true; }

  /// Notified when a call may be over, or a timer is due earlier.
  [[nodiscard]] std::condition_variable& left() noexcept { return left_; }

  /// Something has changed that somebody may wait for.
  void notify() {
    if (is_awaited_)
      left_.notify_all();
  }

private:
  std::size_t inside_ = 0;
  std::condition_variable left_;
  bool is_awaited_ = false;
};

} // namespace caisson::detail
