#include <policies/breaker/model/breaker_rig.hpp>
#include <support/times.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// -- baseline -----------------------------------------------------------------

TEST(load_baseline, is_the_median_of_the_intervals_with_calls) {
  struct {
    std::string_view what;
    std::vector<int> calls; // in each interval of 10 s
    std::optional<double> rate;
  } const table[] = {
    {"nothing", {}, std::nullopt},
    {"the interval has not ended", {}, std::nullopt},
    {"one", {50}, 5},
    {"an odd number", {10, 90, 20}, 2},
    {"an even number", {10, 90, 20, 40}, 3},
    {"quiet ones do not count", {10, 0, 0, 0, 30}, 2},
    {"old ones do not count", {90, 90, 90, 10, 10, 10, 10, 10, 10}, 1},
    {"none is young enough", {90, 0, 0, 0, 0, 0, 0, 0}, std::nullopt},
  };
  // Looked at when each interval ends, or only when a call comes.
  for (auto looks : {false, true}) {
    for (auto& row : table) {
      detail::load_baseline b{60s, 10s};
      auto t = zero + 1h;
      if (!row.calls.empty())
        b.arrive(t); // begins the first interval, and is of it
      for (std::size_t i = 0; i < row.calls.size(); ++i, t += 10s) {
        if (looks)
          b.roll(t);
        for (int n = i == 0 ? 1 : 0; n < row.calls[i]; ++n)
          b.arrive(t + n * 1ms);
      }
      b.roll(t);
      // The end of an empty interval is noticed with the next call only.
      if (row.calls.size() > 6 && !row.rate)
        b.arrive(t);
      EXPECT_EQ(b.rate(), row.rate) << row.what;
    }
  }
}

TEST(load_baseline, is_computed_at_the_end_of_an_interval) {
  detail::load_baseline b{60s, 10s};
  b.arrive(zero);
  b.arrive(zero + 9s);
  b.roll(zero + 10s - 1ns);
  EXPECT_EQ(b.rate(), std::nullopt);
  b.roll(zero + 10s);
  EXPECT_EQ(b.rate(), 0.2);
  for (int i = 0; i < 10; ++i)
    b.arrive(zero + 10s);
  EXPECT_EQ(b.rate(), 0.2);
  b.roll(zero + 20s);
  EXPECT_EQ(b.rate(), 0.6);
}

TEST(load_baseline, leaves_out_an_interval_that_was_cut_short) {
  detail::load_baseline b{60s, 10s};
  for (int i = 0; i < 100; ++i)
    b.arrive(zero + 1s);
  b.pause();
  b.roll(zero + 30s);
  EXPECT_EQ(b.rate(), std::nullopt);
  b.arrive(zero + 35s);
  b.roll(zero + 45s);
  EXPECT_EQ(b.rate(), 0.1);
}

// -- score --------------------------------------------------------------------

// What happens in each of the ten seconds of a window.
struct second {
  int calls;
  int failures;
  duration took;
};

std::optional<double> score_of(detail::load_score& s, time_point& t,
                               const second& x, int n) {
  for (int k = 0; k < n; ++k) {
    for (int i = 0; i < x.calls; ++i) {
      s.arrive(t);
      s.add(i < x.failures, x.took, t);
    }
    t += 1s;
    if (s.next_update() == t)
      s.look(t, 20);
  }
  return s.score();
}

TEST(load_score, adds_load_failures_and_latency) {
  struct {
    std::string_view what;
    second x;
    std::optional<double> score;
  } const table[] = {
    // Without a baseline the load counts as normal: 0.4.
    {"too few calls", {1, 0, 1ms}, std::nullopt},
    {"all well", {10, 0, 1ms}, 0.4 + 0.25 / 800},
    {"failures", {20, 1, 1ms}, 0.4 + 0.35 + 0.25 / 800},
    {"latency", {10, 0, 1600ms}, 0.4 + 0.5},
    {"both", {20, 2, 800ms}, 0.4 + 0.7 + 0.25},
  };
  for (auto& row : table) {
    detail::load_score s{breaker_score{}};
    auto t = zero + 1h;
    auto score = score_of(s, t, row.x, 10);
    ASSERT_EQ(score.has_value(), row.score.has_value()) << row.what;
    if (score) {
      EXPECT_NEAR(*score, *row.score, 0.04) << row.what;
      EXPECT_EQ(s.exceeded(), *row.score > 1.2) << row.what;
    }
  }
}

TEST(load_score, measures_the_load_against_the_normal_one) {
  detail::load_score s{breaker_score{}};
  auto t = zero + 1h;
  const second normal{10, 0, 1us}, storm{29, 0, 1us};
  EXPECT_NEAR(score_of(s, t, normal, 60).value(), 0.4, 0.001);
  // In half of the window, then in all of it.
  EXPECT_NEAR(score_of(s, t, storm, 5).value(), 0.78, 0.001);
  EXPECT_NEAR(score_of(s, t, storm, 5).value(), 1.16, 0.001);
  EXPECT_FALSE(s.exceeded());
  EXPECT_NEAR(score_of(s, t, {31, 0, 1us}, 10).value(), 1.24, 0.001);
  EXPECT_TRUE(s.exceeded());
}

TEST(load_score, is_unknown_again_when_the_calls_have_gone) {
  detail::load_score s{breaker_score{}};
  auto t = zero + 1h;
  EXPECT_TRUE(score_of(s, t, {10, 10, 1ms}, 3).has_value());
  EXPECT_FALSE(score_of(s, t, {0, 0, 1ms}, 10).has_value());
  EXPECT_EQ(s.next_update(), never);
}

TEST(load_score, does_not_take_its_first_calls_for_a_storm) {
  detail::load_score s{breaker_score{}};
  auto t = zero + 1h;
  score_of(s, t, {10, 0, 1us}, 60);
  s.restart();
  EXPECT_EQ(s.score(), std::nullopt);
  // The first step lasts for a nanosecond only.
  t += 1s - 1ns;
  for (int i = 0; i < 20; ++i) {
    s.arrive(t);
    s.add(false, 1us, t);
  }
  s.look(t + 1ns, 20);
  EXPECT_NEAR(s.score().value(), 0.8, 0.001); // 20 in a second
}

TEST(load_score, keeps_its_counts_if_only_weights_change) {
  detail::load_score s{breaker_score{}};
  auto t = zero + 1h;
  score_of(s, t, {20, 2, 1us}, 5);
  breaker_score c;
  c.failure_weight = 1;
  s.adopt(c);
  EXPECT_NEAR(score_of(s, t, {20, 2, 1us}, 1).value(), 2.4, 0.001);
  c.window = 20s;
  s.adopt(c);
  EXPECT_EQ(s.score(), std::nullopt);
  EXPECT_EQ(s.next_update(), never);
}

// -- in a breaker -------------------------------------------------------------

breaker_config by_score() {
  breaker_config c;
  c.trip = breaker_trip::score;
  c.open = schedule::constant(10s);
  return c;
}

TEST(breaker_score, opens_at_the_end_of_a_step) {
  breaker_rig r{by_score()};
  r.advance(500ms);
  for (int i = 0; i < 20; ++i)
    r.call(i % 5 == 0 ? app_error(1) : outcome::success());
  // 0.4 + 0.35 * 4
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.count("score_permille"), -1);
  EXPECT_EQ(r.policy.wakeup(), r.e.now + 500ms);
  r.advance(500ms - 1ns);
  EXPECT_EQ(r.state(), "closed");
  r.advance(1ns);
  EXPECT_EQ(r.state(), "open");
  EXPECT_EQ(r.count("score_permille"), -1);
}

TEST(breaker_score, shows_the_score) {
  breaker_rig r{by_score()};
  for (int i = 0; i < 50; ++i)
    r.call(i == 0 ? app_error(1) : outcome::success());
  r.advance(1s);
  EXPECT_EQ(r.count("score_permille"), 540); // 0.4 + 0.35 * 0.02 / 0.05
  r.advance(20s);
  EXPECT_EQ(r.count("score_permille"), -1);
  EXPECT_EQ(r.policy.wakeup(), never);
}

TEST(breaker_score, opens_for_a_latency_that_grows) {
  breaker_rig r{by_score()};
  for (int i = 0; i < 20 && r.state() == "closed"; ++i) {
    auto ids = r.arrive_together(5);
    // 0.4 + 0.25 * 3.2 s / 0.8 s
    r.advance(3200ms);
    for (auto id : ids)
      if (r.where(id) == place::below)
        r.finish(id);
  }
  EXPECT_EQ(r.state(), "open");
}

TEST(breaker_score, keeps_the_normal_load_while_it_is_open) {
  breaker_rig r{by_score()};
  for (int i = 0; i < 60; ++i, r.advance(1s))
    r.play("..........");
  for (int i = 0; i < 10 && r.state() == "closed"; ++i, r.advance(1s))
    r.play("xxxxxxxxxx");
  ASSERT_EQ(r.state(), "open");
  r.advance(10s);
  r.good();
  ASSERT_EQ(r.state(), "closed");
  // 35 a second instead of 10.
  for (int i = 0; i < 10 && r.state() == "closed"; ++i, r.advance(1s))
    for (int k = 0; k < 35; ++k)
      r.good();
  EXPECT_EQ(r.state(), "open");
  // Nobody knows what is normal after a reset.
  r.command(operator_command::reset);
  for (int i = 0; i < 10; ++i, r.advance(1s))
    for (int k = 0; k < 35; ++k)
      r.good();
  EXPECT_EQ(r.state(), "closed");
}

} // namespace
} // namespace caisson::test
