#include <policies/throttle/model/throttle_model.hpp>
#include <policies/throttle/model/throttle_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test::throttling {
namespace {

using event_texts = std::vector<std::string>;

// -- the formula --------------------------------------------------------------

TEST(throttle, lets_all_calls_pass_while_they_are_accepted) {
  throttle_rig h;
  h.end_together(50, 50);
  EXPECT_EQ(h.where(h.arrive()), place::below);
  EXPECT_EQ(h.count("passed"), 101);
  EXPECT_EQ(h.count("accepted"), 50);
  EXPECT_EQ(h.count("not_accepted"), 50);
  EXPECT_EQ(h.policy.state(), "passing");
  EXPECT_TRUE(h.e.reports.empty());
  // Nothing was drawn.
  EXPECT_EQ(h.random.bits(), random_source{7}.bits());
}

struct formula_row {
  double multiplier;
  int accepted;
  int refused;
  double max_rejection;
  double expected;
};

TEST(throttle, follows_the_formula) {
  const formula_row rows[] = {
    {2, 0, 0, 1, 0},
    {2, 10, 0, 1, 0},
    {2, 10, 10, 1, 0},
    {2, 10, 11, 1, 1.0 / 22},
    {2, 0, 1, 1, 0.5},
    {2, 0, 4, 1, 0.8},
    {2, 0, 9, 1, 0.9},
    {2, 0, 9, 0.8, 0.8},
    {2, 0, 9, 0, 0},
    {2, 10, 90, 1, 80.0 / 101},
    {1, 10, 0, 1, 0},
    {1, 10, 1, 1, 1.0 / 12},
    {1.5, 10, 10, 1, 5.0 / 21},
    {100, 1, 99, 1, 0},
    {100, 1, 100, 1, 1.0 / 102},
  };
  for (const auto& row : rows) {
    auto c = bare();
    c.pass_after = 1s;
    c.multiplier = row.multiplier;
    c.max_rejection = row.max_rejection;
    throttle_rig h{c};
    h.end_together(row.accepted, row.refused);
    EXPECT_DOUBLE_EQ(h.policy.rejection(), row.expected)
      << row.accepted << " " << row.refused;
    EXPECT_EQ(h.count("requests"), row.accepted + row.refused);
    EXPECT_EQ(h.count("accepts"), row.accepted);
    EXPECT_EQ(h.count("rejection_permille"),
              static_cast<std::int64_t>(row.expected * 1000));
  }
}

TEST(throttle, rejects_with_an_error_of_its_own) {
  throttle_rig h;
  h.end_together(0, 10'000);
  auto id = h.arrive();
  EXPECT_EQ(h.where(id), place::rejected);
  EXPECT_EQ(h.calls.at(id).code, errc::throttled);
  EXPECT_EQ(h.calls.at(id).retry_after, duration::zero());
  EXPECT_EQ(h.count("rejected"), 1);
  EXPECT_EQ(h.e.reports, (event_texts{"state_changed:passing>throttling",
                                      "rejected:>throttled"}));
  EXPECT_EQ(h.e.details, (event_texts{"0 of 10001 calls accepted", ""}));
}

TEST(throttle, counts_what_it_rejects_as_requests) {
  throttle_rig h;
  h.end_together(1'000, 9'000);
  std::int64_t rejected = 0;
  for (int i = 0; i < 100; ++i)
    rejected += h.where(h.arrive()) == place::rejected ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(rejected), 80, 15);
  EXPECT_EQ(h.count("requests"), 10'000 + rejected);
  EXPECT_EQ(h.count("accepts"), 1'000);
}

TEST(throttle, does_not_hold_calls_in_flight_against_the_worker) {
  throttle_rig h;
  for (int i = 0; i < 1'000; ++i)
    h.arrive();
  EXPECT_EQ(h.count("requests"), 0);
  EXPECT_EQ(h.count("passed"), 1'000);
}

// Each call draws one number, and only while some are rejected.
TEST(throttle, draws_from_the_source_of_its_host) {
  throttle_rig h;
  random_source same{7};
  h.end_together(10, 90);
  for (int i = 0; i < 200; ++i) {
    auto p = h.policy.rejection();
    auto id = h.arrive();
    EXPECT_EQ(h.where(id), same.uniform() < p ? place::rejected : place::below);
  }
}

// -- the window ---------------------------------------------------------------

TEST(throttle, forgets_what_has_left_the_window) {
  auto c = bare();
  c.window = 24s;
  throttle_rig h{c};
  h.advance(500ms);
  h.end_together(3, 2);
  h.advance_to(1s);
  h.end_together(7, 0);
  const std::vector<std::pair<duration, int>> rows{
    {24s - 1ns, 12}, {24s, 7}, {25s - 1ns, 7}, {25s, 0}};
  for (auto [at, requests] : rows) {
    h.advance_to(at);
    h.arrive();
    EXPECT_EQ(h.count("requests"), requests) << to_text(at);
  }
}

TEST(throttle, counts_a_call_from_when_it_ends) {
  auto c = bare();
  c.window = 24s;
  throttle_rig h{c};
  auto id = h.arrive();
  h.advance_to(1h);
  h.finish(id);
  EXPECT_EQ(h.count("accepts"), 1);
}

TEST(throttle, keeps_its_counts_when_the_window_changes) {
  auto c = bare();
  throttle_rig h{c};
  h.end_together(4, 4);
  h.advance_to(60s);
  h.end_together(5, 1);
  EXPECT_EQ(h.count("requests"), 14);
  c.multiplier = 3;
  h.reconfigure(c);
  EXPECT_EQ(h.count("requests"), 14);
  c.window = 24s;
  h.reconfigure(c);
  EXPECT_EQ(h.count("requests"), 6);
  EXPECT_EQ(h.count("accepts"), 5);
  c.window = 24h;
  h.reconfigure(c);
  EXPECT_EQ(h.count("requests"), 6);
}

// -- what passes in any case --------------------------------------------------

TEST(throttle, always_lets_a_few_calls_a_second_pass) {
  auto c = bare();
  c.min_rate = 5;
  throttle_rig h{c};
  h.end_together(0, 20'000);
  auto passing = [&](int n) {
    auto before = h.count("passed_by_rate");
    for (int i = 0; i < n; ++i)
      h.calls.erase(h.arrive());
    return h.count("passed_by_rate") - before;
  };
  EXPECT_EQ(passing(20), 5);
  h.advance(200ms - 1ns);
  EXPECT_EQ(passing(1), 0);
  h.advance(1ns);
  EXPECT_EQ(passing(2), 1);
  h.advance(1s);
  EXPECT_EQ(passing(20), 5);
  // No more than those of one second are saved up.
  h.advance(1min);
  EXPECT_EQ(passing(20), 5);
  EXPECT_EQ(h.count("forced"), 0);
}

// With a share of 0.8 that is rejected, twenty of a hundred pass by chance.
TEST(throttle, adds_none_to_a_rate_that_is_above_the_least) {
  auto c = bare();
  c.min_rate = 5;
  c.max_rejection = 0.8;
  throttle_rig h{c};
  h.end_together(0, 10'000);
  h.advance(1s);
  auto before = h.count("passed");
  for (int i = 0; i < 100'000; ++i) {
    h.advance(10ms);
    h.calls.erase(h.arrive());
  }
  auto passed = static_cast<double>(h.count("passed") - before);
  auto promised = static_cast<double>(h.count("passed_by_rate"));
  EXPECT_NEAR(passed / 100'000, 0.2, 0.01);
  // After each call that passes the next 19 must all be unlucky, and the one
  // after them, too: 0.2 * 0.8^20 = 0.0023 of the calls.
  EXPECT_NEAR(promised / 100'000, 0.0023, 0.001);
}

TEST(throttle, with_little_traffic_never_rejects) {
  throttle_config c;
  c.max_rejection = 1;
  throttle_rig h{c};
  for (int i = 0; i < 3'000; ++i) {
    EXPECT_TRUE(
      h.offer({}, [] { return outcome::failure(errc::shed, false); }));
    h.advance(200ms);
  }
  EXPECT_EQ(h.count("rejected"), 0);
}

TEST(throttle, lets_a_call_pass_after_a_time_without_one) {
  auto c = bare();
  c.pass_after = 1s;
  throttle_rig h{c};
  h.end_together(0, 20'000);
  const std::vector<std::pair<duration, bool>> rows{
    {100ms, false},    {1s - 1ns, false}, {1s, true},  {1s + 1ns, false},
    {2s - 1ns, false}, {3500ms, true},    {4s, false}, {4500ms, true},
  };
  for (auto [at, passes] : rows) {
    h.advance_to(at);
    EXPECT_EQ(h.where(h.arrive()), passes ? place::below : place::rejected)
      << to_text(at);
  }
  EXPECT_EQ(h.count("forced"), 3);
}

TEST(throttle, lets_none_pass_for_that_reason_if_the_time_is_unlimited) {
  throttle_rig h;
  h.end_together(0, 20'000);
  h.advance(100s);
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
  h.command(operator_command::reset);
  EXPECT_EQ(h.where(h.arrive()), place::below);
}

TEST(throttle, can_promise_another_rate_at_once) {
  auto c = bare();
  c.min_rate = 1;
  throttle_rig h{c};
  h.end_together(0, 20'000);
  EXPECT_EQ(h.where(h.arrive()), place::below);
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
  c.min_rate = 1'000;
  h.reconfigure(c);
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
  h.advance(1ms);
  EXPECT_EQ(h.where(h.arrive()), place::below);
  c.min_rate = 0;
  h.reconfigure(c);
  h.advance(1s);
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
}

// -- state --------------------------------------------------------------------

TEST(throttle, reports_when_it_begins_and_when_it_has_ended) {
  auto c = bare();
  c.window = 24s;
  throttle_rig h{c};
  EXPECT_EQ(h.policy.wakeup(), never);
  h.end_together(0, 20'000);
  h.arrive();
  EXPECT_EQ(h.policy.state(), "throttling");
  EXPECT_EQ(h.policy.wakeup(), h.e.now + 1s);
  h.advance(600ms);
  h.arrive();
  h.advance(1s - 1ns);
  EXPECT_EQ(h.policy.state(), "throttling");
  EXPECT_EQ(h.e.reports.size(), 3u);
  h.advance(1ns);
  EXPECT_EQ(h.policy.state(), "passing");
  EXPECT_EQ(h.e.reports.back(), "state_changed:throttling>passing");
  EXPECT_EQ(h.e.details.back(), "no call rejected");
  EXPECT_EQ(h.policy.wakeup(), never);
  h.arrive();
  EXPECT_EQ(h.policy.state(), "throttling");
}

TEST(throttle, starts_anew_after_a_reset) {
  auto c = bare();
  c.min_rate = 1;
  throttle_rig h{c};
  h.end_together(5, 20'000);
  h.arrive();
  h.arrive();
  EXPECT_EQ(h.policy.state(), "throttling");
  EXPECT_TRUE(h.command(operator_command::reset));
  EXPECT_EQ(h.e.reports.back(), "state_changed:throttling>passing");
  EXPECT_EQ(h.e.details.back(), "reset");
  EXPECT_EQ(h.policy.wakeup(), never);
  for (auto name : {"requests", "accepts", "rejected", "passed"})
    EXPECT_EQ(h.count(name), 0) << name;
  h.end_together(0, 20'000);
  // The promise is whole again.
  EXPECT_EQ(h.where(h.arrive()), place::below);
  EXPECT_EQ(h.where(h.arrive()), place::rejected);
  EXPECT_FALSE(h.command(operator_command::force_open));
}

TEST(throttle, is_idle_when_no_refusal_is_in_the_window) {
  auto c = bare();
  c.window = 24s;
  throttle_rig h{c};
  EXPECT_TRUE(h.policy.is_idle(h.e.now));
  h.end_together(9, 0);
  EXPECT_TRUE(h.policy.is_idle(h.e.now));
  h.end_together(0, 1);
  EXPECT_FALSE(h.policy.is_idle(h.e.now));
  EXPECT_FALSE(h.policy.is_idle(h.e.now + 24s - 1ns));
  EXPECT_TRUE(h.policy.is_idle(h.e.now + 24s));
}

TEST(throttle, is_not_idle_as_long_as_it_rejects) {
  auto c = bare();
  c.window = 24s;
  throttle_rig h{c};
  h.end_together(0, 20'000);
  h.advance(10s);
  h.arrive();
  EXPECT_FALSE(h.policy.is_idle(h.e.now + 24s - 1ns));
  h.advance(25s);
  EXPECT_TRUE(h.policy.is_idle(h.e.now));
}

// -- settings -----------------------------------------------------------------

std::string first_problem(const throttle_config& c) {
  auto found = problems_of(c);
  return found.empty() ? "" : found.front().message;
}

TEST(throttle, rejects_at_the_end_of_the_clock) {
  throttle_rig h;
  h.e.now = time_point::max() - 1ms;
  h.end_together(0, 100);
  for (int i = 0; i < 20; ++i)
    h.arrive();
  EXPECT_GT(h.count("rejected"), 0);
  EXPECT_EQ(h.policy.state(), "throttling");
}

TEST(throttle, refuses_to_lock_itself_out) {
  auto c = bare();
  EXPECT_EQ(first_problem(c), "");
  c.max_rejection = 1;
  EXPECT_NE(first_problem(c).find("hardly any call"), std::string::npos);
  EXPECT_THROW(throttle{c}, config_error);
  c.min_rate = 1;
  EXPECT_EQ(first_problem(c), "");
  c.min_rate = 0;
  c.pass_after = 1h;
  EXPECT_EQ(first_problem(c), "");
}

TEST(throttle, refuses_values_out_of_range) {
  std::vector<throttle_config> all(5);
  all[0].window = 1s - 1ns;
  all[1].multiplier = 0.99;
  all[2].max_rejection = 1.1;
  all[3].pass_after = 0s;
  all[4].classify.allow = {"no such error"};
  for (const auto& c : all)
    EXPECT_THROW(throttle{c}, config_error);
}

RC_GTEST_PROP(throttle_property, does_as_its_model_does, ()) {
  check_against_model<throttle_model>();
}

} // namespace
} // namespace caisson::test::throttling
