#include <policies/shedder/model/shedder_model.hpp>
#include <policies/shedder/model/shedder_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using event_texts = std::vector<std::string>;

// -- without an overload ------------------------------------------------------

TEST(shedder, lets_all_calls_pass_without_an_overload) {
  shedder_rig h;
  h.load->value.cpu = 0.89;
  EXPECT_EQ(h.offer_over(10s, 1'000), 1'000);
  EXPECT_EQ(h.count("passed"), 1'000);
  EXPECT_EQ(h.count("finished"), 1'000);
  EXPECT_EQ(h.count("tightened"), 0);
  EXPECT_EQ(h.count("relaxed"), 0);
  EXPECT_EQ(h.policy.state(), "passing");
  EXPECT_EQ(h.count("threshold"), 0);
  EXPECT_TRUE(h.e.reports.empty());
  // Nothing was drawn.
  EXPECT_EQ(h.random.bits(), random_source{7}.bits());
}

TEST(shedder, reads_the_load_once_per_sample_while_calls_come) {
  shedder_rig h;
  h.offer();
  EXPECT_EQ(h.load->reads, 1);
  EXPECT_EQ(h.load->last_max_age, 250ms);
  h.offer_over(10s, 10'000);
  EXPECT_NEAR(h.load->reads, 41, 1);
  // After a window without calls there is nothing to do.
  h.advance(1h);
  EXPECT_LE(h.load->reads, 50);
  EXPECT_EQ(h.policy.wakeup(), never);
  auto before = h.load->reads;
  h.offer();
  EXPECT_EQ(h.load->reads, before + 1);
}

TEST(shedder, does_not_read_what_is_no_signal) {
  shedder_rig h{by_delay(1s)};
  h.offer_over(10s, 100);
  EXPECT_EQ(h.load->reads, 0);
  EXPECT_EQ(h.count("unread"), 0);
}

// -- the signals --------------------------------------------------------------

TEST(shedder, sheds_while_the_cpus_are_busy) {
  shedder_rig h;
  h.load->value.cpu = 0.9;
  EXPECT_EQ(h.offer_over(1s, 1'000), 1'000);
  EXPECT_EQ(h.policy.state(), "shedding");
  // 5 % fewer than in the second before.
  EXPECT_NEAR(h.offer_over(1s, 1'000), 950, 20);
  EXPECT_NEAR(h.offer_over(1s, 1'000), 902, 30);
  EXPECT_GT(h.count("shed_cpu"), 0);
  EXPECT_EQ(h.all_shed(), h.count("shed_cpu"));
  EXPECT_EQ(h.count("tightened"), 3);
  EXPECT_EQ(h.count("cpu_permille"), 900);
  h.load->value.cpu = 0.5;
  h.advance(250ms);
  // 1 % more from now on, and the rest is shed for the same reason.
  for (int i = 0; i < 30; ++i)
    h.offer_over(1s, 1'000);
  EXPECT_EQ(h.policy.state(), "passing");
  EXPECT_EQ(h.offer_over(1s, 1'000), 1'000);
  EXPECT_EQ(h.all_shed(), h.count("shed_cpu"));
  EXPECT_EQ(h.count("shed_cpu") + h.count("passed")
              + h.count("passed_by_minimum"),
            34'000);
}

TEST(shedder, sheds_while_the_memory_is_full) {
  auto c = by_cpu();
  c.max_memory = 0.95;
  shedder_rig h{c};
  h.load->value.memory = 0.95;
  h.load->value.cpu = 1;
  h.offer_over(2s, 2'000);
  EXPECT_GT(h.count("shed_memory"), 20);
  EXPECT_EQ(h.count("shed_cpu"), 0) << "memory is the more important signal";
  EXPECT_EQ(h.count("memory_permille"), 950);
}

// In parts of a second whose means and differences are exact.
TEST(shedder, takes_the_largest_delay_for_no_overload) {
  constexpr duration step = 15'625us;
  for (auto more : {0us, 2'000us}) {
    shedder_rig h{by_delay(4 * step)};
    auto call = [&](duration takes) {
      auto id = h.arrive();
      h.advance(takes);
      if (h.where(id) == place::below)
        h.finish(id);
    };
    for (int i = 0; i < 100; ++i)
      call(step);
    for (int i = 0; i < 50; ++i)
      call(5 * step + more);
    EXPECT_EQ(h.count("delay_us"), (4 * step + more) / 1us);
    EXPECT_EQ(h.policy.state(), more == 0us ? "passing" : "shedding");
  }
}

TEST(shedder, sheds_while_calls_take_longer_than_usual) {
  shedder_rig h{by_delay(50ms)};
  auto call = [&](duration takes) {
    auto id = h.arrive();
    if (h.where(id) != place::below)
      return false;
    h.advance(takes);
    h.finish(id);
    return true;
  };
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(call(10ms));
  for (int i = 0; i < 33; ++i)
    EXPECT_TRUE(call(60ms));
  EXPECT_EQ(h.policy.state(), "passing") << "50 ms is not more than 50 ms";
  for (int i = 0; i < 60; ++i)
    call(62ms);
  EXPECT_EQ(h.policy.state(), "shedding");
  EXPECT_EQ(h.count("delay_us"), 52'000);
  auto before = h.count("shed_delay");
  int shed = 0;
  for (int i = 0; i < 200; ++i)
    shed += call(62ms) ? 0 : 1;
  EXPECT_GT(shed, 0);
  EXPECT_EQ(h.count("shed_delay") - before, shed);
}

// The overload comes at once, and its own times are all that it has but for a
// call a second.
TEST(shedder, knows_the_usual_time_from_a_quiet_minute) {
  shedder_rig h{by_delay(50ms)};
  for (int i = 0; i < 60; ++i) {
    auto id = h.arrive();
    h.advance(10ms);
    h.finish(id);
    h.advance(990ms);
  }
  for (int i = 0; i < 20; ++i) {
    auto all = h.arrive_together(100);
    h.advance(100ms);
    for (auto id : all)
      if (h.where(id) == place::below)
        h.finish(id);
  }
  EXPECT_EQ(h.count("delay_us"), 90'000);
  EXPECT_EQ(h.policy.state(), "shedding");
}

TEST(shedder, counts_calls_that_were_cut_off_as_slow) {
  auto c = by_delay(50ms);
  c.minimum = 1;
  shedder_rig h{c};
  for (int i = 0; i < 10; ++i) {
    auto id = h.arrive();
    h.advance(100ms);
    h.finish(id);
  }
  for (int i = 0; i < 10; ++i) {
    auto id = h.arrive();
    h.advance(300ms);
    if (h.where(id) == place::below)
      h.abandon(id);
  }
  EXPECT_EQ(h.policy.state(), "shedding");
  EXPECT_EQ(h.count("abandoned"), 10 - h.count("shed_delay"));
  EXPECT_EQ(h.count("delay_us"), 200'000);
}

TEST(shedder, does_not_take_quick_errors_for_quick_answers) {
  shedder_rig h{by_delay(50ms)};
  for (int i = 0; i < 100; ++i)
    h.fail(h.arrive());
  h.advance(1s);
  for (int i = 0; i < 20; ++i) {
    auto id = h.arrive();
    h.advance(200ms);
    h.finish(id);
  }
  EXPECT_EQ(h.policy.state(), "passing");
  EXPECT_EQ(h.count("delay_us"), 0);
}

// Ten calls of 100 ms a second: one is in flight on average.
void learn_capacity(shedder_rig& h) {
  for (int i = 0; i < 40; ++i) {
    auto id = h.arrive();
    h.advance(100ms);
    h.finish(id);
  }
}

shedder_config by_in_flight() {
  shedder_config c;
  c.max_cpu = 0;
  c.max_memory = 0;
  c.in_flight_factor = 2;
  c.minimum = 1;
  return c;
}

// `n` are in flight besides, for `seconds`.
void burst(shedder_rig& h, int n, int seconds) {
  for (int i = 0; i < n; ++i)
    h.arrive();
  for (int i = 0; i < 10 * seconds; ++i) {
    auto id = h.arrive();
    h.advance(100ms);
    if (h.where(id) == place::below)
      h.finish(id);
  }
}

TEST(shedder, sheds_while_too_many_calls_are_in_flight) {
  for (int n : {0, 1, 2, 5}) {
    shedder_rig h{by_in_flight()};
    learn_capacity(h);
    EXPECT_EQ(h.count("in_flight_limit"), 2);
    burst(h, n, 10);
    EXPECT_EQ(h.count("in_flight"), n);
    EXPECT_EQ(h.policy.state() == "shedding", n > 1) << n;
    EXPECT_EQ(h.count("shed_in_flight") > 0, n > 1) << n;
  }
}

// Ten calls of 10 ms a second: a tenth of a call is in flight on average.
TEST(shedder, takes_one_call_in_flight_for_no_overload) {
  shedder_rig h{by_in_flight()};
  for (int i = 0; i < 40; ++i) {
    auto id = h.arrive();
    h.advance(10ms);
    h.finish(id);
    h.advance(90ms);
  }
  EXPECT_EQ(h.count("in_flight_limit"), 0);
  burst(h, 0, 5);
  EXPECT_EQ(h.count("tightened"), 0);
  burst(h, 1, 5);
  EXPECT_GT(h.count("tightened"), 0);
}

TEST(shedder, asks_the_cpu_time_first_whether_calls_in_flight_are_too_many) {
  auto c = by_in_flight();
  c.max_cpu = 0.9;
  c.cool_off = 2s;
  shedder_rig h{c};
  learn_capacity(h);
  burst(h, 5, 2);
  EXPECT_EQ(h.count("tightened"), 0) << "the CPUs are idle";
  h.load->value.cpu = 0.95;
  burst(h, 0, 2);
  EXPECT_EQ(h.count("tightened"), 2);
  h.load->value.cpu = 0.1;
  // Up to two seconds after the last reading that was too high.
  burst(h, 0, 2);
  EXPECT_EQ(h.count("tightened"), 3);
  burst(h, 0, 2);
  EXPECT_EQ(h.count("tightened"), 3);
  EXPECT_EQ(h.count("shed_cpu"), 0);
}

TEST(shedder, forgets_busy_cpus_that_are_none_by_new_settings) {
  for (auto by_share : {false, true}) {
    auto c = by_in_flight();
    c.max_cpu = 0.9;
    c.cool_off = 1h;
    shedder_rig h{c};
    learn_capacity(h);
    h.load->value.cpu = 0.92;
    burst(h, 5, 2);
    EXPECT_GT(h.count("tightened"), 0);
    h.load->value.cpu = 0.1;
    if (by_share)
      c.max_cpu = 0.95;
    else
      c.cool_off = 0s;
    h.reconfigure(c);
    auto before = h.count("tightened");
    burst(h, 0, 4);
    EXPECT_EQ(h.count("tightened"), before) << by_share;
  }
}

TEST(shedder, takes_busy_cpus_for_no_overload_while_few_calls_are_in_flight) {
  auto c = by_in_flight();
  c.max_cpu = 0.9;
  shedder_rig h{c};
  h.load->value.cpu = 1;
  EXPECT_EQ(h.offer_over(5s, 5'000), 5'000);
  EXPECT_EQ(h.count("tightened"), 0);
  // Unless each of them is a signal for itself.
  c.in_flight_needs_cpu = false;
  h.reconfigure(c);
  h.offer_over(2s, 2'000);
  EXPECT_EQ(h.count("tightened"), 2);
  EXPECT_GT(h.count("shed_cpu"), 0);
}

TEST(shedder, needs_no_cpu_time_that_is_no_signal) {
  ASSERT_TRUE(by_in_flight().in_flight_needs_cpu);
  shedder_rig h{by_in_flight()};
  learn_capacity(h);
  burst(h, 5, 2);
  EXPECT_EQ(h.count("tightened"), 2);
}

TEST(shedder, does_nothing_without_a_reading) {
  auto c = by_cpu();
  c.max_memory = 0.95;
  shedder_rig h{c};
  h.load->value = {};
  EXPECT_EQ(h.offer_over(5s, 500), 500);
  EXPECT_NEAR(static_cast<double>(h.count("unread")), 20, 1);
  EXPECT_EQ(h.count("cpu_permille"), 0);
  // What cannot be is none, either.
  h.load->value = {std::numeric_limits<double>::quiet_NaN(), -1};
  EXPECT_EQ(h.offer_over(5s, 500), 500);
  EXPECT_NEAR(static_cast<double>(h.count("unread")), 40, 2);
  EXPECT_EQ(h.count("memory_permille"), 0);
  h.load->value = {0, std::numeric_limits<double>::infinity()};
  h.offer_over(2s, 200);
  EXPECT_GT(h.count("shed_memory"), 0);
  EXPECT_EQ(h.count("memory_permille"), 1'000);
}

TEST(shedder, does_nothing_without_a_source) {
  rig<shedder> h{by_cpu()};
  for (int i = 0; i < 100; ++i) {
    h.finish(h.arrive());
    h.advance(100ms);
  }
  EXPECT_EQ(h.count("passed"), 100);
  EXPECT_EQ(h.count("unread"), 1);
}

TEST(shedder, reports_a_source_that_throws) {
  shedder_rig h;
  h.load->value.cpu = 1;
  h.offer_over(2s, 2'000);
  EXPECT_GT(h.count("shed_cpu"), 0);
  h.load->fails = true;
  h.advance(250ms);
  ASSERT_FALSE(h.e.threw.empty());
  EXPECT_EQ(h.e.threw.front(), "load_source: no load today");
  EXPECT_EQ(h.count("cpu_permille"), 0);
  EXPECT_GT(h.count("unread"), 0);
  h.offer_over(30s, 3'000);
  EXPECT_EQ(h.policy.state(), "passing");
}

TEST(shedder, says_in_words_which_signal_it_was) {
  shedder_config c;
  c.max_memory = 0.5;
  shedder_rig memory{c};
  memory.load->value.memory = 0.75;
  memory.offer_over(1s, 1'000);
  EXPECT_EQ(memory.e.details, event_texts{"memory 75 %"});

  shedder_rig delay{by_delay(1ms)};
  for (int i = 0; i < 10; ++i) {
    auto id = delay.arrive();
    delay.advance(i < 5 ? 100ms : 250ms);
    delay.finish(id);
  }
  EXPECT_EQ(delay.e.details.front(), "delay 25 ms");

  shedder_rig flying{by_in_flight()};
  learn_capacity(flying);
  burst(flying, 5, 1);
  EXPECT_EQ(flying.e.details.front(), "6.0 calls in flight, of 2.0");
}

RC_GTEST_PROP(shedder_property, does_as_its_model_does, ()) {
  check_against_model<shedder_model>();
}

} // namespace
} // namespace caisson::test
