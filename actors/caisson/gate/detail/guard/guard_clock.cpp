#include <caisson/gate/detail/guard/guard_clock.hpp>

#include <chrono>

namespace caisson::detail {

namespace {

class steady_guard_clock final : public guard_clock {
public:
  [[nodiscard]] time_point now() const override {
    return std::chrono::steady_clock::now();
  }

  void wait(std::unique_lock<std::mutex>& lock,
            std::condition_variable& changed, time_point until) override {
    if (until == never)
      changed.wait(lock);
    else
      changed.wait_until(lock, until);
  }
};

} // namespace

guard_clock& guard_clock::steady() {
  static steady_guard_clock clock;
  return clock;
}

} // namespace caisson::detail
