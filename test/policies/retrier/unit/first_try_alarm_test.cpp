#include <caisson/policies/retrier/first_try_alarm.hpp>

#include <policies/retrier/model/retrier_rig.hpp>
#include <support/times.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace retrying;
using namespace std::chrono_literals;

using strings = std::vector<std::string>;

// Adds `n` calls, of which some succeed at once and some in the end.
void add(detail::first_try_alarm& a, int n, int at_once, int in_the_end,
         time_point now) {
  for (int i = 0; i < n; ++i) {
    a.add_first(i < at_once, now);
    a.add_call(i < in_the_end, now);
  }
}

TEST(first_try_alarm, is_raised_when_retries_hide_failures) {
  struct row {
    int calls;
    int at_once;
    int in_the_end;
    bool raised;
  };
  for (auto& x : std::vector<row>{{100, 79, 100, true},
                                  {100, 80, 100, false},
                                  {99, 0, 99, false},
                                  {100, 0, 80, true},
                                  {100, 0, 79, false},
                                  {100, 100, 100, false}}) {
    detail::first_try_alarm a{{}};
    add(a, x.calls, x.at_once, x.in_the_end, start);
    EXPECT_EQ(a.update(start), x.raised) << x.at_once << " " << x.in_the_end;
    EXPECT_EQ(a.raised(), x.raised);
    EXPECT_FALSE(a.update(start)) << "once";
  }
}

TEST(first_try_alarm, is_cleared_half_way_up) {
  detail::first_try_alarm a{{}};
  add(a, 100, 0, 100, start);
  EXPECT_TRUE(a.update(start));
  // 899 of 1000, then 900 of 1000.
  add(a, 899, 899, 899, start);
  a.add_first(false, start);
  EXPECT_FALSE(a.update(start));
  detail::first_try_alarm b{{}};
  add(b, 100, 0, 100, start);
  EXPECT_TRUE(b.update(start));
  add(b, 900, 900, 900, start);
  EXPECT_TRUE(b.update(start));
  EXPECT_FALSE(b.raised());
}

TEST(first_try_alarm, stays_while_calls_fail_too) {
  detail::first_try_alarm a{{}};
  add(a, 100, 50, 100, start);
  EXPECT_TRUE(a.update(start));
  add(a, 1'000, 500, 500, start);
  EXPECT_FALSE(a.update(start));
  EXPECT_TRUE(a.raised());
}

TEST(first_try_alarm, forgets_what_is_older_than_its_window) {
  detail::first_try_alarm a{{}};
  EXPECT_EQ(a.wakeup(), never);
  add(a, 60, 0, 60, start);
  add(a, 40, 0, 40, start + 5s);
  EXPECT_TRUE(a.update(start + 5s));
  auto at = a.wakeup();
  EXPECT_EQ(at, start + 6s);
  // Fewer than half of the minimum are left when the 60 are gone.
  EXPECT_FALSE(a.update(start + 10s - 1ns));
  EXPECT_TRUE(a.update(start + 10s));
  EXPECT_FALSE(a.raised());
  EXPECT_EQ(a.wakeup(), never);
}

TEST(first_try_alarm, can_be_switched_off) {
  detail::first_try_alarm a{{.first_try = 0}};
  add(a, 1'000, 0, 1'000, start);
  EXPECT_FALSE(a.update(start));
  a.change({}, start);
  EXPECT_FALSE(a.update(start)) << "it has not counted";
  add(a, 100, 0, 100, start);
  EXPECT_TRUE(a.update(start));
  a.change({.first_try = 0}, start);
  EXPECT_TRUE(a.update(start));
  EXPECT_FALSE(a.raised());
}

// -- in a retrier -------------------------------------------------------------

retrier_config watched() {
  auto c = simple_retrier();
  c.alarm_minimum_calls = 10;
  return c;
}

void recovers(retrier_rig& h) {
  auto id = h.arrive();
  backoff_after(h, id);
  h.finish(id);
}

TEST(retrier_alarm, reports_once_and_counts) {
  retrier_rig h{watched()};
  for (int i = 0; i < 30; ++i)
    recovers(h);
  EXPECT_EQ(h.count("alarm"), 1);
  EXPECT_EQ(h.count("alarms"), 1);
  std::erase(h.e.reports, "retried:>");
  EXPECT_EQ(h.e.reports, strings{"state_changed:quiet>alarm"});
  h.advance(20s);
  EXPECT_EQ(h.count("alarm"), 0);
  EXPECT_EQ(h.e.reports, (strings{"state_changed:quiet>alarm",
                                  "state_changed:alarm>quiet"}));
  EXPECT_EQ(h.policy.wakeup(), never);
}

TEST(retrier_alarm, counts_each_try_apart) {
  retrier_rig h{watched()};
  h.finish(h.arrive());
  recovers(h);
  auto id = h.arrive();
  for (int i = 0; i < 4; ++i)
    backoff_after(h, id);
  h.finish(id);
  // Says nothing about the worker.
  h.fail(h.arrive(), errc::shed);
  const std::pair<std::string, int> expected[] = {
    {"first_try_ok", 1},      {"first_try_failed", 2}, {"second_try_ok", 1},
    {"second_try_failed", 1}, {"later_try_ok", 1},     {"later_try_failed", 2}};
  for (auto& [name, n] : expected)
    EXPECT_EQ(h.count(name), n) << name;
}

TEST(retrier_alarm, a_first_try_that_is_cut_off_has_failed) {
  retrier_rig h{watched()};
  h.abandon(h.arrive());
  h.abandon(h.arrive(), errc::cancelled);
  EXPECT_EQ(h.count("first_try_failed"), 1);
  auto id = h.arrive();
  h.fail(id);
  h.abandon(id);
  EXPECT_EQ(h.count("first_try_failed"), 2) << "not twice";
}

TEST(retrier_alarm, goes_with_a_reset_and_with_its_setting) {
  for (bool by_setting : {false, true}) {
    retrier_rig h{watched()};
    for (int i = 0; i < 10; ++i)
      recovers(h);
    EXPECT_EQ(h.count("alarm"), 1);
    auto c = watched();
    c.alarm_first_try = 0;
    if (by_setting)
      h.reconfigure(c);
    else
      h.command(operator_command::reset);
    EXPECT_EQ(h.count("alarm"), 0);
    EXPECT_EQ(h.e.reports.back(), "state_changed:alarm>quiet");
  }
}

} // namespace
} // namespace caisson::test
