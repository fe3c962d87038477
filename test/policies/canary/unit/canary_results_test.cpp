// Results: how the two are compared, and what becomes of a call that the canary
// failed.
#include <policies/canary/model/canary_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using namespace canaries;
using strings = std::vector<std::string>;

// -- failures -----------------------------------------------------------------

struct answer_counts {
  // How many answered well, and badly.
  int baseline_good, baseline_bad, canary_good, canary_bad;
  bool goes_back;
};

TEST(canary_results, goes_back_if_the_canary_fails_more_often) {
  const answer_counts table[] = {
    // Above, at and below what is allowed: 0.1.
    {90, 0, 18, 2, false},
    {90, 0, 17, 3, true},
    {80, 20, 14, 6, false},
    {80, 20, 13, 7, true},
    {0, 100, 0, 20, false},
    {50, 50, 20, 0, false},
    // Too few of the canary: nine, and all of them failed.
    {100, 0, 0, 9, false},
    {100, 0, 0, 10, true},
    // Too few of the baseline to be known: it is taken for a good one.
    {0, 9, 8, 2, true},
    {0, 10, 0, 12, false},
    {0, 0, 18, 2, false},
    {0, 0, 17, 3, true},
  };
  for (const auto& x : table) {
    auto c = quick_canary();
    c.max_error_excess = 0.1;
    canary_rig h{c};
    h.baseline_answers(x.baseline_good);
    h.baseline_answers(x.baseline_bad, failed());
    h.canary_answers(x.canary_good);
    h.canary_answers(x.canary_bad, failed());
    EXPECT_EQ(h.state(), x.goes_back ? "rolled_back" : "stage_1")
      << x.baseline_good << " " << x.baseline_bad << " " << x.canary_good << " "
      << x.canary_bad;
  }
}

TEST(canary_results, reports_both_rates) {
  canary_rig h;
  h.baseline_answers(30);
  h.baseline_answers(10, failed());
  h.canary_answers(6);
  h.canary_answers(4, failed());
  EXPECT_EQ(h.changes().back(),
            "stage_1>rolled_back: failure rate 0.400, baseline 0.250");
}

TEST(canary_results, keeps_the_baselines_numbers_for_a_stage_without_any) {
  auto c = quick_canary();
  c.stages = {0.5, 1.0};
  canary_rig h{c};
  h.baseline_answers(60);
  h.baseline_answers(40, failed());
  h.canary_answers(10);
  h.advance(10s);
  ASSERT_EQ(h.state(), "stage_2");
  EXPECT_EQ(h.count("baseline_failure_permille"), 400);
  h.canary_answers(6);
  h.canary_answers(4, failed());
  EXPECT_EQ(h.state(), "stage_2");
  h.canary_answers(1, failed());
  EXPECT_EQ(h.changes().back(),
            "stage_2>rolled_back: failure rate 0.455, baseline 0.400");
}

TEST(canary_results, forgets_the_baseline_with_a_new_start) {
  canary_rig h;
  h.baseline_answers(10, failed());
  h.canary_answers(10, failed());
  EXPECT_EQ(h.state(), "stage_1");
  h.command(operator_command::reset);
  h.to_canary();
  EXPECT_EQ(h.count("baseline_failure_permille"), -1);
  h.canary_answers(10, failed());
  EXPECT_EQ(h.state(), "rolled_back");
}

TEST(canary_results, of_long_ago_do_not_count) {
  auto c = quick_canary();
  c.dwell = unlimited;
  c.window = 20s;
  c.max_error_excess = 0.25;
  canary_rig h{c};
  h.canary_answers(1000);
  h.advance(10s);
  // The second span begins, and the first one still counts.
  h.canary_answers(100, failed());
  EXPECT_EQ(h.state(), "stage_1");
  h.advance(10s);
  // The third one does, and with it the first one is forgotten.
  h.canary_answers(1, failed());
  EXPECT_EQ(h.state(), "rolled_back");
}

TEST(canary_results, count_for_longer_if_they_are_few) {
  auto c = quick_canary();
  c.dwell = unlimited;
  c.window = 1s;
  canary_rig h{c};
  h.to_baseline();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(h.state(), "stage_1") << i;
    h.advance(1h);
    h.canary_answers(1, i % 2 ? failed() : outcome::success());
  }
  EXPECT_EQ(h.state(), "rolled_back");
}

TEST(canary_results, are_judged_by_their_verdict) {
  auto with_class = [](answer_class x) {
    auto o = outcome::success();
    o.ok = x == answer_class::ok;
    o.kind = x;
    return o;
  };
  const std::pair<outcome, std::string> rows[] = {
    {outcome::success(), "succeeded"},
    {outcome::failure(errc::worker_down, false), "failed"},
    {outcome::failure(errc::worker_down, true), "failed"},
    {outcome::failure(errc::deadline_exceeded, true), "failed"},
    {outcome::failure(errc::rate_limited, false), "failed"},
    {outcome::failure(errc::shed, false), "failed"},
    {outcome::failure(errc::draining, false), "failed"},
    {outcome::failure(errc::cancelled, true), "neutral"},
    {outcome::failure(errc::call_loop, false), "neutral"},
    {with_class(answer_class::fail), "failed"},
    {with_class(answer_class::conflict), "failed"},
    {with_class(answer_class::shed), "failed"},
    {with_class(answer_class::ok), "succeeded"},
  };
  for (const auto& [o, meaning] : rows) {
    canary_rig h;
    h.canary_answers(1, o);
    h.baseline_answers(1, o);
    EXPECT_EQ(h.count("canary_" + meaning), 1) << +o.code;
    EXPECT_EQ(h.count("baseline_" + meaning), 1) << +o.code;
  }
}

TEST(canary_results, are_judged_by_lists_if_there_are_some) {
  auto c = quick_canary();
  c.classify.deny = {"shed"};
  canary_rig ignoring{c};
  ignoring.canary_answers(1, outcome::failure(errc::shed, true));
  EXPECT_EQ(ignoring.count("canary_neutral"), 1);
  c.classify = {.allow = {"rate_limited"}};
  canary_rig naming{c};
  naming.canary_answers(1, outcome::failure(errc::rate_limited, true));
  naming.canary_answers(1, outcome::failure(errc::worker_down, true));
  EXPECT_EQ(naming.count("canary_failed"), 1);
  EXPECT_EQ(naming.count("canary_neutral"), 1);
}

TEST(canary_results, are_neutral_where_a_function_throws) {
  auto c = quick_canary();
  c.classify.by_value = [](const outcome&) -> verdict { throw 1; };
  canary_rig h{c};
  h.canary_answers(1);
  EXPECT_EQ(h.count("canary_neutral"), 1);
  EXPECT_EQ(h.e.threw.size(), 1u);
}

// -- latencies ----------------------------------------------------------------

struct pace {
  duration baseline, canary;
  bool goes_back;
};

TEST(canary_results, goes_back_if_the_canary_is_slower) {
  const pace paces[] = {
    {10ms, 10ms, false},
    {10ms, 14ms, false},
    {10ms, 17ms, true},
    {10ms, 100ms, true},
    {100ms, 10ms, false},
    // A multiple, but not long enough to matter.
    {1us, 900us, false},
    {1us, 2ms, true},
    {0ns, 900us, false},
  };
  for (const auto& x : paces) {
    canary_rig h;
    h.baseline_answers(100, outcome::success(), x.baseline);
    h.canary_answers(20, outcome::success(), x.canary);
    EXPECT_EQ(h.state(), x.goes_back ? "rolled_back" : "stage_1")
      << x.baseline.count() << " " << x.canary.count();
  }
}

TEST(canary_results, reports_both_percentiles) {
  canary_rig h;
  h.baseline_answers(100, outcome::success(), 10ms);
  h.canary_answers(10, outcome::success(), 100ms);
  EXPECT_EQ(h.changes().back(), "stage_1>rolled_back: 99th percentile "
                                "96.5 ms, baseline 9.96 ms");
}

TEST(canary_results, allow_one_slow_answer_in_a_hundred) {
  canary_rig h;
  h.baseline_answers(100, outcome::success(), 10ms);
  h.canary_answers(99, outcome::success(), 10ms);
  h.canary_answers(1, outcome::success(), 1s);
  EXPECT_EQ(h.state(), "stage_1");
  h.canary_answers(1, outcome::success(), 1s);
  EXPECT_EQ(h.state(), "rolled_back");
}

TEST(canary_results, that_failed_quickly_say_nothing_of_latency) {
  auto c = quick_canary();
  c.max_error_excess = 1;
  canary_rig h{c};
  h.baseline_answers(100, outcome::success(), 10ms);
  h.canary_answers(20, failed(), 100ms);
  EXPECT_EQ(h.state(), "stage_1");
  EXPECT_EQ(h.count("canary_tail_us"), -1);
  h.canary_answers(10, outcome::failure(errc::deadline_exceeded, true), 100ms);
  EXPECT_EQ(h.state(), "rolled_back");
}

TEST(canary_results, are_compared_with_old_latencies_until_it_is_promoted) {
  auto c = quick_canary();
  c.stages = {0.5, 1.0};
  for (auto promoted : {false, true}) {
    canary_rig h{c};
    h.baseline_answers(100, outcome::success(), 10ms);
    h.canary_answers(10, outcome::success(), 10ms);
    h.advance(10s);
    ASSERT_EQ(h.state(), "stage_2");
    if (promoted) {
      h.canary_answers(10, outcome::success(), 10ms);
      h.advance(10s);
      ASSERT_EQ(h.state(), "promoted");
    }
    EXPECT_NEAR(static_cast<double>(h.count("baseline_tail_us")), 10'000, 625);
    h.canary_answers(10, outcome::success(), 100ms);
    EXPECT_EQ(h.state(), promoted ? "promoted" : "rolled_back");
  }
}

TEST(canary_results, are_judged_before_it_goes_on) {
  auto c = quick_canary();
  c.window = 24h;
  canary_rig h{c};
  h.baseline_answers(1000, outcome::success(), 10ms);
  h.canary_answers(1000, outcome::success(), 10ms);
  // So few that percentiles are not looked at with each of them.
  h.canary_answers(5, outcome::success(), 1s);
  EXPECT_EQ(h.state(), "stage_1");
  h.baseline_answers(100'000, outcome::success(), 1ms);
  h.advance_to(10s);
  EXPECT_EQ(h.state(), "rolled_back");
}

// -- a call that the canary failed --------------------------------------------

struct second_try {
  on_canary_failure setting;
  bool may_have_executed;
  idempotence mark;
  duration left;
  bool passes_below;
};

TEST(canary_results, gives_a_failed_call_to_the_baseline_if_that_is_safe) {
  using enum on_canary_failure;
  using enum idempotence;
  const second_try rows[] = {
    {baseline, false, unmarked, unlimited, true},
    {baseline, false, no, unlimited, true},
    {baseline, true, unmarked, unlimited, false},
    {baseline, true, no, unlimited, false},
    {baseline, true, yes, unlimited, true},
    {baseline, true, yes, 1ns, true},
    {baseline, true, yes, 0ns, false},
    {pass, false, yes, unlimited, false},
  };
  for (const auto& x : rows) {
    auto c = quick_canary();
    c.on_failure = x.setting;
    canary_rig h{c};
    call_info call;
    call.idempotent = x.mark;
    call.deadline = time_after(h.e.now, x.left);
    auto id = h.to_canary(call);
    h.fail(id, errc::worker_down, x.may_have_executed);
    EXPECT_EQ(h.where(id), x.passes_below ? place::below : place::passed);
    EXPECT_EQ(h.count("given_to_baseline"), x.passes_below);
    EXPECT_EQ(h.count("canary_failed"), 1);
    EXPECT_EQ(h.count("with_canary"), 0);
  }
}

TEST(canary_results, tries_the_baseline_once_and_does_not_judge_it_by_that) {
  canary_rig h;
  auto id = h.to_canary(marked(idempotence::yes));
  h.fail(id, errc::worker_down, true);
  ASSERT_EQ(h.where(id), place::below);
  EXPECT_EQ(h.e.reports.back(), "fell_back:>baseline");
  h.fail(id, errc::rate_limited, false);
  EXPECT_EQ(h.where(id), place::passed);
  EXPECT_TRUE(h.calls.at(id).result.is(errc::rate_limited));
  // The canary may have done it.
  EXPECT_TRUE(h.calls.at(id).result.may_have_executed);
  EXPECT_EQ(h.count("baseline_failed"), 0);
  EXPECT_EQ(h.count("canary_failed"), 1);
}

TEST(canary_results, passes_neutral_outcomes_and_successes_up) {
  for (auto o :
       {outcome::success(), outcome::failure(errc::cancelled, false)}) {
    canary_rig h;
    auto id = h.to_canary(marked(idempotence::yes));
    h.finish(id, o);
    EXPECT_EQ(h.where(id), place::passed);
    EXPECT_EQ(h.calls.at(id).descents, 0);
  }
}

TEST(canary_results, helps_out_also_after_the_way_back) {
  auto c = quick_canary();
  c.max_failures_in_a_row = 1;
  canary_rig h{c};
  auto a = h.to_canary();
  auto b = h.to_canary();
  h.fail(a, errc::worker_down, false);
  EXPECT_EQ(h.state(), "rolled_back");
  h.fail(b, errc::worker_down, false);
  EXPECT_EQ(h.where(a), place::below);
  EXPECT_EQ(h.where(b), place::below);
  EXPECT_EQ(h.count("late_results"), 1);
}

// -- calls that are taken away ------------------------------------------------

TEST(canary_results, of_calls_whose_time_is_over_are_failures) {
  canary_rig h;
  h.abandon(h.to_canary());
  h.abandon(h.to_baseline());
  EXPECT_EQ(h.count("canary_failed"), 1);
  EXPECT_EQ(h.count("baseline_failed"), 1);
  EXPECT_EQ(h.count("stage_answers"), 1);
  EXPECT_EQ(h.count("with_canary"), 0);
}

TEST(canary_results, of_cancelled_calls_say_nothing) {
  canary_rig h;
  h.abandon(h.to_canary(), errc::cancelled);
  h.abandon(h.to_baseline(), errc::cancelled);
  EXPECT_EQ(h.count("canary_neutral"), 1);
  EXPECT_EQ(h.count("baseline_neutral"), 1);
  EXPECT_EQ(h.count("stage_answers"), 0);
  EXPECT_EQ(h.count("with_canary"), 0);
}

TEST(canary_results, of_a_call_that_is_with_the_baseline_again_count_once) {
  canary_rig h;
  auto id = h.to_canary();
  h.fail(id, errc::worker_down, false);
  h.abandon(id);
  EXPECT_EQ(h.count("canary_failed"), 1);
  EXPECT_EQ(h.count("baseline_failed"), 0);
  EXPECT_EQ(h.count("with_canary"), 0);
}

TEST(canary_results, catches_a_canary_that_hangs) {
  canary_rig h;
  std::vector<call_id> ids;
  for (int i = 0; i < 10; ++i)
    ids.push_back(h.to_canary());
  h.advance(5s);
  for (auto id : ids)
    h.abandon(id);
  EXPECT_EQ(h.state(), "rolled_back");
}

// -- observing ----------------------------------------------------------------

TEST(canary_results, of_an_observer_are_all_of_the_baseline) {
  auto enforces = false;
  canary_rig h{quick_canary(), {.sends = [&] { return enforces; }}};
  auto id = h.arrive(of_key(h.keys.canary));
  EXPECT_EQ(h.where(id), place::below);
  h.finish(id);
  EXPECT_EQ(h.count("observed"), 1);
  EXPECT_EQ(h.count("to_baseline"), 1);
  EXPECT_EQ(h.count("to_canary"), 0);
  EXPECT_EQ(h.count("baseline_succeeded"), 1);
  EXPECT_EQ(h.state(), "stage_1");
  enforces = true;
  auto sent = h.to_canary();
  enforces = false;
  // Who only looks on holds no call.
  h.fail(sent, errc::worker_down, false);
  EXPECT_EQ(h.where(sent), place::passed);
}

} // namespace
} // namespace caisson::test
