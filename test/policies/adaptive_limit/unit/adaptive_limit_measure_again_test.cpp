// Measurements of an adaptive limit that come while other things happen.
#include <policies/adaptive_limit/model/adaptive_limit_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

using namespace std::chrono_literals;

namespace caisson::test::adapting {
namespace {

adaptive_limit_config again() {
  auto c = exact(limit_algorithm::gradient);
  c.measure_samples = 4;
  c.measure_every = 60s;
  return c;
}

/// Has measured a baseline of 100 ms.
class again_rig : public adaptive_limit_rig {
public:
  explicit again_rig(adaptive_limit_config c = again())
    : adaptive_limit_rig(std::move(c)) {
    for (int i = 0; i < 2; ++i)
      round(2, 100ms);
    EXPECT_EQ(policy.state(), "adjusting");
  }

  /// One call, which takes 1 ms more than nothing.
  void one(bool fails) {
    auto id = arrive();
    advance(1ms);
    if (fails)
      fail(id);
    else
      finish(id);
    calls.erase(id);
  }
};

TEST(limit_measured_again, is_not_raised_by_those_who_waited_for_it) {
  auto c = again();
  c.max_waiters = 50;
  again_rig h{c};
  EXPECT_EQ(h.limit(), 20);
  h.advance(61s);
  h.arrive_together(12);
  EXPECT_EQ(h.policy.state(), "measuring");
  EXPECT_EQ(h.count("waiting"), 9);
  for (int i = 0; i < 3; ++i) {
    h.advance(100ms);
    h.finish_all();
  }
  EXPECT_EQ(h.policy.state(), "adjusting");
  EXPECT_EQ(h.count("raised"), 0);
  EXPECT_EQ(h.count("unused"), 1);
  EXPECT_EQ(h.limit(), 20);
}

TEST(limit_measured_again, does_not_throw_windows_away) {
  auto c = again();
  c.min_samples = 10;
  c.measure_at_most = 1s;
  again_rig h{c};
  for (int i = 0; i < 100; ++i) {
    h.one(true);
    h.advance(10s);
  }
  EXPECT_GE(h.count("backed_off"), 5);
  EXPECT_GE(h.count("unmeasured"), 5);
}

TEST(limit_measured_again, fits_a_large_buffer) {
  auto c = again();
  c.buffer = 2;
  c.measure_at_most = 2ms;
  again_rig h{c};
  for (int i = 0; i < 20; ++i)
    h.round(2, 100ms);
  EXPECT_EQ(h.count("early"), 0);
}

TEST(limit_measured_again, does_not_begin_in_a_drain) {
  auto c = again();
  c.measure_at_most = 2ms;
  again_rig h{c};
  h.policy.drain(h.e);
  // The latency is far too short for the baseline.
  for (int i = 0; i < 20; ++i)
    h.round(2, 10ms);
  EXPECT_EQ(h.policy.state(), "adjusting");
  h.command(operator_command::reset);
  EXPECT_EQ(h.policy.state(), "adjusting");
  auto next = c;
  next.measure_every = 10s;
  h.reconfigure(next);
  h.advance(11s);
  h.round(2, 10ms);
  EXPECT_EQ(h.policy.state(), "adjusting");
}

TEST(limit_measured_again, ignores_what_went_down_at_the_instant_of_the_pin) {
  again_rig h;
  h.advance(59s);
  auto first = h.arrive();
  auto second = h.arrive();
  h.advance(100ms);
  h.finish(first);
  h.advance(3s);
  auto third = h.arrive();
  EXPECT_EQ(h.policy.state(), "adjusting");
  h.finish(second);
  EXPECT_EQ(h.policy.state(), "measuring");
  h.finish(third);
  EXPECT_EQ(h.count("stale"), 1);
}

TEST(limit_measured_again, learns_nothing_from_what_the_worker_does_not_have) {
  adaptive_limit_rig h{exact(limit_algorithm::aimd)};
  auto id = h.arrive();
  auto& x = h.calls.at(id);
  h.policy.abandon(x.call, x.notes,
                   outcome::failure(errc::deadline_exceeded, true), false, h.e);
  h.calls.erase(id);
  EXPECT_EQ(h.count("ignored"), 1);
  EXPECT_EQ(h.count("dropped"), 0);
}

TEST(limit_measured_again, forgets_those_who_gave_up) {
  auto c = exact(limit_algorithm::aimd);
  c.initial_limit = c.min_limit = 1;
  c.max_waiters = 5;
  adaptive_limit_rig h{c};
  auto first = h.arrive();
  h.abandon(h.arrive());
  h.advance(2ms);
  // An invariant counts those that are known.
  h.finish(first);
  EXPECT_EQ(h.count("gave_up"), 1);
  EXPECT_EQ(h.count("in_use"), 0);
}

TEST(limit_measured_again, ends_as_new_settings_say) {
  auto c = again();
  c.measure_every = 2h;
  c.measure_at_most = 1h;
  adaptive_limit_rig h{c};
  h.arrive();
  h.advance(1s);
  EXPECT_EQ(h.policy.state(), "measuring");
  c.measure_at_most = 1s;
  h.reconfigure(c);
  h.advance(1s);
  EXPECT_EQ(h.policy.state(), "adjusting");
  EXPECT_EQ(h.count("unmeasured"), 1);
}

TEST(limit_measured_again, is_probed_by_the_present_limit) {
  auto c = exact(limit_algorithm::vegas);
  c.initial_limit = c.max_limit = 1'000;
  adaptive_limit_rig h{c};
  h.round(2, 10ms);
  while (h.limit() > 3)
    h.round(2, 10ms, 2);
  for (int i = 0; i < 100; ++i)
    h.round(2, 200ms);
  EXPECT_GE(h.count("probed"), 1);
}

TEST(limit_measured_again, takes_a_share_of_drops_exactly) {
  auto c = exact(limit_algorithm::aimd);
  c.min_samples = 100;
  c.drop_share = 0.29;
  for (auto [drops, backed_off] : {std::pair{29, 0}, {30, 1}}) {
    adaptive_limit_rig h{c};
    for (int i = 0; i < 100; ++i) {
      auto id = h.arrive();
      h.advance(1ms);
      if (i < drops)
        h.fail(id);
      else
        h.finish(id);
      h.calls.erase(id);
    }
    EXPECT_EQ(h.count("backed_off"), backed_off) << drops;
  }
}

} // namespace
} // namespace caisson::test::adapting
