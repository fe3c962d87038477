// The algorithms by which a limiter counts, alone.
#include <caisson/policy/rate_source.hpp>

#include <support/times.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using detail::rate_shape;
using detail::rate_source;

rate_source counting(rate_algorithm algorithm, std::int64_t rate,
                     duration per) {
  return rate_source{rate_shape{algorithm, rate, per}};
}

// How many calls go at that instant if many are there.
std::int64_t sold(rate_source& s, time_point now) {
  s.advance(now);
  std::int64_t n = 0;
  while (n < 1000 && s.take(1))
    ++n;
  return n;
}

struct expected_sale {
  duration when;
  std::int64_t expected;
};

void expect_sales(rate_source s, const std::vector<expected_sale>& sales) {
  for (const auto& x : sales)
    EXPECT_EQ(sold(s, at(x.when)), x.expected) << to_text(x.when);
}

TEST(fixed_window, begins_with_the_first_instant_and_loses_what_is_left) {
  auto s = counting(rate_algorithm::fixed_window, 3, 1s);
  expect_sales(s, {{0s, 3},
                   {1s - 1ns, 0},
                   {1s, 3},
                   {2s - 1ns, 0},
                   // Two windows have passed; only the present one counts.
                   {4500ms, 3},
                   {5s - 1ns, 0},
                   {5s, 3}});
}

TEST(sliding_window, holds_back_for_the_window_before) {
  auto s = counting(rate_algorithm::sliding_window, 10, 1s);
  expect_sales(s, {{0s, 10},
                   {1s, 0},
                   // 10 of the window before count by the part that is left.
                   {1100ms, 1},
                   {1100ms, 0},
                   {1199999999ns, 0},
                   {1200ms, 1},
                   {1950ms, 7},
                   // 9 of the window before.
                   {2s, 1},
                   // Nothing was taken in the window before.
                   {5s, 10}});
}

TEST(leaky_bucket, spaces_calls_evenly_and_stores_nothing) {
  auto s = counting(rate_algorithm::leaky_bucket, 3, 1s);
  expect_sales(s, {{0s, 1},
                   {333333333ns, 0},
                   {333333334ns, 1},
                   {666666666ns, 0},
                   {666666667ns, 1},
                   // The thirds add up.
                   {1s - 1ns, 0},
                   {1s, 1},
                   {10s, 1},
                   {10s, 0}});
}

TEST(leaky_bucket, a_heavy_call_delays_the_next_one) {
  auto s = counting(rate_algorithm::leaky_bucket, 10, 1s);
  s.advance(at(0s));
  EXPECT_TRUE(s.take(5));
  EXPECT_EQ(s.ready_at(0, 1), at(500ms));
  EXPECT_EQ(s.ready_at(3, 7), at(800ms));
  s.put_back(2, at(0s), at(0s));
  EXPECT_EQ(s.ready_at(0, 1), at(300ms));
  s.put_back(99, at(0s), at(0s));
  EXPECT_EQ(s.ready_at(0, 1), at(0s));
}

// From cold to warm in 4 s: the interval of 100 ms is three times as long at
// first. 40 tokens are stored, 20 of them above the threshold, whose intervals
// go down from 300 to 100 ms by 10 ms each: the first costs 295 ms.
TEST(warm_up_rate, is_slow_at_first_and_after_a_pause) {
  rate_source s{rate_shape{rate_algorithm::warm_up, 10, 1s, 1, 4s, 3}};
  auto now = at(0s);
  std::vector<std::int64_t> intervals;
  for (int i = 0; i < 23; ++i) {
    s.advance(now);
    ASSERT_TRUE(s.take(1)) << i;
    auto next = s.ready_at(0, 1);
    intervals.push_back((next - now) / 1ms);
    s.advance(next - 1ns);
    EXPECT_FALSE(s.take(1)) << i;
    now = next;
  }
  EXPECT_EQ(intervals[0], 295);
  EXPECT_EQ(intervals[1], 285);
  EXPECT_EQ(intervals[19], 105);
  EXPECT_EQ(intervals[20], 100);
  EXPECT_EQ(intervals[22], 100);
  // All of it is cold again after the time of the warm-up; and not before.
  EXPECT_EQ(s.full_at(), now + 2300ms);
  s.advance(now + 4s);
  EXPECT_TRUE(s.take(1));
  EXPECT_EQ(s.ready_at(0, 1) - (now + 4s), 295ms);
}

TEST(warm_up_rate, takes_its_time_to_warm_up_under_full_load) {
  rate_source s{rate_shape{rate_algorithm::warm_up, 1000, 1s, 1, 10s, 3}};
  auto now = at(0s);
  std::int64_t calls = 0;
  for (; now < at(10s); now = s.ready_at(0, 1), ++calls) {
    s.advance(now);
    ASSERT_TRUE(s.take(1));
  }
  // As many as are stored above the threshold: 10 s at half of the sum of both
  // intervals, which is 2 ms.
  EXPECT_NEAR(static_cast<double>(calls), 5000, 2);
  auto before = s.ready_at(0, 1);
  s.advance(before);
  EXPECT_TRUE(s.take(1));
  EXPECT_EQ(s.ready_at(0, 1) - before, 1ms);
}

// Makes calls, each `late` after its turn, and returns the last one's turn.
time_point warm_up_with(rate_source& s, int calls, duration late) {
  auto turn = at(0s);
  for (int i = 0; i < calls; ++i) {
    s.advance(turn + late);
    EXPECT_TRUE(s.take(1)) << i;
    turn = s.ready_at(0, 1);
  }
  return turn;
}

TEST(warm_up_rate, stays_warm_under_calls_that_come_a_little_late) {
  rate_source s{rate_shape{rate_algorithm::warm_up, 10, 1s, 1, 4s, 3}};
  auto turn = warm_up_with(s, 100, 1ms);
  s.advance(turn);
  EXPECT_TRUE(s.take(1));
  EXPECT_EQ(s.ready_at(0, 1) - turn, 100ms);
}

TEST(warm_up_rate, is_cold_after_a_drain) {
  rate_source s{rate_shape{rate_algorithm::warm_up, 10, 1s, 1, 4s, 3}};
  auto end = warm_up_with(s, 30, 0s) + 1ms;
  s.drain(end);
  s.advance(end);
  EXPECT_TRUE(s.take(1));
  EXPECT_EQ(s.ready_at(0, 1) - end, 295ms);
}

// A third of a second is no whole number of nanoseconds.
TEST(warm_up_rate, loses_no_parts_of_a_nanosecond) {
  rate_source s{rate_shape{rate_algorithm::warm_up, 3, 1s, 1, 1s, 1.5}};
  auto warm = warm_up_with(s, 10, 0s);
  for (int i = 0; i < 3000; ++i) {
    s.advance(s.ready_at(0, 1));
    ASSERT_TRUE(s.take(1)) << i;
  }
  auto took = s.ready_at(0, 1) - warm;
  EXPECT_GE(took, 1000s - 1ns);
  EXPECT_LE(took, 1000s + 1ns);
}

// -- all of them --------------------------------------------------------------

constexpr rate_algorithm algorithms[] = {
  rate_algorithm::token_bucket,   rate_algorithm::fixed_window,
  rate_algorithm::sliding_window, rate_algorithm::leaky_bucket,
  rate_algorithm::warm_up,
};

std::string name_of_algorithm(rate_algorithm x) {
  return std::string{
    enum_names<rate_algorithm>::value[static_cast<std::size_t>(x)]};
}

TEST(rate_source, sells_nothing_until_the_end_of_a_drain) {
  for (auto algorithm : algorithms) {
    SCOPED_TRACE(name_of_algorithm(algorithm));
    auto s = counting(algorithm, 10, 1s);
    EXPECT_GT(sold(s, at(0s)), 0);
    s.advance(at(2s));
    s.drain(at(5s));
    s.drain(at(3s));
    EXPECT_EQ(s.tokens(), 0);
    s.put_back(1, at(0s), at(2s));
    EXPECT_EQ(sold(s, at(5s) - 1ns), 0);
    EXPECT_GT(sold(s, at(10s)), 0);
    s.drain(at(1h));
    s.fill(at(11s));
    EXPECT_GT(sold(s, at(11s)), 0);
  }
}

TEST(rate_source, is_as_new_when_it_says) {
  for (auto algorithm : algorithms) {
    SCOPED_TRACE(name_of_algorithm(algorithm));
    auto s = counting(algorithm, 10, 1s);
    auto first = sold(s, at(0s));
    EXPECT_GT(s.full_at(), at(0s));
    EXPECT_EQ(sold(s, s.full_at()), first);
  }
}

TEST(rate_source, a_clock_that_steps_back_changes_nothing) {
  for (auto algorithm : algorithms) {
    SCOPED_TRACE(name_of_algorithm(algorithm));
    auto s = counting(algorithm, 10, 1s);
    sold(s, at(10s));
    auto next = s.ready_at(0, 1);
    EXPECT_EQ(sold(s, at(9s)), 0);
    EXPECT_EQ(s.ready_at(0, 1), next);
    EXPECT_GT(sold(s, next), 0);
  }
}

// A call of a weight that comes at the instant that was said can go, and not
// a nanosecond earlier.
TEST(rate_source, is_ready_exactly_when_it_says) {
  for (auto algorithm : algorithms)
    for (std::int64_t rate : {1, 3, 7, 1000})
      for (std::int64_t weight : {1, 2, 5}) {
        SCOPED_TRACE(name_of_algorithm(algorithm) + " " + std::to_string(rate)
                     + " " + std::to_string(weight));
        rate_source s{rate_shape{algorithm, rate, 1s, 7, 3s, 4}};
        if (weight > s.heaviest())
          continue;
        auto now = at(0s);
        for (int i = 0; i < 200; ++i) {
          s.advance(now);
          if (s.take(weight))
            continue;
          auto next = s.ready_at(0, weight);
          ASSERT_GT(next, now) << i;
          s.advance(next - 1ns);
          ASSERT_FALSE(s.take(weight)) << i;
          now = next;
          s.advance(now);
          ASSERT_TRUE(s.take(weight)) << i;
          now += 13ms * (i % 5);
        }
      }
}

TEST(rate_source, another_algorithm_starts_afresh_other_numbers_do_not) {
  for (auto algorithm : algorithms) {
    SCOPED_TRACE(name_of_algorithm(algorithm));
    auto s = counting(algorithm, 10, 1s);
    sold(s, at(0s));
    s.reshape({algorithm, 10, 1s}, at(0s));
    EXPECT_EQ(sold(s, at(0s)), 0);
    auto other = algorithm == rate_algorithm::fixed_window
                   ? rate_algorithm::leaky_bucket
                   : rate_algorithm::fixed_window;
    s.reshape({other, 10, 1s}, at(0s));
    EXPECT_GT(sold(s, at(0s)), 0);
  }
}

// The window is over at once, and those who wait learn when the next one
// begins.
TEST(rate_source, a_shorter_window_is_in_force_at_once) {
  for (auto algorithm :
       {rate_algorithm::fixed_window, rate_algorithm::sliding_window}) {
    SCOPED_TRACE(name_of_algorithm(algorithm));
    auto s = counting(algorithm, 2, 10s);
    sold(s, at(0s));
    s.advance(at(1500ms));
    s.reshape({algorithm, 2, 1s}, at(1500ms));
    auto next = s.ready_at(0, 1);
    EXPECT_GE(next, at(1500ms));
    EXPECT_LE(next, at(2s));
    s.advance(next);
    EXPECT_TRUE(s.take(1));
  }
}

TEST(rate_source, a_lower_rate_does_not_make_forget_what_was_taken) {
  for (auto algorithm :
       {rate_algorithm::fixed_window, rate_algorithm::sliding_window}) {
    SCOPED_TRACE(name_of_algorithm(algorithm));
    auto s = counting(algorithm, 10, 1h);
    sold(s, at(0s));
    s.reshape({algorithm, 1, 1h}, at(1s));
    EXPECT_EQ(s.tokens(), 0);
    EXPECT_GE(s.ready_at(0, 1), at(1h));
    s.reshape({algorithm, 10, 1h}, at(2s));
    EXPECT_EQ(sold(s, at(3s)), 0);
  }
}

TEST(rate_source, a_short_drain_takes_the_rest_of_the_window) {
  for (auto algorithm :
       {rate_algorithm::fixed_window, rate_algorithm::sliding_window}) {
    SCOPED_TRACE(name_of_algorithm(algorithm));
    auto s = counting(algorithm, 3, 1s);
    s.advance(at(0s));
    EXPECT_TRUE(s.take(1));
    s.drain(at(100ms));
    EXPECT_EQ(sold(s, at(900ms)), 0);
  }
}

// Four go at once, and then seven in each window.
TEST(sliding_window, counts_what_is_left_of_the_window_for_those_ahead) {
  auto s = counting(rate_algorithm::sliding_window, 7, 1s);
  s.advance(at(0s));
  EXPECT_TRUE(s.take(3));
  EXPECT_EQ(s.ready_at(3, 1), at(0s));
  EXPECT_EQ(s.ready_at(5, 1), at(1s + 285'714'286ns));
}

// An answer that asks for fewer calls never makes the next one go earlier.
TEST(rate_source, a_drain_brings_no_turn_forward) {
  for (auto algorithm : algorithms)
    for (auto pause : {0ns, 1ns, 500'000'000ns, 3'000'000'000ns}) {
      SCOPED_TRACE(name_of_algorithm(algorithm) + " " + to_text(pause));
      auto s = counting(algorithm, 3, 1s);
      for (auto t : {0ms, 100ms, 700ms, 1200ms, 1700ms, 2100ms}) {
        sold(s, at(t));
        auto before = s.ready_at(0, 1);
        s.drain(at(t) + pause);
        EXPECT_GE(s.ready_at(0, 1), before) << to_text(t);
        EXPECT_EQ(sold(s, at(t)), 0) << to_text(t);
      }
    }
}

TEST(rate_source, a_drain_by_a_clock_that_steps_back_brings_no_tokens) {
  for (auto algorithm : algorithms) {
    SCOPED_TRACE(name_of_algorithm(algorithm));
    auto s = counting(algorithm, 3, 1s);
    sold(s, at(10s));
    s.drain(at(5s));
    EXPECT_EQ(sold(s, at(5s)), 0);
    EXPECT_EQ(sold(s, at(10s)), 0);
    auto next = s.ready_at(0, 1);
    EXPECT_GT(next, at(10s));
    EXPECT_GT(sold(s, next), 0);
  }
}

// What is sold at the end of a window counts in the next one.
TEST(sliding_window, computes_turns_behind_others_too_early_by_one_a_window) {
  auto s = counting(rate_algorithm::sliding_window, 7, 1s);
  sold(s, at(300ms));
  s.advance(at(1100ms));
  std::vector<time_point> turns;
  for (std::int64_t ahead = 0; ahead < 30; ++ahead)
    turns.push_back(s.ready_at(ahead, 1));
  for (auto t : turns) {
    auto turn = s.ready_at(0, 1);
    s.advance(turn);
    ASSERT_TRUE(s.take(1));
    EXPECT_GE(turn, t);
    EXPECT_LE(turn - t, 143ms * ((t - at(300ms)) / 1s));
  }
}

TEST(rate_source, computes_turns_behind_others_exactly_if_all_weigh_one) {
  for (auto algorithm :
       {rate_algorithm::token_bucket, rate_algorithm::fixed_window,
        rate_algorithm::leaky_bucket}) {
    SCOPED_TRACE(name_of_algorithm(algorithm));
    auto s = counting(algorithm, 7, 1s);
    sold(s, at(300ms));
    s.advance(at(1100ms));
    std::vector<time_point> turns;
    for (std::int64_t ahead = 0; ahead < 30; ++ahead)
      turns.push_back(s.ready_at(ahead, 1));
    auto last = at(1100ms);
    for (auto t : turns) {
      if (t > last) {
        s.advance(t - 1ns);
        EXPECT_FALSE(s.take(1));
      }
      s.advance(last = t);
      EXPECT_TRUE(s.take(1));
    }
  }
}

TEST(warm_up_rate, stays_cold_if_no_call_is_executed) {
  rate_source s{rate_shape{rate_algorithm::warm_up, 10, 1s, 1, 4s, 3}};
  s.advance(at(0s));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(s.take(1)) << i;
    s.put_back(1, at(0s), at(0s));
  }
  EXPECT_TRUE(s.take(1));
  EXPECT_EQ(s.ready_at(0, 1), at(295ms));
}

TEST(rate_source, gives_back_what_still_counts) {
  auto fixed = counting(rate_algorithm::fixed_window, 3, 1s);
  sold(fixed, at(0s));
  fixed.put_back(2, at(0s), at(0s));
  EXPECT_EQ(sold(fixed, at(500ms)), 2);
  // Of an earlier window.
  sold(fixed, at(1s));
  fixed.put_back(2, at(500ms), at(1s));
  EXPECT_EQ(sold(fixed, at(1s)), 0);
  // Of a window before the two that count.
  auto old = counting(rate_algorithm::sliding_window, 10, 1s);
  sold(old, at(0s));
  sold(old, at(1900ms));
  old.advance(at(2s));
  auto left = old.tokens();
  old.put_back(5, at(0s), at(2s));
  EXPECT_EQ(old.tokens(), left);
  auto stopped = counting(rate_algorithm::sliding_window, 10, 1s);
  sold(stopped, at(0s));
  stopped.drain(at(100ms));
  stopped.put_back(5, at(0s), at(50ms));
  stopped.advance(at(1s));
  EXPECT_EQ(stopped.tokens(), 0);
  // Before a drain.
  auto drained = counting(rate_algorithm::fixed_window, 3, 1s);
  sold(drained, at(0s));
  drained.drain(at(100ms));
  drained.put_back(2, at(0s), at(50ms));
  EXPECT_EQ(sold(drained, at(200ms)), 0);
  auto sliding = counting(rate_algorithm::sliding_window, 10, 1s);
  sold(sliding, at(0s));
  sliding.advance(at(1500ms));
  EXPECT_EQ(sliding.tokens(), 5);
  sliding.put_back(4, at(0s), at(1500ms));
  EXPECT_EQ(sliding.tokens(), 7);
  sold(sliding, at(1500ms));
  sliding.put_back(1, at(1500ms), at(1500ms));
  EXPECT_EQ(sliding.tokens(), 1);
  sliding.advance(at(3500ms));
  sliding.put_back(9, at(0s), at(3500ms));
  EXPECT_EQ(sliding.tokens(), 10);
}

} // namespace
} // namespace caisson::test
