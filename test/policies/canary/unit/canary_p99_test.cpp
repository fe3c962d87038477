// The longest 99th percentile that a canary may have.
#include <policies/canary/model/canary_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using namespace canaries;

canary_config quick_p99() {
  auto c = quick_canary();
  c.dwell = unlimited;
  c.max_latency_ratio = 1000;
  c.max_p99 = 800ms;
  return c;
}

TEST(canary_p99, goes_back_if_more_than_one_in_a_hundred_takes_longer) {
  struct {
    int in_time, late;
    std::string state;
  } const table[] = {
    {99, 1, "stage_1"},      {98, 2, "rolled_back"}, {198, 2, "stage_1"},
    {197, 3, "rolled_back"}, {8, 1, "stage_1"}, // Nine are too few.
    {9, 1, "rolled_back"},
  };
  for (const auto& x : table) {
    canary_rig h{quick_p99()};
    // What the baseline takes does not matter.
    h.baseline_answers(20, outcome::success(), 5s);
    h.canary_answers(x.in_time, outcome::success(), 800ms);
    h.canary_answers(x.late, outcome::success(), 800ms + 1ns);
    EXPECT_EQ(h.state(), x.state) << x.in_time << " " << x.late;
  }
}

TEST(canary_p99, says_how_many_took_longer) {
  canary_rig h{quick_p99()};
  h.canary_answers(18, outcome::success(), 1ms);
  EXPECT_EQ(h.count("canary_slow_permille"), 0);
  h.canary_answers(1, outcome::success(), 1s);
  EXPECT_EQ(h.changes().back(), "stage_1>rolled_back: 99th percentile above "
                                "800 ms: 1 of 19 calls took longer");
  EXPECT_EQ(canary_rig{}.count("canary_slow_permille"), -1);
}

TEST(canary_p99, counts_calls_in_progress_again_under_another_limit) {
  for (auto next : {300ms, 500ms, 2'000ms}) {
    canary_rig h{quick_p99()};
    for (int i = 0; i < 10; ++i)
      h.to_canary();
    // Not with so few calls that are timed.
    auto c = quick_p99();
    c.min_calls = 1'000;
    h.reconfigure(c);
    h.advance(1s);
    ASSERT_EQ(h.state(), "stage_1");
    c = quick_p99();
    c.max_p99 = next;
    h.reconfigure(c);
    h.advance(0s);
    EXPECT_EQ(h.state() == "stage_1", next > 1s) << to_text(next);
    h.advance(1s + 1ns);
    EXPECT_EQ(h.state(), "rolled_back") << to_text(next);
  }
}

TEST(canary_p99, counts_calls_in_progress_as_soon_as_they_take_longer) {
  canary_rig h{quick_p99()};
  for (int i = 0; i < 10; ++i)
    h.to_canary();
  EXPECT_EQ(h.policy.wakeup(), h.e.now + 800ms + 1ns);
  h.advance(800ms);
  EXPECT_EQ(h.state(), "stage_1");
  h.advance(1ns);
  EXPECT_EQ(h.changes().back(), "stage_1>rolled_back: 99th percentile above "
                                "800 ms: 10 of 10 calls took longer");
  EXPECT_EQ(h.policy.wakeup(), never);
}

TEST(canary_p99, counts_each_call_once) {
  canary_rig h{quick_p99()};
  auto slow = h.to_canary();
  h.advance(1s);
  h.finish(slow);
  h.canary_answers(8);
  EXPECT_EQ(h.state(), "stage_1");
  h.canary_answers(1);
  EXPECT_EQ(h.changes().back(), "stage_1>rolled_back: 99th percentile above "
                                "800 ms: 1 of 10 calls took longer");
}

TEST(canary_p99, counts_calls_that_ran_out_of_time_as_longer) {
  auto c = quick_p99();
  c.max_error_excess = 1;
  canary_rig h{c};
  h.canary_answers(9);
  h.abandon(h.to_canary(), errc::deadline_exceeded);
  EXPECT_EQ(h.state(), "rolled_back");
  canary_rig other{c};
  other.canary_answers(9);
  other.canary_answers(1, outcome::failure(errc::deadline_exceeded, true));
  EXPECT_EQ(other.state(), "rolled_back");
}

TEST(canary_p99, learns_nothing_from_calls_that_fail_or_are_cancelled_soon) {
  auto c = quick_p99();
  c.max_error_excess = 1;
  canary_rig h{c};
  h.canary_answers(100, failed(), 700ms);
  for (int i = 0; i < 100; ++i)
    h.abandon(h.to_canary(), errc::cancelled);
  EXPECT_EQ(h.count("canary_slow_permille"), -1);
  h.canary_answers(9);
  EXPECT_EQ(h.count("canary_slow_permille"), -1);
  // One that is cancelled later took longer, whatever it would have become.
  auto late = h.to_canary();
  h.set_clock(h.now() + 801ms);
  h.abandon(late, errc::cancelled);
  EXPECT_EQ(h.state(), "rolled_back");
}

TEST(canary_p99, does_not_count_calls_of_an_earlier_start) {
  canary_rig h{quick_p99()};
  for (int i = 0; i < 10; ++i)
    h.to_canary();
  h.command(operator_command::reset);
  h.canary_answers(1);
  h.advance(1s);
  EXPECT_EQ(h.state(), "stage_1");
  EXPECT_EQ(h.policy.wakeup(), never);
}

TEST(canary_p99, may_be_another_in_each_stage) {
  auto c = quick_p99();
  c.dwell = 1s;
  c.stages = {{0.1, {.max_p99 = unlimited}}, {1.0, {.max_p99 = 2s}}};
  canary_rig h{c};
  h.canary_answers(10, outcome::success(), 3s);
  ASSERT_EQ(h.state(), "stage_2");
  for (int i = 0; i < 10; ++i)
    h.to_canary();
  h.advance(2s);
  EXPECT_EQ(h.state(), "stage_2");
  h.advance(1ns);
  EXPECT_EQ(h.state(), "rolled_back");
}

TEST(canary_p99, counts_from_the_change_on_if_it_changes) {
  auto c = quick_p99();
  canary_rig h{c};
  h.canary_answers(9, outcome::success(), 1s);
  auto waiting = h.to_canary();
  h.advance(500ms);
  c.max_p99 = 400ms;
  h.reconfigure(c);
  // The one in progress takes longer already.
  EXPECT_EQ(h.policy.wakeup(), h.e.now - 100ms + 1ns);
  h.advance(0s);
  EXPECT_EQ(h.policy.wakeup(), never);
  h.canary_answers(8);
  EXPECT_EQ(h.state(), "stage_1");
  c.min_calls = 11;
  h.reconfigure(c);
  h.canary_answers(1);
  EXPECT_EQ(h.state(), "stage_1");
  EXPECT_EQ(h.where(waiting), place::redirected);
  h.canary_answers(1);
  EXPECT_EQ(h.state(), "rolled_back");
}

TEST(canary_p99, keeps_a_stage_that_is_due_from_ending) {
  auto c = quick_p99();
  c.dwell = 800ms + 1ns;
  canary_rig h{c};
  h.canary_answers(10);
  h.to_canary();
  h.advance(1s);
  EXPECT_EQ(h.state(), "rolled_back");
}

} // namespace
} // namespace caisson::test
