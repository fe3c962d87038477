// Calls that a canary still has when it is given up.
#include <policies/canary/model/canary_rig.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using namespace canaries;

canary_config hands_over(duration after) {
  auto c = quick_canary();
  c.hand_over_after = after;
  return c;
}

void fail_canary(canary_rig& h) {
  h.canary_answers(10, failed());
  ASSERT_EQ(h.state(), "rolled_back");
}

TEST(canary_hand_over, gives_the_baseline_what_may_be_repeated) {
  canary_rig h{hands_over(2s)};
  auto safe = h.to_canary(marked(idempotence::yes));
  auto unsafe = h.to_canary(marked(idempotence::unmarked));
  auto never_safe = h.to_canary(marked(idempotence::no));
  fail_canary(h);
  EXPECT_EQ(h.policy.wakeup(), h.e.now + 2s);
  h.advance(2s - 1ns);
  EXPECT_EQ(h.where(safe), place::redirected);
  h.advance(1ns);
  EXPECT_EQ(h.where(safe), place::below);
  EXPECT_EQ(h.where(unsafe), place::redirected);
  EXPECT_EQ(h.where(never_safe), place::redirected);
  EXPECT_EQ(h.e.reports.back(), "fell_back:>baseline");
  EXPECT_EQ(h.e.details.back(), "handed over");
  EXPECT_EQ(h.count("handed_over"), 1);
  EXPECT_EQ(h.count("given_to_baseline"), 0);
  EXPECT_EQ(h.count("canary_neutral"), 1);
  EXPECT_EQ(h.count("with_canary"), 2);
  EXPECT_EQ(h.policy.wakeup(), never);
  h.finish(unsafe);
  EXPECT_EQ(h.where(unsafe), place::passed);
  EXPECT_EQ(h.count("with_canary"), 1);
}

// Others may have joined a call since its admission.
TEST(canary_hand_over, goes_by_what_calls_are_now) {
  canary_rig h{hands_over(2s)};
  auto no_more = h.to_canary(marked(idempotence::yes));
  auto longer = h.to_canary(marked(idempotence::yes));
  h.calls.at(longer).call.deadline = h.e.now + 1s;
  fail_canary(h);
  h.calls.at(no_more).call.idempotent = idempotence::no;
  h.calls.at(longer).call.deadline = h.e.now + 10s;
  h.advance(2s);
  EXPECT_EQ(h.where(no_more), place::redirected);
  EXPECT_EQ(h.where(longer), place::below);
}

TEST(canary_hand_over, never_hides_that_the_canary_may_have_done_the_work) {
  canary_rig h{hands_over(0s)};
  auto id = h.to_canary(marked(idempotence::yes));
  fail_canary(h);
  h.advance(0s);
  ASSERT_EQ(h.where(id), place::below);
  h.finish(id, outcome::failure(errc::queue_full, false));
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_TRUE(h.calls.at(id).result.may_have_executed);
}

TEST(canary_hand_over, judges_nobody_by_what_comes_of_it) {
  canary_rig h{hands_over(0s)};
  auto fails = h.to_canary(marked(idempotence::yes));
  auto late = h.to_canary(marked(idempotence::yes));
  fail_canary(h);
  h.advance(0s);
  h.fail(fails);
  h.abandon(late);
  EXPECT_EQ(h.count("baseline_failed"), 0);
  EXPECT_EQ(h.count("canary_failed"), 10);
  EXPECT_EQ(h.count("canary_neutral"), 2);
  EXPECT_EQ(h.count("with_canary"), 0);
  EXPECT_EQ(h.count("late_results"), 0);
}

TEST(canary_hand_over, waits_for_the_canary_by_default) {
  canary_rig h;
  auto id = h.to_canary(marked(idempotence::yes));
  fail_canary(h);
  EXPECT_EQ(h.policy.wakeup(), never);
  h.advance(24h);
  EXPECT_EQ(h.where(id), place::redirected);
}

TEST(canary_hand_over, is_of_no_concern_to_calls_that_are_over) {
  canary_rig h{hands_over(2s)};
  auto first = h.to_canary(marked(idempotence::yes));
  auto second = h.to_canary(marked(idempotence::yes));
  fail_canary(h);
  h.finish(first);
  EXPECT_NE(h.policy.wakeup(), never);
  h.abandon(second);
  EXPECT_EQ(h.policy.wakeup(), never);
  EXPECT_EQ(h.count("late_results"), 2);
}

TEST(canary_hand_over, no_longer_times_what_the_baseline_has) {
  auto c = hands_over(1s);
  c.retry_after = 2s;
  c.max_p99 = 9s;
  canary_rig h{c};
  auto id = h.to_canary(marked(idempotence::yes));
  fail_canary(h);
  h.advance(2s);
  ASSERT_EQ(h.where(id), place::below);
  ASSERT_EQ(h.state(), "stage_1");
  // The end of the stage is next.
  EXPECT_EQ(h.policy.wakeup(), h.e.now + 10s);
}

TEST(canary_hand_over, leaves_calls_alone_that_have_no_time_left) {
  canary_rig h{hands_over(2s)};
  auto call = marked(idempotence::yes);
  call.deadline = h.e.now + 2s;
  auto id = h.to_canary(call);
  fail_canary(h);
  h.advance(2s);
  EXPECT_EQ(h.where(id), place::redirected);
  EXPECT_EQ(h.policy.wakeup(), never);
}

TEST(canary_hand_over, does_not_happen_in_a_layer_that_does_not_act) {
  auto acts = true;
  canary_rig h{hands_over(2s), {.sends = [&] { return acts; }}};
  auto id = h.to_canary(marked(idempotence::yes));
  fail_canary(h);
  acts = false;
  h.advance(2s);
  EXPECT_EQ(h.where(id), place::redirected);
  EXPECT_EQ(h.policy.wakeup(), never);
}

TEST(canary_hand_over, has_its_own_time_after_each_way_back) {
  auto c = hands_over(10s);
  c.retry_after = 3s;
  canary_rig h{c};
  auto first = h.to_canary(marked(idempotence::yes));
  fail_canary(h);
  h.advance(4s);
  ASSERT_EQ(h.state(), "stage_1");
  auto second = h.to_canary(marked(idempotence::yes));
  h.canary_answers(10, failed());
  h.advance(3s);
  ASSERT_EQ(h.state(), "stage_1");
  auto third = h.to_canary(marked(idempotence::yes));
  h.advance(3s);
  EXPECT_EQ(h.where(first), place::below);
  EXPECT_EQ(h.where(second), place::redirected);
  h.advance(4s);
  EXPECT_EQ(h.where(second), place::below);
  EXPECT_EQ(h.where(third), place::redirected);
  h.advance(1h);
  EXPECT_EQ(h.where(third), place::redirected);
}

TEST(canary_hand_over, follows_when_the_canary_is_disabled_but_not_a_reset) {
  auto c = hands_over(2s);
  canary_rig h{c};
  auto id = h.to_canary(marked(idempotence::yes));
  h.command(operator_command::reset);
  h.advance(1min);
  EXPECT_EQ(h.where(id), place::redirected);
  h.to_canary();
  c.enabled = false;
  h.reconfigure(c);
  h.advance(2s);
  EXPECT_EQ(h.where(id), place::below);
}

TEST(canary_hand_over, obeys_settings_that_change_while_it_is_due) {
  canary_rig h{hands_over(unlimited)};
  auto id = h.to_canary(marked(idempotence::yes));
  fail_canary(h);
  h.advance(1h);
  h.reconfigure(hands_over(2h));
  h.advance(59min);
  EXPECT_EQ(h.where(id), place::redirected);
  h.reconfigure(hands_over(1s));
  h.advance(0s);
  EXPECT_EQ(h.where(id), place::below);
}

TEST(canary_hand_over, visits_each_of_very_many_calls_once) {
  auto c = hands_over(1s);
  c.retry_after = 1ms;
  c.max_failures_in_a_row = 1;
  c.max_p99 = 1h;
  rig<canary> h{c};
  auto key = canary_rig{c}.keys.canary;
  auto safe = of_key(key);
  safe.idempotent = idempotence::yes;
  constexpr int n = 100'000;
  for (int i = 0; i < n; ++i)
    h.arrive(i % 2 ? safe : of_key(key));
  h.fail(h.arrive(of_key(key)));
  ASSERT_EQ(h.policy.state(), "rolled_back");
  h.e.now += 1s;
  h.policy.wake(h.e);
  EXPECT_EQ(h.count("handed_over"), n / 2);
  // Those that stay are not looked at again, however often it happens.
  for (int i = 0; i < 20'000; ++i) {
    h.fail(h.arrive(of_key(key)));
    h.e.now += 1ms;
    h.policy.wake(h.e);
  }
  EXPECT_EQ(h.count("rollbacks"), 20'001);
  EXPECT_EQ(h.count("with_canary"), n / 2);
}

} // namespace
} // namespace caisson::test
