#include <caisson/policies/shedder/call_meter.hpp>

#include <policies/shedder/model/shedder_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

using event_texts = std::vector<std::string>;

// -- which calls --------------------------------------------------------------

TEST(shedder_calls, rejects_with_the_time_to_come_back) {
  auto c = by_cpu();
  c.retry_after = 3s;
  shedder_rig h{c};
  h.load->value.cpu = 1;
  h.offer_over(30s, 30'000);
  h.e.reports.clear();
  call_id id = 0;
  while (id == 0 || h.where(id) == place::below)
    id = h.arrive();
  EXPECT_EQ(h.where(id), place::rejected);
  EXPECT_EQ(h.calls.at(id).code, errc::shed);
  EXPECT_EQ(h.calls.at(id).retry_after, 3s);
  EXPECT_EQ(h.e.reports, (event_texts{"rejected:>shed"}));
}

TEST(shedder_calls, sheds_the_least_important_calls_first) {
  shedder_rig h;
  h.load->value.cpu = 1;
  int passed[3] = {};
  for (int second = 0; second < 12; ++second)
    for (int i = 0; i < 100; ++i) {
      for (int p : {-1, 0, 1})
        passed[p + 1] += h.offer(important(p)) ? 1 : 0;
      h.advance(10ms);
    }
  // After 12 windows 54 % of 300 may pass: 162.
  EXPECT_EQ(passed[2], 1'200);
  EXPECT_GT(passed[1], 1'000);
  EXPECT_LT(passed[0], 700);
}

TEST(shedder_calls, treats_all_calls_of_a_user_alike) {
  shedder_rig h;
  h.load->value.cpu = 1;
  auto user = [](int i) { return important(0, "user " + std::to_string(i)); };
  for (int second = 0; second < 12; ++second)
    for (int i = 0; i < 1'000; ++i) {
      h.offer(user(i));
      h.advance(1ms);
    }
  h.load->value.cpu = 0.95;
  std::vector<bool> passes;
  int many = 0;
  for (int i = 0; i < 300; ++i) {
    passes.push_back(h.offer(user(i)));
    many += passes.back() ? 1 : 0;
  }
  EXPECT_NEAR(many, 160, 60);
  for (int i = 0; i < 300; ++i)
    EXPECT_EQ(h.offer(user(i)), passes[static_cast<std::size_t>(i)]) << i;
  // In another hour others are the less important ones.
  h.load->value.cpu = 0;
  h.advance(1h);
  h.load->value.cpu = 1;
  for (int second = 0; second < 12; ++second)
    for (int i = 0; i < 1'000; ++i) {
      h.offer(user(i));
      h.advance(1ms);
    }
  int changed = 0;
  for (int i = 0; i < 300; ++i)
    changed += h.offer(user(i)) != passes[static_cast<std::size_t>(i)] ? 1 : 0;
  EXPECT_GT(changed, 80);
}

TEST(shedder_calls, lets_a_minimum_pass_in_any_case) {
  auto c = by_cpu();
  c.minimum = 20;
  shedder_rig h{c};
  h.load->value.cpu = 1;
  h.offer_over(120s, 120'000);
  // A little more, as calls that pass by chance come in between.
  auto passed = h.offer_over(10s, 10'000);
  EXPECT_GE(passed, 199);
  EXPECT_LE(passed, 340);
  // Also if they are of the one user who is shed.
  EXPECT_NEAR(h.offer_over(10s, 10'000, important(-16)), 200, 20);
  EXPECT_GT(h.count("passed_by_minimum"), 100);
}

TEST(shedder_calls, adds_no_minimum_to_what_passes_anyway) {
  auto c = by_cpu();
  c.minimum = 100;
  shedder_rig h{c};
  h.load->value.cpu = 1;
  h.offer_over(10s, 10'000);
  auto before = h.count("passed_by_minimum");
  h.offer_over(5s, 5'000);
  EXPECT_LT(h.count("passed_by_minimum") - before, 10);
}

// -- windows ------------------------------------------------------------------

TEST(shedder_calls,
     moves_the_threshold_after_many_calls_but_not_before_a_sample) {
  auto c = by_cpu();
  c.window_calls = 100;
  shedder_rig h{c};
  h.load->value.cpu = 1;
  h.offer_over(240ms, 200);
  EXPECT_EQ(h.count("tightened"), 0);
  h.offer_over(20ms, 10);
  EXPECT_EQ(h.count("tightened"), 1);
  // Ten windows' worth in a second, and four samples.
  h.offer_over(1s, 1'000);
  EXPECT_EQ(h.count("tightened"), 5);
  // Fewer calls than that in a window.
  h.offer_over(3s, 99);
  EXPECT_EQ(h.count("tightened"), 8);
}

TEST(shedder_calls, comes_back_without_calls) {
  shedder_rig h;
  h.load->value.cpu = 1;
  h.offer_over(20s, 20'000);
  EXPECT_EQ(h.policy.state(), "shedding");
  auto reads = h.load->reads;
  h.advance(10min);
  EXPECT_EQ(h.policy.state(), "passing");
  EXPECT_EQ(h.policy.wakeup(), never);
  EXPECT_GT(h.load->reads, reads);
}

TEST(shedder_calls, reports_when_it_begins_and_ends) {
  shedder_rig h;
  h.load->value.cpu = 0.93;
  h.offer_over(1s, 1'000);
  h.load->value.cpu = 0;
  h.advance(10min);
  EXPECT_EQ(h.e.reports, (event_texts{"state_changed:passing>shedding",
                                      "state_changed:shedding>passing"}));
  EXPECT_EQ(h.e.details, (event_texts{"cpu 93 %", "all calls pass"}));
}

// Of calls with less time than any takes, however many there are.
TEST(shedder_calls, are_not_short_because_their_callers_are_in_a_hurry) {
  detail::call_meter m{1s, 1min};
  auto now = time_point{} + 1h;
  auto call = [&](duration takes, bool cut_off) {
    m.begin(now);
    auto end = now + takes;
    cut_off ? m.time_out(now, end) : m.succeed(now, end);
  };
  for (int i = 0; i < 200; ++i) {
    call(10ms, false);
    now += 10ms;
  }
  m.restart(now);
  for (int i = 0; i < 100; ++i) {
    call(80ms, false);
    call(1ms, true);
    now += 80ms;
  }
  EXPECT_EQ(m.delay(now), 70ms);
  // These had more time, and would have taken even longer.
  m.restart(now);
  for (int i = 0; i < 100; ++i)
    call(30ms, true);
  EXPECT_EQ(m.delay(now), 20ms);
}

// A clock should not do that.
TEST(shedder_calls, survives_a_clock_that_steps_back) {
  auto c = by_cpu();
  c.max_delay = 1ms;
  c.in_flight_factor = 1;
  shedder_rig h{c};
  h.load->value.cpu = 1;
  h.offer_over(2s, 200);
  auto id = h.arrive();
  h.set_clock(1s);
  h.finish(id);
  h.offer_over(5s, 500);
  EXPECT_EQ(h.count("in_flight"), 0);
  EXPECT_GT(h.count("passed"), 300);
}

// -- operation ----------------------------------------------------------------

TEST(shedder_calls, goes_on_with_other_settings) {
  shedder_rig h;
  h.load->value.cpu = 1;
  h.offer_over(10s, 10'000);
  auto before = h.count("threshold");
  EXPECT_GT(before, 0);
  auto c = by_cpu();
  c.minimum = 1'000;
  c.window = 100ms;
  c.sample = 10ms;
  c.history = 5s;
  h.reconfigure(c);
  EXPECT_EQ(h.count("threshold"), before);
  EXPECT_GE(h.offer_over(1s, 900), 890) << "the minimum";
  // Off: comes back.
  c.max_cpu = 0;
  h.reconfigure(c);
  h.offer_over(20s, 2'000);
  EXPECT_EQ(h.policy.state(), "passing");
  auto reads = h.load->reads;
  h.offer_over(1s, 100);
  EXPECT_EQ(h.load->reads, reads);
  c.max_cpu = 0.9;
  h.reconfigure(c);
  h.offer_over(1s, 100);
  EXPECT_GT(h.load->reads, reads);
}

TEST(shedder_calls, is_not_judged_by_what_was_read_before_it_was_off) {
  auto c = by_cpu();
  c.window = c.sample = 1s;
  shedder_rig h{c};
  h.load->value.cpu = 1;
  h.offer_over(5s, 500);
  auto off = c;
  off.max_cpu = 0;
  h.reconfigure(off);
  h.offer_over(30s, 3'000);
  EXPECT_EQ(h.policy.state(), "passing");
  EXPECT_EQ(h.count("cpu_permille"), 0) << "nobody reads it";
  h.load->value.cpu = 0.1;
  h.offer_over(500ms, 50);
  h.reconfigure(c);
  auto before = h.count("tightened");
  h.offer_over(5s, 500);
  EXPECT_EQ(h.count("tightened"), before);
}

TEST(shedder_calls, forgets_on_a_reset) {
  shedder_rig h;
  h.load->value.cpu = 1;
  auto id = h.arrive();
  h.offer_over(10s, 10'000);
  EXPECT_TRUE(h.command(operator_command::reset));
  EXPECT_EQ(h.policy.state(), "passing");
  EXPECT_EQ(h.e.reports.back(), "state_changed:shedding>passing");
  EXPECT_EQ(h.e.details.back(), "reset");
  EXPECT_EQ(h.count("in_flight"), 1);
  for (auto name : enum_names<shedder_counter>::value)
    EXPECT_EQ(h.count(name), 0) << name;
  h.finish(id);
  EXPECT_EQ(h.count("in_flight"), 0);
  EXPECT_FALSE(h.command(operator_command::force_open));
  EXPECT_FALSE(h.command(operator_command::force_closed));
  EXPECT_TRUE(h.command(operator_command::enable));
}

TEST(shedder_calls, has_all_ranges) {
  auto broken = [](auto change) {
    shedder_config c;
    change(c);
    return problems_of(c).size();
  };
  EXPECT_EQ(broken([](auto&) {}), 0u);
  EXPECT_EQ(broken([](auto& c) { c.max_cpu = 1.01; }), 1u);
  EXPECT_EQ(broken([](auto& c) { c.max_memory = -0.01; }), 1u);
  EXPECT_EQ(broken([](auto& c) { c.max_delay = 1h + 1ns; }), 1u);
  EXPECT_EQ(broken([](auto& c) { c.in_flight_factor = 101; }), 1u);
  EXPECT_EQ(broken([](auto& c) { c.sample = 9ms; }), 1u);
  EXPECT_EQ(broken([](auto& c) { c.window = 0ms; }), 1u);
  EXPECT_EQ(broken([](auto& c) { c.window_calls = 0; }), 1u);
  EXPECT_EQ(broken([](auto& c) { c.decrease = 0; }), 1u);
  EXPECT_EQ(broken([](auto& c) { c.increase = 0; }), 1u);
  EXPECT_EQ(broken([](auto& c) { c.minimum = 0; }), 1u);
  EXPECT_EQ(broken([](auto& c) { c.history = 999ms; }), 1u);
  EXPECT_EQ(broken([](auto& c) { c.history = 1min + 1ns; }), 1u);
  EXPECT_EQ(broken([](auto& c) { c.baseline = c.history; }), 0u);
  EXPECT_EQ(broken([](auto& c) { c.baseline = 25h; }), 1u);
  EXPECT_THROW(shedder{shedder_config{.decrease = 1}}, config_error);
}

} // namespace
} // namespace caisson::test
