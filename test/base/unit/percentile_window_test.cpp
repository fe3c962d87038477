#include <caisson/base/percentile_window.hpp>

#include <support/times.hpp>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

TEST(percentile_window, forgets_a_step_at_a_time) {
  percentile_window w{10s, 5};
  EXPECT_EQ(w.step(), 2s);
  w.record(1ms, zero + 1s);
  w.record(1s, zero + 3s);
  struct {
    duration at;
    std::uint64_t count;
    duration max;
  } const table[] = {
    {9999999999ns, 2, 1s}, // steps 0 to 4
    {10s, 1, 1s},          // steps 1 to 5
    {11999999999ns, 1, 1s},
    {12s, 0, 0s},
  };
  for (auto& row : table) {
    w.roll(zero + row.at);
    EXPECT_EQ(w.count(), row.count) << row.at.count();
    EXPECT_EQ(w.merged().count(), row.count);
    EXPECT_EQ(w.merged().max(), row.max);
  }
}

TEST(percentile_window, reports_when_it_may_change) {
  percentile_window w{10s, 5};
  EXPECT_EQ(w.next_change(), never);
  w.record(1ms, zero + 1s);
  EXPECT_EQ(w.next_change(), zero + 2s);
  w.roll(zero + 5s);
  EXPECT_EQ(w.next_change(), zero + 6s);
  w.roll(zero + 10s);
  EXPECT_EQ(w.next_change(), never);
}

TEST(percentile_window, is_not_moved_by_a_clock_that_steps_back) {
  percentile_window w{10s, 5};
  w.record(1ms, zero + 20s);
  w.roll(zero + 1s);
  w.record(2ms, zero + 1s);
  EXPECT_EQ(w.count(), 2u);
  // Both belong to the step of 20 s.
  w.roll(zero + 29s);
  EXPECT_EQ(w.count(), 2u);
  w.roll(zero + 30s);
  EXPECT_EQ(w.count(), 0u);
}

TEST(percentile_window, counts_steps_before_the_epoch_like_others) {
  percentile_window w{2s, 2};
  w.record(1ms, zero - 1500ms);
  w.roll(zero - 1ns);
  EXPECT_EQ(w.count(), 1u);
  w.roll(zero);
  EXPECT_EQ(w.count(), 0u);
}

TEST(percentile_window, takes_a_gap_of_any_length) {
  percentile_window w{10s, 5};
  w.record(1ms, zero + 1s);
  w.record(3ms, zero + 100000h);
  EXPECT_EQ(w.count(), 1u);
  EXPECT_EQ(w.merged().max(), 3ms);
  w.roll(never);
  EXPECT_EQ(w.count(), 0u);
}

TEST(percentile_window, forgets_all_when_it_is_cleared) {
  percentile_window w{10s, 5};
  w.record(1ms, zero + 1s);
  w.clear();
  EXPECT_EQ(w.count(), 0u);
  EXPECT_EQ(w.merged().count(), 0u);
  EXPECT_EQ(w.next_change(), never);
}

RC_GTEST_PROP(percentile_window_property, holds_what_is_young_enough, ()) {
  auto steps = *rc::gen::inRange<std::size_t>(1, 6);
  percentile_window w{duration{static_cast<std::int64_t>(steps) * 10}, steps};
  std::vector<std::pair<std::int64_t, duration>> all;
  std::int64_t now = 0, latest = 0;
  w.roll(time_point{});
  auto moves = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-8, 30));
  for (auto by : moves) {
    now += by;
    latest = std::max(latest, now);
    auto d = duration{1000 + (by + 8) * 1000};
    w.record(d, time_point{duration{now}});
    all.emplace_back(latest / 10, d);
    histogram expected;
    for (auto [step, x] : all)
      if (latest / 10 - step < static_cast<std::int64_t>(steps))
        expected.record(x);
    RC_ASSERT(w.merged() == expected);
    RC_ASSERT(w.count() == expected.count());
  }
}

} // namespace
} // namespace caisson::test
