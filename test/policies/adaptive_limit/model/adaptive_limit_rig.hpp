// Hosts of adaptive limits, for tests of them.
#pragma once

#include <caisson/policies/adaptive_limit/adaptive_limit.hpp>

#include <support/rig.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace caisson::test::adapting {

/// Each round of the rig is a window, its latency exact, and nothing is drawn.
inline adaptive_limit_config exact(limit_algorithm algorithm) {
  adaptive_limit_config c;
  c.algorithm = algorithm;
  c.window = std::chrono::milliseconds(1);
  c.min_samples = 2;
  c.drop_share = 0;
  c.quantile = 1;
  c.jitter = 0;
  return c;
}

/// Hosts one layer, and plays the worker behind it.
class adaptive_limit_rig : public rig<adaptive_limit> {
public:
  explicit adaptive_limit_rig(adaptive_limit_config c) : rig(std::move(c)) {}

  /// `n` calls, at least 2, are in flight together and take `latency`, longer
  /// than 1ms, each; the first `drops` of them fail. The last one begins and
  /// ends 1ms later, so that a window of 1ms is over.
  void round(int n, duration latency, int drops = 0) {
    using std::chrono::milliseconds;
    auto ids = arrive_together(n - 1);
    advance(milliseconds(1));
    auto last = arrive();
    advance(latency - milliseconds(1));
    for (auto id : ids)
      end(id, drops-- > 0);
    advance(milliseconds(1));
    end(last, drops > 0);
  }

  /// The calls that are below come back, in order.
  void finish_all() {
    std::vector<call_id> ids;
    for (auto& [id, x] : calls)
      if (x.where == place::below)
        ids.push_back(id);
    for (auto id : ids)
      finish(id);
  }

  /// So many of the calls that come together are let through; they stay below.
  int admitted(int n) {
    int passed = 0;
    for (auto id : arrive_together(n))
      passed += where(id) == place::below ? 1 : 0;
    return passed;
  }

  std::int64_t limit() const { return count("limit"); }

private:
  void end(call_id id, bool fails) {
    EXPECT_EQ(where(id), place::below);
    if (fails)
      fail(id);
    else
      finish(id);
    calls.erase(id);
  }
};

} // namespace caisson::test::adapting
