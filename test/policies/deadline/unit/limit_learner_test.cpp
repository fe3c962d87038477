#include <caisson/policies/deadline/limit_learner.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using detail::limit_learner;

constexpr auto origin = time_point{} + 1h;

learned_limit plain(double quantile, std::uint32_t minimum = 1) {
  learned_limit c;
  c.on = true;
  c.quantile = quantile;
  c.deviations = 0;
  c.minimum_samples = minimum;
  c.most = 1h;
  return c;
}

// At most an eighth above, and never below.
void expect_just_above(std::optional<duration> limit, duration d) {
  ASSERT_TRUE(limit);
  EXPECT_GT(*limit, d);
  EXPECT_LE(*limit, d + d / 8 + 1ms);
}

TEST(limit_learner, knows_nothing_with_too_few_samples) {
  limit_learner x{plain(0.9, 10)};
  for (int i = 0; i < 9; ++i)
    x.succeeded(10ms, origin);
  EXPECT_EQ(x.limit(origin), std::nullopt);
  x.succeeded(10ms, origin);
  // Not before it is computed again.
  EXPECT_EQ(x.limit(origin), std::nullopt);
  expect_just_above(x.limit(origin + x.period()), 10ms);
}

TEST(limit_learner, those_that_were_cut_off_are_samples_too) {
  limit_learner x{plain(0.9, 10)};
  for (int i = 0; i < 10; ++i)
    x.cut_off(10ms, origin);
  EXPECT_TRUE(x.limit(origin));
}

TEST(limit_learner, is_the_quantile_rounded_up) {
  for (auto q : {0.5, 0.9, 0.95, 0.99}) {
    limit_learner x{plain(q)};
    for (int i = 1; i <= 1000; ++i)
      x.succeeded(i * 1ms, origin);
    expect_just_above(x.limit(origin), duration{1ms} * int(1000 * q));
  }
}

TEST(limit_learner, does_not_cut_off_calls_that_all_take_equally_long) {
  for (auto took : {1us, 100us, 99ms / 1us * 1us, 777ms / 1us * 1us}) {
    limit_learner x{plain(0.95)};
    for (int i = 0; i < 100; ++i)
      x.succeeded(took, origin);
    EXPECT_GT(x.limit(origin).value_or(0s), took);
  }
}

TEST(limit_learner, multiplies_and_adds_deviations) {
  auto c = plain(0.9);
  c.factor = 3;
  limit_learner x{c};
  c.factor = 1;
  c.deviations = 2;
  limit_learner y{c};
  for (int i = 0; i < 500; ++i)
    for (auto took : {100ms, 300ms}) {
      x.succeeded(took, origin);
      y.succeeded(took, origin);
    }
  expect_just_above(x.limit(origin), 900ms);
  // The deviation of two equally likely values is half their distance.
  expect_just_above(y.limit(origin), 500ms);
}

TEST(limit_learner, stays_within_its_bounds) {
  auto c = plain(0.9);
  c.least = 20ms;
  c.most = 30ms;
  limit_learner x{c};
  x.succeeded(1ms, origin);
  EXPECT_EQ(x.limit(origin), 20ms);
  for (int i = 0; i < 100; ++i)
    x.succeeded(24h * 10'000, origin);
  EXPECT_EQ(x.limit(origin + x.period()), 30ms);
  // Also where a round number would be more.
  c.least = 1us;
  c.most = 1500ns;
  x.reconfigure(c);
  EXPECT_EQ(x.limit(origin + x.period()), 1500ns);
}

TEST(limit_learner, a_few_that_were_cut_off_change_nothing) {
  limit_learner x{plain(0.9)};
  for (int i = 0; i < 95; ++i)
    x.succeeded(10ms, origin);
  for (int i = 0; i < 5; ++i)
    x.cut_off(20ms, origin);
  expect_just_above(x.limit(origin), 10ms);
}

TEST(limit_learner, grows_if_too_many_were_cut_off) {
  limit_learner x{plain(0.9)};
  for (int i = 0; i < 80; ++i)
    x.succeeded(10ms, origin);
  for (int i = 0; i < 20; ++i)
    x.cut_off(20ms, origin);
  EXPECT_EQ(x.limit(origin), 40ms);
  // Not again because of the same calls.
  EXPECT_EQ(x.limit(origin + 10s), 40ms);
  for (int i = 0; i < 20; ++i)
    x.cut_off(40ms, origin + 10s);
  EXPECT_EQ(x.limit(origin + 12s), 80ms);
}

TEST(limit_learner, one_cut_off_early_says_nothing_about_later) {
  // Half of the callers give up after 1 ms. Of the others, one in ten calls
  // takes 100 ms.
  limit_learner x{plain(0.85)};
  limit_learner y{plain(0.95)};
  for (int i = 0; i < 100; ++i)
    for (auto* l : {&x, &y}) {
      l->cut_off(1ms, origin);
      l->succeeded(i % 10 == 0 ? 100ms : 10ms, origin);
    }
  expect_just_above(x.limit(origin), 10ms);
  expect_just_above(y.limit(origin), 100ms);
}

TEST(limit_learner, forgets_what_left_the_window) {
  auto c = plain(0.9);
  c.window = 10s;
  limit_learner x{c};
  for (int i = 0; i < 100; ++i)
    x.succeeded(1s, origin);
  for (int i = 0; i < 100; ++i)
    x.cut_off(2s, origin);
  EXPECT_EQ(x.limit(origin), 4s);
  for (int i = 0; i < 10; ++i)
    x.succeeded(10ms, origin + 10s);
  expect_just_above(x.limit(origin + 10s), 10ms);
  EXPECT_EQ(x.samples(), 10u);
  EXPECT_EQ(x.limit(origin + 30s), std::nullopt);
  EXPECT_EQ(x.samples(), 0u);
}

TEST(limit_learner, keeps_what_it_knows_under_other_settings) {
  auto c = plain(0.9);
  limit_learner x{c};
  for (int i = 0; i < 100; ++i)
    x.succeeded(10ms, origin);
  expect_just_above(x.limit(origin), 10ms);
  c.factor = 10;
  x.reconfigure(c);
  expect_just_above(x.limit(origin), 100ms);
  c.window = 2min;
  x.reconfigure(c);
  EXPECT_EQ(x.limit(origin), std::nullopt);
}

TEST(limit_learner, is_not_confused_by_a_clock_that_steps_back) {
  limit_learner x{plain(0.9)};
  x.succeeded(10ms, origin);
  expect_just_above(x.limit(origin), 10ms);
  for (int i = 0; i < 10; ++i)
    x.succeeded(50ms, origin - 1h);
  expect_just_above(x.limit(origin - 1h), 50ms);
}

TEST(limit_learner, starts_anew) {
  limit_learner x{plain(0.9)};
  x.cut_off(10ms, origin);
  EXPECT_TRUE(x.limit(origin));
  x.clear();
  EXPECT_EQ(x.last(), std::nullopt);
  EXPECT_EQ(x.limit(origin), std::nullopt);
  EXPECT_EQ(x.samples(), 0u);
}

} // namespace
} // namespace caisson::test
