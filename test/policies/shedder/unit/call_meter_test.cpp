#include <caisson/policies/shedder/call_meter.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

using namespace std::chrono_literals;

namespace caisson::detail {
namespace {

constexpr time_point zero_of_meter = time_point{} + 1h;

class meter_rig {
public:
  explicit meter_rig(duration history = 10s, duration baseline = 1min)
    : meter{history, baseline} {
    meter.restart(at(0ns));
  }

  static time_point at(duration t) { return zero_of_meter + t; }

  // A call that succeeds.
  void call(duration from, duration to) {
    meter.begin(at(from));
    meter.succeed(at(from), at(to));
  }

  call_meter meter;
};

TEST(call_meter, averages_the_calls_in_flight_over_time) {
  meter_rig h;
  h.meter.begin(h.at(0s));
  h.meter.begin(h.at(1s));
  EXPECT_DOUBLE_EQ(h.meter.mean_in_flight(h.at(4s)), 7.0 / 4);
  h.meter.end(h.at(4s));
  EXPECT_DOUBLE_EQ(h.meter.mean_in_flight(h.at(8s)), 11.0 / 8);
  h.meter.restart(h.at(8s));
  EXPECT_DOUBLE_EQ(h.meter.mean_in_flight(h.at(8s)), 1);
  EXPECT_DOUBLE_EQ(h.meter.mean_in_flight(h.at(9s)), 1);
  EXPECT_EQ(h.meter.in_flight(), 1);
}

TEST(call_meter, multiplies_the_best_throughput_by_the_shortest_average) {
  meter_rig h;
  EXPECT_FALSE(h.meter.capacity(h.at(0s)));
  // Four calls in a step of 500 ms, of 100 ms each.
  for (int i = 0; i < 4; ++i)
    h.call(0ms, 100ms);
  EXPECT_FALSE(h.meter.capacity(h.at(499ms))) << "the step is not over";
  EXPECT_NEAR(h.meter.capacity(h.at(500ms)).value_or(0), 8 * 0.1, 1e-9);
  // Slower ones in another, of which there are more.
  for (int i = 0; i < 6; ++i)
    h.call(500ms, 900ms);
  EXPECT_NEAR(h.meter.capacity(h.at(1s)).value_or(0), 12 * 0.1, 1e-9);
  // Averages: one fast call makes no step fast.
  h.call(1s, 1s + 10ms);
  h.call(1s, 1s + 200ms);
  EXPECT_NEAR(h.meter.capacity(h.at(1500ms)).value_or(0), 12 * 0.1, 1e-9);
}

TEST(call_meter, takes_no_part_of_a_step_for_a_throughput) {
  meter_rig h{20s};
  h.meter.resume(h.at(900ms));
  for (int i = 0; i < 5; ++i)
    h.call(900ms, 950ms);
  EXPECT_FALSE(h.meter.capacity(h.at(1s))) << "5 calls, but in 100 ms";
  for (int i = 0; i < 50; ++i)
    h.call(1s, 1s + 50ms);
  EXPECT_FALSE(h.meter.capacity(h.at(1999ms))) << "the step is not over";
  EXPECT_NEAR(h.meter.capacity(h.at(2s)).value_or(0), 50 * 0.05, 1e-9);
  // With a whole step in the history, one more that is not whole can only raise
  // the largest throughput.
  h.meter.resume(h.at(5500ms));
  for (int i = 0; i < 60; ++i)
    h.call(5500ms, 5550ms);
  EXPECT_NEAR(h.meter.capacity(h.at(5600ms)).value_or(0), 60 * 0.05, 1e-9);
  h.meter.forget(h.at(5700ms));
  h.call(5700ms, 5750ms);
  EXPECT_FALSE(h.meter.capacity(h.at(6s)));
  meter_rig third{20s};
  third.meter.resume(third.at(0s));
  third.call(0s, 10ms);
  EXPECT_TRUE(third.meter.capacity(third.at(1s)));
}

TEST(call_meter, forgets_throughput_and_times_after_their_own_lengths) {
  meter_rig h;
  h.call(0ms, 100ms);
  h.call(0ms, 100ms);
  h.call(5s, 5s + 200ms);
  EXPECT_NEAR(h.meter.capacity(h.at(10s - 1ns)).value_or(0), 4 * 0.1, 1e-9);
  EXPECT_NEAR(h.meter.capacity(h.at(10s)).value_or(0), 2 * 0.1, 1e-9);
  EXPECT_FALSE(h.meter.capacity(h.at(16s))) << "no throughput";
  h.call(57s, 57s + 300ms);
  EXPECT_NEAR(h.meter.capacity(h.at(60s - 1ns)).value_or(0), 2 * 0.1, 1e-9);
  // The step of 3 s of the first calls has left; that of the others is left.
  EXPECT_NEAR(h.meter.capacity(h.at(61s)).value_or(0), 2 * 0.2, 1e-9);
  EXPECT_NEAR(h.meter.capacity(h.at(64s)).value_or(0), 2 * 0.3, 1e-9);
}

TEST(call_meter, compares_the_times_of_a_window_with_the_shortest) {
  meter_rig h;
  EXPECT_EQ(h.meter.delay(h.at(0s)), std::nullopt);
  h.call(0ms, 100ms);
  EXPECT_EQ(h.meter.delay(h.at(500ms)), 0ns);
  h.meter.restart(h.at(500ms));
  h.call(500ms, 700ms);
  h.call(500ms, 900ms);
  EXPECT_EQ(h.meter.delay(h.at(1s)), 200ms);
  // What was cut off counts with the time that it had.
  h.meter.begin(h.at(500ms));
  h.meter.time_out(h.at(500ms), h.at(1400ms));
  EXPECT_EQ(h.meter.delay(h.at(1400ms)), 400ms);
  // Other failures do not count.
  h.meter.begin(h.at(1400ms));
  h.meter.end(h.at(1400ms));
  EXPECT_EQ(h.meter.delay(h.at(1400ms)), 400ms);
}

TEST(call_meter, keeps_the_delay_of_a_worker_that_answers_nothing) {
  meter_rig h;
  h.call(0ms, 100ms);
  h.meter.begin(h.at(100ms));
  h.call(500ms, 900ms);
  EXPECT_EQ(h.meter.delay(h.at(1s)), 150ms);
  h.meter.restart(h.at(1s));
  EXPECT_EQ(h.meter.delay(h.at(2s)), 150ms);
  h.meter.end(h.at(2s));
  EXPECT_EQ(h.meter.delay(h.at(2s)), 0ns) << "nothing is in flight";
}

// All that is answered late is no throughput, and yet too much is in flight.
TEST(call_meter, keeps_the_capacity_while_calls_are_in_flight) {
  meter_rig h;
  h.call(0ms, 100ms);
  h.call(0ms, 100ms);
  h.meter.begin(h.at(200ms));
  EXPECT_NEAR(h.meter.capacity(h.at(1s)).value_or(0), 4 * 0.1, 1e-9);
  EXPECT_NEAR(h.meter.capacity(h.at(1h)).value_or(0), 4 * 0.1, 1e-9);
  h.meter.end(h.at(1h));
  EXPECT_FALSE(h.meter.capacity(h.at(1h))) << "nothing is in flight";
  h.meter.begin(h.at(1h));
  EXPECT_FALSE(h.meter.capacity(h.at(1h)));
  h.call(1h, 1h + 50ms);
  EXPECT_NEAR(h.meter.capacity(h.at(1h + 500ms)).value_or(0), 2 * 0.05, 1e-9);
  h.meter.forget(h.at(1h + 500ms));
  EXPECT_FALSE(h.meter.capacity(h.at(1h + 500ms)));
}

// A quiet time has steps with a call or two, some of which are quick by chance.
TEST(call_meter, takes_no_average_of_few_calls_for_the_shortest) {
  meter_rig h;
  h.call(0ms, 1ms);
  EXPECT_NEAR(h.meter.capacity(h.at(500ms)).value_or(0), 2 * 0.001, 1e-9);
  // In the same step of the baseline, and in another one.
  for (auto from : {500ms, 3'000ms}) {
    for (int i = 0; i < 20; ++i)
      h.call(from, from + 100ms);
    EXPECT_NEAR(h.meter.capacity(h.at(from + 500ms)).value_or(0), 40 * 0.1,
                1e-9);
    h.call(from + 500ms, from + 501ms);
    EXPECT_NEAR(h.meter.capacity(h.at(from + 1s)).value_or(0), 40 * 0.1, 1e-9);
  }
  // Two calls are a tenth.
  h.call(6s, 6s + 50ms);
  h.call(6s, 6s + 50ms);
  EXPECT_NEAR(h.meter.capacity(h.at(6'500ms)).value_or(0), 40 * 0.05, 1e-9);
}

// Before an overload that comes at once there may be nothing but quiet steps.
TEST(call_meter, takes_the_average_of_all_quiet_steps_together) {
  meter_rig h;
  auto quiet = [&](duration at, duration takes) { h.call(at, at + takes); };
  // Ten calls of 5 and 15 ms, one in each step and two in each of the baseline.
  for (int i = 0; i < 10; ++i)
    quiet(i * 1'500ms, i % 2 == 0 ? 5ms : 15ms);
  auto busy = [&](int n, duration at) {
    for (int i = 0; i < n; ++i)
      h.call(at, at + 200ms);
    h.meter.restart(h.at(at + 500ms));
  };
  busy(100, 15s);
  // A tenth of 100: their average is that of one step.
  EXPECT_NEAR(h.meter.capacity(h.at(15'500ms)).value_or(0), 200 * 0.01, 1e-9);
  h.call(15'500ms, 15'700ms);
  EXPECT_EQ(h.meter.delay(h.at(16s)), 190ms);
  // Eleven would be one.
  busy(110, 16s);
  EXPECT_NEAR(h.meter.capacity(h.at(16'500ms)).value_or(0), 220 * 0.2, 1e-9);
}

TEST(call_meter, forgets_quiet_steps_with_their_time) {
  meter_rig h;
  for (int i = 0; i < 20; ++i)
    h.call(i * 500ms, i * 500ms + 10ms);
  auto capacity_after_busy = [&](duration at) {
    for (int i = 0; i < 100; ++i)
      h.call(at, at + 200ms);
    return h.meter.capacity(h.at(at + 500ms)).value_or(0);
  };
  // All but those of the first step of the baseline, six of twenty.
  EXPECT_NEAR(capacity_after_busy(59s), 200 * 0.01, 1e-9);
  EXPECT_NEAR(capacity_after_busy(60s), 200 * 0.01, 1e-9);
  // And of the second one.
  EXPECT_NEAR(capacity_after_busy(63s), 200 * 0.2, 1e-9);
}

TEST(call_meter, does_not_mix_quiet_steps_of_two_minutes) {
  meter_rig h;
  for (auto from : {0s, 60s})
    for (int i = 0; i < 6; ++i) {
      auto at = from + i * 500ms;
      h.call(at, at + (from == 0s ? 10ms : 20ms));
    }
  for (int i = 0; i < 60; ++i)
    h.call(63s, 63s + 200ms);
  EXPECT_NEAR(h.meter.capacity(h.at(63'500ms)).value_or(0), 120 * 0.02, 1e-9);
}

TEST(call_meter, is_never_faster_than_the_shortest) {
  meter_rig h;
  h.call(0ms, 100ms);
  h.meter.restart(h.at(500ms));
  h.call(500ms, 550ms);
  EXPECT_EQ(h.meter.delay(h.at(600ms)), 0ns);
}

TEST(call_meter, takes_a_clock_that_steps_back_for_one_that_stands) {
  meter_rig h;
  h.meter.begin(h.at(10s));
  h.meter.restart(h.at(10s));
  h.meter.begin(h.at(5s));
  h.meter.succeed(h.at(10s), h.at(5s));
  EXPECT_DOUBLE_EQ(h.meter.mean_in_flight(h.at(1s)), 1);
  h.meter.restart(h.at(1s));
  EXPECT_DOUBLE_EQ(h.meter.mean_in_flight(h.at(12s)), 1);
  EXPECT_EQ(h.meter.capacity(h.at(12s)), 0.0);
}

TEST(call_meter, forgets_all_but_the_calls_in_flight_with_other_lengths) {
  meter_rig h;
  h.call(0ms, 100ms);
  h.meter.begin(h.at(100ms));
  h.meter.resize(10s, 1min, h.at(1s));
  EXPECT_TRUE(h.meter.capacity(h.at(1s))) << "they are the same";
  h.meter.resize(10s, 2min, h.at(1s));
  EXPECT_FALSE(h.meter.capacity(h.at(1s)));
  EXPECT_EQ(h.meter.delay(h.at(1s)), std::nullopt);
  EXPECT_EQ(h.meter.in_flight(), 1);
  EXPECT_DOUBLE_EQ(h.meter.mean_in_flight(h.at(2s)), 1);
}

TEST(call_meter, works_with_the_longest_and_shortest_lengths) {
  for (duration history : {duration{1s}, duration{1h}})
    for (duration baseline : {history, duration{24h}}) {
      meter_rig h{history, baseline};
      h.call(0ms, 10ms);
      auto step = history / 20;
      EXPECT_NEAR(h.meter.capacity(h.at(step)).value_or(0),
                  0.01 / to_seconds(step), 1e-9);
    }
}

} // namespace
} // namespace caisson::detail
