// A throttle under load, against what the formula leads to.
#include <policies/throttle/model/throttle_rig.hpp>

#include <caisson/base/gcra.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

using namespace std::chrono_literals;

namespace caisson::test::throttling {
namespace {

// Calls at even distances to a worker that accepts so many per second, refuses
// the others, and answers at once.
class load_run {
public:
  struct counts {
    std::int64_t offered = 0;
    std::int64_t sent = 0;
    std::int64_t accepted = 0;
    duration last_rejection = -1ns;
    // The longest time without a call that was let through.
    duration longest_gap = 0ns;
  };

  load_run(throttle_config c, int accepted_per_second)
    : h_(std::move(c)), bucket_(std::max(accepted_per_second, 1), 1s,
                                std::max(accepted_per_second, 1)) {
    is_up = accepted_per_second > 0;
  }

  // So many calls per second for so long.
  counts play(int rate, duration length) {
    counts n;
    auto from = h_.now();
    auto last_sent = from;
    for (std::int64_t i = 0; i < rate * (length / 1s); ++i) {
      h_.advance_to(from + duration{1s} * i / rate);
      ++n.offered;
      auto sent = h_.offer({}, [&] {
        bucket_.advance(h_.e.now);
        if (!is_up || !bucket_.take(1))
          return outcome::failure(errc::shed, false);
        ++n.accepted;
        return outcome::success();
      });
      if (sent) {
        ++n.sent;
        n.longest_gap = std::max(n.longest_gap, h_.now() - last_sent);
        last_sent = h_.now();
      } else {
        n.last_rejection = h_.now() - from;
      }
    }
    h_.advance_to(from + length);
    return n;
  }

  bool is_up = true;

  [[nodiscard]] double rejection() const { return h_.policy.rejection(); }

private:
  throttle_rig h_;
  gcra bucket_;
};

// In a steady state calls come at the rate R, and the worker accepts A of those
// that it gets. The window then holds requests and accepts in the ratio R to A,
// so that p = (R - K * A) / R, and the worker gets R * (1 - p) = K * A per
// second: what it accepts, and K - 1 times as much that it refuses. With
// R <= K * A none is rejected here. The ceiling is reached at
// R = K * A / (1 - 0.8) = 5 * K * A; above that, the worker gets 0.2 * R.
TEST(throttle_load, converges_to_the_formula) {
  struct row {
    double multiplier;
    int rate;
    double expected_rejection;
    double expected_sent;
  };
  constexpr auto a = 20;
  const row rows[] = {
    {2, 30, 0, 30},
    {2, 60, 1.0 / 3, 2 * a},
    {2, 200, 0.8, 2 * a},
    {2, 400, 0.8, 0.2 * 400},
    {1.25, 60, 1 - 1.25 / 3, 1.25 * a},
    {1.25, 200, 0.8, 0.2 * 200},
  };
  for (const auto& x : rows) {
    throttle_config c;
    c.multiplier = x.multiplier;
    load_run r{c, a};
    r.play(x.rate, 4min);
    auto n = r.play(x.rate, 8min);
    SCOPED_TRACE(x.rate);
    EXPECT_NEAR(r.rejection(), x.expected_rejection, 0.01);
    auto per_second = [](std::int64_t count) {
      return static_cast<double>(count) / 480;
    };
    EXPECT_NEAR(per_second(n.sent), x.expected_sent, 0.03 * x.expected_sent);
    // The worker gets enough to do.
    EXPECT_NEAR(per_second(n.accepted), a, 0.01 * a);
  }
}

TEST(throttle_load, forgets_an_overload_within_the_window) {
  load_run r{{}, 20};
  r.play(60, 5min);
  EXPECT_GT(r.rejection(), 0.3);
  auto n = r.play(10, 5min);
  EXPECT_GT(n.last_rejection, 30s);
  EXPECT_LT(n.last_rejection, 2min);
  EXPECT_EQ(r.rejection(), 0);
}

TEST(throttle_load, notices_after_an_outage_that_calls_are_accepted_again) {
  auto c = bare();
  c.max_rejection = 1;
  c.pass_after = 1s;
  load_run r{c, 1'000};
  r.is_up = false;
  auto n = r.play(100, 10min);
  EXPECT_LE(n.longest_gap, 1s);
  // Those 600, a few before the probability was high, and few by chance.
  EXPECT_GE(n.sent, 600);
  EXPECT_LE(n.sent, 625);
  EXPECT_GT(r.rejection(), 0.999);
  r.is_up = true;
  n = r.play(100, 10min);
  EXPECT_LE(n.longest_gap, 1s);
  // Of those that are let through all are accepted now, which lets more
  // through: their share s grows by K * s per window, so that it takes
  // 2min / K * ln(100) from a hundredth to all.
  EXPECT_GT(n.last_rejection, 4min);
  EXPECT_LT(n.last_rejection, 6min);
}

// With the defaults a worker that is down still gets a fifth of the calls. When
// it is back, it takes 2min / K * ln(5) from a fifth to nearly all, and the
// last refusals leave the window after that.
TEST(throttle_load, recovers_from_an_outage_with_the_defaults) {
  load_run r{{}, 1'000};
  r.play(100, 5min);
  r.is_up = false;
  r.play(100, 2min);
  auto n = r.play(100, 10min);
  EXPECT_NEAR(static_cast<double>(n.sent), 0.2 * 60'000, 0.03 * 12'000);
  r.is_up = true;
  n = r.play(100, 4min);
  EXPECT_GT(n.last_rejection, 80s);
  EXPECT_LT(n.last_rejection, 3min);
}

// Half of the calls may fail, for as long as it may be.
TEST(throttle_load, bears_an_outage_of_half_the_window) {
  load_run r{{}, 1'000};
  r.play(100, 5min);
  r.is_up = false;
  auto n = r.play(100, 55s);
  EXPECT_EQ(n.sent, n.offered);
}

} // namespace
} // namespace caisson::test::throttling
