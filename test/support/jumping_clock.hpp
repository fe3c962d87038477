// A clock for guards that moves when a thread waits for it.
#pragma once

#include <caisson/gate/detail/guard/guard_host.hpp>

#include <algorithm>
#include <stdexcept>

namespace caisson::test {

/// For one thread: to wait is to move the clock.
class jumping_clock final : public detail::guard_clock {
public:
  static time_point origin() { return time_point{} + std::chrono::hours(1); }

  [[nodiscard]] time_point now() const override { return now_; }
  /// Since the start.
  [[nodiscard]] duration passed() const { return now_ - origin(); }
  void pass(duration d) { now_ += d; }

  void wait(std::unique_lock<std::mutex>&, std::condition_variable&,
            time_point until) override {
    if (until == never)
      throw std::logic_error{"waits for ever"};
    now_ = std::max(now_, until);
  }

private:
  time_point now_ = origin();
};

} // namespace caisson::test
