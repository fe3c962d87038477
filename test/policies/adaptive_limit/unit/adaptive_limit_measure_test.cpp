// Measures the latency without load for an adaptive limit, which follows the
// gradient.
#include <policies/adaptive_limit/model/adaptive_limit_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test::adapting {
namespace {

using event_texts = std::vector<std::string>;

adaptive_limit_config measuring() {
  auto c = exact(limit_algorithm::gradient);
  c.measure_samples = 4;
  c.measure_every = 60s;
  return c;
}

/// Has measured a baseline of `latency`.
class measured_rig : public adaptive_limit_rig {
public:
  explicit measured_rig(duration latency, adaptive_limit_config c = measuring())
    : adaptive_limit_rig(std::move(c)) {
    measure(latency);
    e.reports.clear();
    e.details.clear();
  }

  void measure(duration latency) {
    EXPECT_EQ(policy.state(), "measuring");
    for (int i = 0; i < 2; ++i)
      round(2, latency);
    EXPECT_EQ(policy.state(), "adjusting");
    EXPECT_EQ(count("baseline_us"), latency.count() / 1'000);
  }
};

// -- the gradient -------------------------------------------------------------

TEST(gradient_limit, follows_the_ratio_to_the_baseline) {
  struct row {
    int in_flight;
    duration latency;
    int drops;
    std::int64_t limit;
    std::int64_t gradient;
    const char* counted;
  };
  const row rows[] = {
    {20, 125ms, 0, 24, 1'000, "raised"},     // 20 + 4.47
    {24, 250ms, 0, 15, 500, "lowered"},      // 12 + 3.46
    {15, 100ms, 0, 23, 1'250, "raised"},     // 18.75 + 4.33
    {23, 156250us, 0, 22, 800, "lowered"},   // 18.4 + 4.29
    {22, 50ms, 0, 50, 2'000, "raised"},      // 44 + 6.63
    {25, 100ms, 0, 50, 1'250, "unused"},     //
    {26, 100ms, 1, 45, 1'250, "backed_off"}, // once, whatever the gradient
    {26, 1s, 1, 27, 500, "backed_off"},      // 22.5 + 4.74 is less than 40
    {27, 1s, 27, 24, 500, "backed_off"},     // no latency, no gradient
  };
  measured_rig h{100ms};
  for (const auto& x : rows) {
    auto before = h.count(x.counted);
    h.round(x.in_flight, x.latency, x.drops);
    EXPECT_EQ(h.limit(), x.limit) << to_text(x.latency);
    EXPECT_EQ(h.count("gradient_permille"), x.gradient) << to_text(x.latency);
    EXPECT_EQ(h.count(x.counted), before + 1) << to_text(x.latency);
  }
}

TEST(gradient_limit, stays_within_its_bounds) {
  auto c = measuring();
  c.min_limit = 10;
  c.max_limit = 29;
  measured_rig h{100ms, c};
  h.round(20, 100ms);
  EXPECT_EQ(h.limit(), 29);
  for (int i = 0; i < 4; ++i)
    h.round(10, 1s);
  EXPECT_EQ(h.limit(), 10);
}

// -- measurements -------------------------------------------------------------

TEST(limit_measurement, comes_first) {
  adaptive_limit_rig h{measuring()};
  EXPECT_EQ(h.policy.state(), "measuring");
  EXPECT_EQ(h.limit(), 3);
  EXPECT_EQ(h.policy.wakeup(), never);
  EXPECT_EQ(h.admitted(5), 3);
  EXPECT_EQ(h.count("queue_full"), 2);
  EXPECT_EQ(h.policy.wakeup(), h.e.now + 10s);
  h.advance(100ms);
  h.finish_all();
  h.finish(h.arrive());
  EXPECT_EQ(h.policy.state(), "adjusting");
  EXPECT_EQ(h.limit(), 20);
  EXPECT_EQ(h.policy.wakeup(), never);
  EXPECT_EQ(h.count("measured"), 1);
  EXPECT_EQ(h.count("baseline_us"), 100'000);
  EXPECT_EQ(h.e.reports.back(), "state_changed:measuring>adjusting");
  EXPECT_EQ(h.e.details.back(), "4 samples: 100 ms");
}

TEST(limit_measurement, takes_the_quantile) {
  auto c = measuring();
  c.quantile = 0.5;
  adaptive_limit_rig h{c};
  auto a = h.arrive();
  for (int i = 0; i < 3; ++i) {
    auto b = h.arrive();
    h.advance(10ms);
    h.finish(b);
  }
  h.finish(a);
  EXPECT_NEAR(static_cast<double>(h.count("baseline_us")), 10'000, 700);
}

TEST(limit_measurement, comes_again_after_some_time) {
  measured_rig h{100ms};
  h.advance(60s - 1ns);
  h.abandon(h.arrive(), errc::cancelled);
  EXPECT_EQ(h.policy.state(), "adjusting");
  h.advance(1ns);
  // Without calls there is nothing to measure.
  EXPECT_EQ(h.policy.state(), "adjusting");
  EXPECT_EQ(h.policy.wakeup(), never);
  h.finish(h.arrive());
  EXPECT_EQ(h.policy.state(), "measuring");
  EXPECT_EQ(h.e.reports, (event_texts{"state_changed:adjusting>measuring"}));
  EXPECT_EQ(h.e.details, (event_texts{"the baseline is old"}));
  EXPECT_EQ(h.policy.wakeup(), h.e.now + 10s);
}

TEST(limit_measurement, draws_how_much_later_it_comes) {
  auto c = measuring();
  c.jitter = 0.15;
  measured_rig h{100ms, c};
  random_source same{7};
  auto wait = duration_times(60s, 1 + 0.15 * same.uniform());
  EXPECT_GT(wait, 60s);
  h.advance(wait - 1ns);
  h.arrive();
  EXPECT_EQ(h.policy.state(), "adjusting");
  h.advance(1ns);
  h.arrive();
  EXPECT_EQ(h.policy.state(), "measuring");
}

// Envoy's rule: what was sent under load would measure the load.
TEST(limit_measurement, uses_only_calls_from_its_own_time) {
  measured_rig h{100ms};
  h.advance(59s);
  auto old = h.arrive_together(20);
  h.advance(1s);
  // The pin takes no permit from those.
  auto refused = h.arrive();
  EXPECT_EQ(h.policy.state(), "measuring");
  EXPECT_EQ(h.limit(), 3);
  EXPECT_EQ(h.where(refused), place::rejected);
  EXPECT_EQ(h.count("in_use"), 20);
  for (std::size_t i = 0; i < 17; ++i)
    h.finish(old[i]);
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
  h.finish(old[17]);
  auto first = h.arrive();
  EXPECT_EQ(h.where(first), place::below);
  h.finish(old[18]);
  h.fail(old[19]);
  EXPECT_EQ(h.count("stale"), 20);
  h.advance(10ms);
  h.finish(first);
  for (int i = 0; i < 3; ++i) {
    auto id = h.arrive();
    h.advance(10ms);
    h.finish(id);
  }
  EXPECT_EQ(h.policy.state(), "adjusting");
  EXPECT_EQ(h.count("baseline_us"), 10'000);
  EXPECT_EQ(h.count("measured"), 2);
  EXPECT_EQ(h.count("dropped"), 0);
}

// The instant of the pin is no boundary: the order of calls is.
TEST(limit_measurement, distinguishes_calls_of_the_same_instant) {
  measured_rig h{100ms};
  h.advance(60s - 1ms);
  auto before = h.arrive();
  h.advance(1ms);
  auto after = h.arrive();
  EXPECT_EQ(h.policy.state(), "measuring");
  h.finish(before);
  EXPECT_EQ(h.count("stale"), 1);
  h.finish(after);
  EXPECT_EQ(h.count("stale"), 1);
}

TEST(limit_measurement, ends_in_time_with_fewer_samples) {
  adaptive_limit_rig h{measuring()};
  auto ids = h.arrive_together(3);
  h.advance(50ms);
  h.finish(ids[0]);
  h.finish(ids[1]);
  h.advance(10s - 50ms - 1ns);
  EXPECT_EQ(h.policy.state(), "measuring");
  h.advance(1ns);
  EXPECT_EQ(h.policy.state(), "adjusting");
  EXPECT_EQ(h.count("measured"), 1);
  EXPECT_EQ(h.count("baseline_us"), 50'000);
}

TEST(limit_measurement, keeps_the_baseline_if_there_are_too_few) {
  measured_rig h{100ms};
  h.advance(60s);
  h.finish(h.arrive());
  h.advance(10s);
  EXPECT_EQ(h.policy.state(), "adjusting");
  EXPECT_EQ(h.count("unmeasured"), 1);
  EXPECT_EQ(h.count("baseline_us"), 100'000);
  EXPECT_EQ(h.e.details.back(), "1 samples are too few");
  // The next one comes in its turn.
  h.advance(60s - 1ns);
  h.arrive();
  EXPECT_EQ(h.policy.state(), "adjusting");
  h.advance(1ns);
  h.arrive();
  EXPECT_EQ(h.policy.state(), "measuring");
}

TEST(limit_measurement, ends_although_all_calls_fail_and_lets_waiters_go) {
  auto c = measuring();
  c.max_waiters = 100;
  adaptive_limit_rig h{c};
  auto hung = h.arrive_together(3);
  auto waiting = h.arrive_together(10);
  for (auto id : hung)
    h.fail(id);
  EXPECT_EQ(h.count("dropped"), 3);
  EXPECT_EQ(h.count("waiting"), 7);
  EXPECT_EQ(h.count("in_use"), 3);
  h.advance(10s);
  EXPECT_EQ(h.count("unmeasured"), 1);
  EXPECT_EQ(h.count("waiting"), 0);
  EXPECT_EQ(h.count("in_use"), 10);
  EXPECT_EQ(h.count("baseline_us"), 0);
  // The first window is the baseline then.
  for (auto id : waiting)
    h.abandon(id, errc::cancelled);
  h.round(12, 20ms);
  EXPECT_EQ(h.count("baseline_us"), 20'000);
}

TEST(limit_measurement, takes_no_longer_baseline_than_allowed) {
  auto c = measuring();
  c.max_baseline = 80ms;
  adaptive_limit_rig h{c};
  h.round(2, 100ms);
  h.round(2, 100ms);
  EXPECT_EQ(h.count("baseline_us"), 80'000);
  EXPECT_EQ(h.count("capped"), 1);
  c.max_baseline = 50ms;
  h.reconfigure(c);
  EXPECT_EQ(h.count("baseline_us"), 50'000);
}

TEST(limit_measurement, leaves_a_limit_that_is_lower_anyway) {
  auto c = measuring();
  c.min_limit = c.initial_limit = c.max_limit = 2;
  adaptive_limit_rig h{c};
  EXPECT_EQ(h.limit(), 2);
  EXPECT_EQ(h.admitted(3), 2);
}

TEST(limit_measurement, comes_early_after_five_windows_at_the_floor) {
  auto c = measuring();
  c.min_limit = 10;
  measured_rig h{100ms, c};
  h.advance(10s);
  // 20 → 13, and four times at the floor.
  h.round(20, 400ms);
  for (int i = 0; i < 4; ++i)
    h.round(10, 400ms);
  h.round(10, 100ms);
  EXPECT_EQ(h.policy.state(), "adjusting");
  h.round(15, 400ms);
  for (int i = 0; i < 3; ++i)
    h.round(10, 400ms);
  EXPECT_EQ(h.policy.state(), "adjusting");
  h.round(10, 400ms);
  EXPECT_EQ(h.policy.state(), "measuring");
  EXPECT_EQ(h.count("early"), 1);
  EXPECT_EQ(h.e.details.back(), "the baseline does not fit");
  EXPECT_EQ(h.e.reports.back(), "state_changed:adjusting>measuring");
  h.measure(400ms);
  h.round(10, 400ms);
  EXPECT_GT(h.limit(), 10);
}

// The worker was slow when the baseline was measured, and is not any more.
TEST(limit_measurement, comes_early_after_a_slow_episode) {
  measured_rig h{1s};
  h.advance(10s);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(h.policy.state(), "adjusting");
    h.round(11, 100ms);
  }
  EXPECT_EQ(h.policy.state(), "measuring");
  h.measure(100ms);
  h.round(11, 200ms);
  EXPECT_EQ(h.count("gradient_permille"), 625);
}

TEST(limit_measurement, does_not_come_one_after_the_other) {
  measured_rig h{1s};
  for (int i = 0; i < 90; ++i)
    h.round(11, 100ms);
  EXPECT_EQ(h.policy.state(), "adjusting");
  EXPECT_EQ(h.count("early"), 0);
  h.advance(2s);
  h.round(11, 100ms);
  EXPECT_EQ(h.policy.state(), "measuring");
}

// -- operation ----------------------------------------------------------------

TEST(limit_measurement, ends_with_a_drain) {
  auto c = measuring();
  c.max_waiters = 5;
  adaptive_limit_rig h{c};
  h.arrive_together(8);
  EXPECT_EQ(h.count("waiting"), 5);
  h.policy.drain(h.e);
  EXPECT_EQ(h.e.reports.back(), "granted:>");
  EXPECT_EQ(h.count("waiting"), 0);
  EXPECT_EQ(h.policy.state(), "adjusting");
  EXPECT_EQ(h.policy.wakeup(), never);
}

TEST(limit_measurement, can_come_more_often_at_once) {
  auto c = measuring();
  c.measure_every = unlimited;
  measured_rig h{100ms, c};
  h.advance(1h);
  h.abandon(h.arrive(), errc::cancelled);
  EXPECT_EQ(h.policy.state(), "adjusting");
  c.measure_every = 1h;
  h.reconfigure(c);
  EXPECT_EQ(h.policy.state(), "adjusting");
  h.finish(h.arrive());
  EXPECT_EQ(h.policy.state(), "measuring");
}

TEST(limit_measurement, begins_anew_after_a_reset) {
  auto c = measuring();
  c.max_waiters = 10;
  measured_rig h{100ms, c};
  h.round(20, 100ms);
  EXPECT_NE(h.limit(), 20);
  EXPECT_TRUE(h.command(operator_command::reset));
  EXPECT_EQ(h.policy.state(), "measuring");
  EXPECT_EQ(h.e.details.back(), "reset");
  EXPECT_EQ(h.policy.wakeup(), never);
  for (auto name : {"baseline_us", "latency_us", "passed", "measured"})
    EXPECT_EQ(h.count(name), 0) << name;
  EXPECT_EQ(h.count("gradient_permille"), 1'000);
  h.measure(50ms);
  EXPECT_EQ(h.limit(), 20);
  // Those that wait for calls that hang do not wait for ever.
  h.arrive_together(30);
  h.command(operator_command::reset);
  EXPECT_EQ(h.policy.wakeup(), h.e.now + 10s);
}

TEST(limit_measurement, begins_and_ends_with_the_algorithm) {
  auto c = measuring();
  measured_rig h{100ms, c};
  h.round(20, 100ms);
  auto limit = h.limit();
  c.algorithm = limit_algorithm::aimd;
  h.reconfigure(c);
  EXPECT_EQ(h.limit(), limit);
  EXPECT_EQ(h.count("baseline_us"), -1);
  h.round(20, 100ms);
  EXPECT_EQ(h.limit(), limit + 1);
  h.advance(1h);
  h.finish(h.arrive());
  EXPECT_EQ(h.policy.state(), "adjusting");
  c.algorithm = limit_algorithm::gradient;
  h.reconfigure(c);
  EXPECT_EQ(h.policy.state(), "measuring");
  EXPECT_EQ(h.e.details.back(), "another algorithm");
  c.algorithm = limit_algorithm::vegas;
  h.reconfigure(c);
  EXPECT_EQ(h.policy.state(), "adjusting");
  EXPECT_EQ(h.limit(), limit + 1);
  EXPECT_EQ(h.count("baseline_us"), 0);
}

} // namespace
} // namespace caisson::test::adapting
