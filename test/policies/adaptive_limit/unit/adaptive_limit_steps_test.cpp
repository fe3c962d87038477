// The formulas of an adaptive limit, against numbers worked out by hand.
#include <caisson/policies/adaptive_limit/limit_steps.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

namespace caisson::detail {
namespace {

using namespace std::chrono_literals;

TEST(limit_steps, back_off_by_a_share_and_at_least_by_one) {
  struct row {
    std::int64_t limit;
    double factor;
    std::int64_t expected;
  };
  const row rows[] = {{20, 0.9, 18},
                      {18, 0.9, 16},
                      {16, 0.9, 14},
                      {10, 0.7, 7},
                      {1, 0.5, 0},
                      {3, 0.5, 1},
                      {5, 0.999, 4},
                      {1'000, 0.1, 100},
                      {30, 0.7, 21},
                      {2, 0.9, 1},
                      {1'000'000, 0.999, 999'000}};
  for (const auto& x : rows)
    EXPECT_EQ(backed_off_limit(x.limit, x.factor), x.expected)
      << x.limit << " " << x.factor;
}

TEST(limit_steps, show_how_many_calls_queue) {
  struct row {
    std::int64_t limit;
    duration baseline;
    duration latency;
    std::int64_t expected;
  };
  const row rows[] = {{20, 100ms, 100ms, 0}, {20, 100ms, 101ms, 1},
                      {20, 100ms, 125ms, 4}, {20, 100ms, 200ms, 10},
                      {27, 100ms, 150ms, 9}, {20, 0ms, 0ms, 0},
                      {20, 0ns, 1s, 20}};
  for (const auto& x : rows)
    EXPECT_EQ(queued_calls(x.limit, x.baseline, x.latency), x.expected)
      << x.limit << " " << to_text(x.latency);
}

TEST(limit_steps, go_up_and_down_by_what_queues) {
  struct row {
    std::int64_t limit;
    std::int64_t queued;
    std::int64_t expected;
  };
  const row rows[] = {
    {20, 0, 26},       {20, 1, 26},   {20, 2, 21},    {20, 3, 20},
    {20, 6, 20},       {20, 7, 19},   {99, 2, 100},   {100, 2, 112},
    {100, 3, 102},     {100, 6, 100}, {100, 12, 100}, {100, 13, 98},
    {1'000, 3, 1'018}, {1, 0, 7},     {1, 1, 7},
  };
  for (const auto& x : rows)
    EXPECT_EQ(vegas_limit(x.limit, x.queued, 3, 6), x.expected)
      << x.limit << " " << x.queued;
}

TEST(limit_steps, have_a_gradient_within_bounds) {
  EXPECT_DOUBLE_EQ(limit_gradient(100ms, 125ms, 0.25), 1);
  EXPECT_DOUBLE_EQ(limit_gradient(100ms, 100ms, 0.25), 1.25);
  EXPECT_DOUBLE_EQ(limit_gradient(100ms, 200ms, 0), 0.5);
  EXPECT_DOUBLE_EQ(limit_gradient(100ms, 1s, 0.25), 0.5);
  EXPECT_DOUBLE_EQ(limit_gradient(100ms, 1ms, 0.25), 2);
  EXPECT_DOUBLE_EQ(limit_gradient(0ms, 0ms, 0.25), 1.25);
}

TEST(limit_steps, add_the_root_as_headroom) {
  struct row {
    std::int64_t limit;
    double gradient;
    std::int64_t expected;
  };
  const row rows[] = {{16, 1, 20}, {20, 1, 24}, {20, 0.5, 13},
                      {18, 2, 42}, {4, 0.5, 3}, {3, 0.5, 2},
                      {2, 0.5, 2}, {1, 1, 2},   {100, 0.81, 90}};
  for (const auto& x : rows)
    EXPECT_EQ(gradient_limit(x.limit, x.gradient), x.expected)
      << x.limit << " " << x.gradient;
}

} // namespace
} // namespace caisson::detail
