#include <caisson/policies/batcher/item_rates.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using detail::item_rate;
using detail::item_rates;

constexpr auto rate_start = time_point{} + 1h;

TEST(item_rate, is_what_the_sums_of_its_definition_give) {
  item_rate r;
  std::vector<double> ages;
  auto now = rate_start;
  EXPECT_EQ(r.next(now, 1s), std::nullopt);
  auto since = 0.0;
  for (auto gap : {10ms, 0ms, 250ms, 3ms, 2'000ms, 1ms, 40ms}) {
    now += gap;
    since += to_seconds(gap);
    auto items = 0.0;
    for (auto& x : ages)
      items += std::exp(-(x += to_seconds(gap)));
    EXPECT_NEAR(*r.next(now, 1s), items / (1 - std::exp(-since)), 1e-9);
    ages.push_back(0);
  }
}

TEST(item_rate, does_not_count_the_item_that_comes) {
  item_rate r;
  r.next(rate_start, 1s);
  EXPECT_EQ(r.next(rate_start + 1s, 1s), 0.0);
  EXPECT_GT(r.next(rate_start + 2s, 1s), 0.3);
}

TEST(item_rate, is_exact_at_equal_distances_from_the_start_on) {
  item_rate r;
  r.next(rate_start, 1h);
  std::optional<double> found;
  for (int i = 1; i <= 1'000; ++i)
    found = r.next(rate_start + i * 1ms, 1h);
  EXPECT_NEAR(*found, 999, 1);
}

TEST(item_rate, survives_a_clock_that_stands_still_or_steps_back) {
  item_rate r;
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(r.next(rate_start, 1s), std::nullopt) << "no time has passed";
  EXPECT_EQ(r.next(rate_start - 1h, 1s), std::nullopt);
  // From the new time on.
  auto x = r.next(rate_start - 1h + 1s, 1s);
  EXPECT_NEAR(*x, 10 * std::exp(-1) / (1 - std::exp(-1)), 1e-9);
  auto y = r.next(rate_start - 2h, 1s);
  EXPECT_NEAR(*y, *x + 1 / (1 - std::exp(-1)), 1e-9) << "one more, no time";
  r.next(time_point::min(), 1s);
  EXPECT_EQ(r.next(time_point::max(), 1s), 0.0);
}

TEST(item_rate, is_kept_when_the_window_changes) {
  item_rate r;
  auto now = rate_start;
  r.next(now, 1s);
  for (int i = 0; i < 500; ++i)
    r.next(now += 10ms, 1s);
  EXPECT_NEAR(*r.next(now += 10ms, 1min), 100, 3);
  for (int i = 0; i < 500; ++i)
    r.next(now += 10ms, 1min);
  EXPECT_NEAR(*r.next(now += 10ms, 10ms), 100, 3);
}

TEST(item_rates, forget_the_shard_whose_last_item_is_oldest) {
  item_rates r;
  auto next = [&](const char* shard, duration t) {
    return r.next(shard, rate_start + t, 1s, 2).has_value();
  };
  EXPECT_FALSE(next("a", 0s));
  EXPECT_FALSE(next("b", 1ms));
  EXPECT_TRUE(next("a", 2ms));
  EXPECT_FALSE(next("c", 3ms));
  EXPECT_EQ(r.size(), 2u);
  EXPECT_TRUE(next("a", 4ms));
  EXPECT_FALSE(next("b", 5ms));
  EXPECT_FALSE(next("", 6ms));
  EXPECT_TRUE(next("", 7ms)) << "without a name there is always one";
  r.next("a", rate_start + 8ms, 1s, 1);
  EXPECT_EQ(r.size(), 1u);
  r.clear();
  EXPECT_EQ(r.size(), 0u);
  EXPECT_FALSE(next("", 9ms));
}

} // namespace
} // namespace caisson::test
