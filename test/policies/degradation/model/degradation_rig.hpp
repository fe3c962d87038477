// Settings of a degradation layer, and its host, for tests of it.
#pragma once

#include <caisson/policies/degradation/degradation.hpp>

#include <support/rig.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test::degrading {

using namespace std::chrono_literals;

/// Counts the changes that it was notified of.
class counting final : public degradation::listener {
public:
  void levels_changed() override { ++changes; }
  int changes = 0;
};

/// Ten calls are enough, looked at every second.
inline degradation_config quick_degradation() {
  degradation_config c;
  c.min_calls = 10;
  return c;
}

/// Hosts one layer.
class degradation_rig : public rig<degradation> {
public:
  explicit degradation_rig(degradation_config c = quick_degradation())
    : rig(std::move(c)) {
    policy.send_changes_to(&listener);
  }

  // Calls that take some time, of which each succeeds or none does.
  void calls_of(duration took, int n, bool ok = true) {
    auto all = arrive_together(n);
    advance(took);
    for (auto id : all)
      ok ? finish(id) : fail(id);
  }

  void good(int n) { calls_of(0s, n); }
  void bad(int n) { calls_of(0s, n, false); }

  // One call every 100 ms.
  void steady(duration length, bool ok) {
    for (auto end = now() + length; now() < end; advance(100ms))
      ok ? good(1) : bad(1);
  }

  [[nodiscard]] std::vector<std::string> off() const {
    return policy.features_off();
  }

  counting listener;
};

/// Two below one, and another tree beside it.
inline degradation_config tree() {
  auto c = quick_degradation();
  c.levels = {{.name = "shop", .features = {"a", "b"}},
              {.name = "search", .parent = "shop", .min_success = 0.5},
              {.name = "ads", .parent = "shop", .features = {"b"}},
              {.name = "video", .min_success = 0, .max_latency = 100ms}};
  return c;
}

} // namespace caisson::test::degrading
