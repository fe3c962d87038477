#include <caisson/base/usage_share.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

using namespace std::chrono_literals;

namespace caisson {
namespace {

constexpr time_point begin_of_usage = time_point{} + 1h;

struct usage_row {
  duration at;
  double total;
  double capacity;
  std::optional<double> expected;
};

void expect_usage(const std::vector<usage_row>& rows) {
  usage_share x{1s};
  for (const auto& r : rows) {
    x.add(begin_of_usage + r.at, r.total, r.capacity);
    ASSERT_EQ(x.value().has_value(), r.expected.has_value()) << to_text(r.at);
    EXPECT_NEAR(x.value().value_or(0), r.expected.value_or(0), 1e-9)
      << to_text(r.at);
  }
}

TEST(usage_share, is_the_difference_of_two_totals) {
  expect_usage({{0s, 100, 2, {}}, {1s, 101, 2, 0.5}});
  expect_usage({{0s, 0, 4, {}}, {250ms, 1, 4, 1}});
  expect_usage({{0s, 7, 1, {}}, {10s, 7, 1, 0}});
}

TEST(usage_share, weighs_the_newest_by_its_time) {
  // The smoothing is 1 s: a second counts half, 250 ms a fifth.
  expect_usage({{0s, 0, 1, {}},
                {1s, 1, 1, 1},
                {2s, 1, 1, 0.5},
                {2250ms, 1.25, 1, 0.6},
                {5250ms, 1.25, 1, 0.15}});
}

TEST(usage_share, is_never_below_nothing_or_above_all) {
  expect_usage({{0s, 0, 1, {}}, {1s, 100, 1, 1}, {2s, 100, 1, 0.5}});
}

TEST(usage_share, ignores_what_comes_too_soon) {
  expect_usage({{0s, 0, 1, {}},
                {10ms - 1ns, 1, 1, {}},
                {10ms, 0.005, 1, 0.5},
                {11ms, 1'000, 1, 0.5},
                {5ms, 1'000, 1, 0.5}});
}

TEST(usage_share, says_nothing_after_a_long_pause) {
  expect_usage({{0s, 0, 1, {}}, {10s, 5, 1, 0.5}, {20s + 10ns, 15, 1, {}}});
  expect_usage({{0s, 0, 1, {}}, {11s, 5, 1, {}}, {12s, 5.25, 1, 0.25}});
}

TEST(usage_share, begins_anew_when_the_total_falls) {
  expect_usage(
    {{0s, 10, 1, {}}, {1s, 11, 1, 1}, {2s, 0, 1, {}}, {3s, 0.5, 1, 0.5}});
}

TEST(usage_share, does_not_believe_what_cannot_be) {
  constexpr auto none = std::numeric_limits<double>::quiet_NaN();
  constexpr auto endless = std::numeric_limits<double>::infinity();
  for (auto bad : {-1.0, none, endless, -endless}) {
    expect_usage({{0s, 0, 1, {}}, {1s, 1, 1, 1}, {2s, bad, 1, {}}});
    expect_usage({{0s, 0, 1, {}}, {1s, 1, 1, 1}, {2s, 2, bad, {}}});
  }
  expect_usage({{0s, 0, 0, {}}, {1s, 1, 1, {}}, {2s, 2, 1, 1}});
}

TEST(usage_share, is_unknown_once_it_was_cleared) {
  usage_share x;
  x.add(begin_of_usage, 0, 1);
  x.add(begin_of_usage + 1s, 1, 1);
  x.clear();
  EXPECT_FALSE(x.value());
  x.add(begin_of_usage + 2s, 2, 1);
  EXPECT_FALSE(x.value());
  x.add(begin_of_usage + 3s, 2, 1);
  EXPECT_EQ(x.value(), 0);
}

TEST(usage_share, works_at_the_ends_of_time) {
  usage_share x{unlimited};
  x.add(time_point::max() - 1s, 0, 1);
  x.add(time_point::max(), 1, 1);
  EXPECT_EQ(x.value(), 1);
}

} // namespace
} // namespace caisson
