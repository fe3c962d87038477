// Stages: who goes where, when the canary goes on, and when back.
#include <policies/canary/model/canary_model.hpp>
#include <policies/canary/model/canary_rig.hpp>
#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using namespace canaries;
using strings = std::vector<std::string>;

// -- configuration ------------------------------------------------------------

strings problems_with_stages(std::vector<canary_stage> stages) {
  auto c = quick_canary();
  c.stages = std::move(stages);
  return kinds_and_keys(problems_of(c));
}

TEST(canary, refuses_stages_that_do_not_grow) {
  auto nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(problems_with_stages({0.01, 0.05, 0.3, 1.0}), strings{});
  EXPECT_EQ(problems_with_stages({0.000001}), strings{});
  EXPECT_EQ(problems_with_stages({}), strings{"range stages"});
  EXPECT_EQ(problems_with_stages(std::vector<canary_stage>(21, 1.0)),
            (strings{"range stages", "relation stages[1]"}));
  EXPECT_EQ(problems_with_stages({0}), strings{"range stages[0]"});
  EXPECT_EQ(problems_with_stages({0.5, 1.1}), strings{"range stages[1]"});
  EXPECT_EQ(problems_with_stages({nan}), strings{"range stages[0]"});
  EXPECT_EQ(problems_with_stages({0.5, 0.5}), strings{"relation stages[1]"});
  EXPECT_EQ(problems_with_stages({0.1, 0.5, 0.2}),
            strings{"relation stages[2]"});
}

TEST(canary, has_up_to_twenty_stages) {
  std::vector<canary_stage> stages;
  for (int i = 1; i <= 20; ++i)
    stages.push_back(i / 20.0);
  EXPECT_EQ(problems_with_stages(stages), strings{});
  EXPECT_EQ(name_of_stage(0), "stage_1");
  EXPECT_EQ(name_of_stage(19), "stage_20");
}

// What `stages` becomes, or what is wrong with it.
std::string read_stages(const std::string& text) {
  canary_config c;
  auto found = read_settings(settings_from_text({{"stages", text}}), {}, c);
  if (!found.empty())
    return kind_and_key(found.front());
  for (const auto& row : rows_of(c))
    if (row.key == "stages")
      return row.value;
  return {};
}

TEST(canary, reads_its_stages_from_text) {
  EXPECT_EQ(read_stages("0.1, 0.5"), "[0.1, 0.5]");
  EXPECT_EQ(read_stages("[0.001,1]"), "[0.001, 1]");
  EXPECT_EQ(read_stages("1"), "[1]");
  EXPECT_EQ(read_stages(""), "range stages");
  EXPECT_EQ(read_stages("half"), "type stages[0]");
  EXPECT_EQ(read_stages("0.1, -1"), "range stages[1]");
  EXPECT_EQ(read_stages("0.5, 0.1"), "relation stages");
}

// -- choice -------------------------------------------------------------------

TEST(canary, waits_for_the_first_call) {
  canary_rig h;
  EXPECT_EQ(h.state(), "waiting");
  h.advance(1h);
  EXPECT_EQ(h.state(), "waiting");
  h.to_baseline();
  EXPECT_EQ(h.state(), "stage_1");
  EXPECT_EQ(h.changes(), strings{"waiting>stage_1: first call"});
  EXPECT_EQ(h.policy.wakeup(), h.e.now + 10s);
}

TEST(canary, gets_nothing_while_it_is_disabled_or_not_there) {
  auto c = quick_canary();
  c.stages = {1.0};
  c.enabled = false;
  for (auto present : {true, false}) {
    canary_rig h{present ? c : quick_canary(), canary_host{.present = present}};
    auto id = h.arrive(of_key(h.keys.canary));
    EXPECT_EQ(h.where(id), place::below);
    h.finish(id);
    EXPECT_EQ(h.state(), "waiting");
    EXPECT_EQ(h.count("to_baseline"), 1);
    EXPECT_EQ(h.count("to_canary"), 0);
    EXPECT_EQ(h.count("baseline_succeeded"), 1);
  }
}

TEST(canary, gets_its_share_at_random) {
  for (auto share : {0.01, 0.3, 0.9}) {
    auto c = quick_canary();
    c.sticky = false;
    c.stages = {share};
    rig<canary> h{c};
    constexpr int n = 20'000;
    for (int i = 0; i < n; ++i)
      h.finish(h.arrive(of_key("the same")));
    auto expected = n * share;
    auto deviation = std::sqrt(n * share * (1 - share));
    EXPECT_NEAR(static_cast<double>(h.count("to_canary")), expected,
                4 * deviation);
    EXPECT_EQ(h.count("to_canary") + h.count("to_baseline"), n);
    EXPECT_EQ(h.count("canary_succeeded"), h.count("to_canary"));
  }
}

TEST(canary, gets_all_calls_at_a_share_of_one) {
  auto c = quick_canary();
  c.stages = {1.0};
  c.sticky = false;
  rig<canary> h{c};
  for (int i = 0; i < 100; ++i)
    h.arrive();
  EXPECT_EQ(h.count("to_canary"), 100);
  EXPECT_EQ(h.count("with_canary"), 100);
  EXPECT_EQ(h.count("share_ppm"), 1'000'000);
}

// Which of the keys 0 to 999 go to the canary at that share.
std::vector<bool> sticky_keys(double share, const std::string& name) {
  auto c = quick_canary();
  c.name = name;
  c.stages = {share};
  rig<canary> h{c};
  std::vector<bool> out;
  for (int i = 0; i < 1000; ++i) {
    auto go = [&] {
      return h.where(h.arrive(of_key(std::to_string(i)))) == place::redirected;
    };
    out.push_back(go());
    EXPECT_EQ(go(), out.back()) << i;
  }
  return out;
}

TEST(canary, keeps_a_sticky_key_through_all_later_stages) {
  std::vector<bool> before(1000);
  for (auto share : {0.01, 0.05, 0.3, 0.31, 1.0}) {
    auto now = sticky_keys(share, "a");
    auto n = std::count(now.begin(), now.end(), true);
    EXPECT_NEAR(static_cast<double>(n), 1000 * share, 50);
    for (std::size_t i = 0; i < now.size(); ++i)
      EXPECT_TRUE(now[i] || !before[i]) << i;
    before = now;
  }
}

TEST(canary, adds_keys_from_stage_to_stage) {
  canary_rig h;
  std::vector<bool> before(300);
  for (int stage = 0; stage < 3; ++stage) {
    for (std::size_t i = 0; i < before.size(); ++i) {
      auto id = h.arrive(of_key(std::to_string(i)));
      auto goes = h.where(id) == place::redirected;
      EXPECT_TRUE(goes || !before[i]) << "stage " << stage << ", key " << i;
      before[i] = goes;
      h.finish(id);
    }
    h.canary_answers(10);
    h.advance(10s);
  }
  EXPECT_EQ(h.state(), "promoted");
}

TEST(canary, begins_with_other_keys_under_another_name) {
  EXPECT_NE(sticky_keys(0.3, "a"), sticky_keys(0.3, "b"));
}

TEST(canary, draws_for_calls_without_a_key_although_it_is_sticky) {
  auto c = quick_canary();
  c.stages = {0.5};
  rig<canary> h{c};
  for (int i = 0; i < 1000; ++i)
    h.arrive();
  EXPECT_NEAR(static_cast<double>(h.count("to_canary")), 500, 80);
}

// -- on -----------------------------------------------------------------------

TEST(canary, goes_on_at_the_end_of_the_time_if_it_has_answered) {
  canary_rig h;
  h.canary_answers(10);
  h.advance_to(10s - 1ns);
  EXPECT_EQ(h.state(), "stage_1");
  h.advance_to(10s);
  EXPECT_EQ(h.state(), "stage_2");
  EXPECT_EQ(h.count("went_on"), 1);
  EXPECT_EQ(h.count("share_ppm"), 500'000);
  EXPECT_EQ(h.count("stage"), 2);
}

TEST(canary, goes_on_with_the_answer_that_was_missing) {
  canary_rig h;
  h.canary_answers(9);
  h.advance_to(20s);
  EXPECT_EQ(h.state(), "stage_1");
  EXPECT_EQ(h.policy.wakeup(), never);
  h.canary_answers(1);
  EXPECT_EQ(h.state(), "stage_2");
  EXPECT_EQ(h.policy.wakeup(), h.e.now + 10s);
}

TEST(canary, neither_goes_on_by_neutral_answers_nor_by_those_of_the_baseline) {
  canary_rig h;
  h.baseline_answers(100);
  h.canary_answers(9);
  h.canary_answers(20, outcome::failure(errc::cancelled, true));
  h.advance_to(10s);
  EXPECT_EQ(h.state(), "stage_1");
  EXPECT_EQ(h.count("canary_neutral"), 20);
  EXPECT_EQ(h.count("stage_answers"), 9);
}

TEST(canary, is_promoted_after_its_last_stage) {
  canary_rig h;
  for (int i = 0; i < 3; ++i) {
    h.baseline_answers(10);
    h.canary_answers(10);
    h.advance(10s);
  }
  EXPECT_EQ(h.changes(), (strings{
                           "waiting>stage_1: first call",
                           "stage_1>stage_2: as good as the baseline",
                           "stage_2>stage_3: as good as the baseline",
                           "stage_3>promoted: as good as the baseline",
                         }));
  EXPECT_EQ(h.count("went_on"), 2);
  EXPECT_EQ(h.count("promotions"), 1);
  EXPECT_EQ(h.count("stage"), 0);
  EXPECT_EQ(h.count("state"), 2);
  EXPECT_EQ(h.policy.wakeup(), never);
  EXPECT_EQ(h.policy.share(), 1);
}

TEST(canary, keeps_the_share_of_its_last_stage) {
  auto c = quick_canary();
  c.stages = {0.1, 0.5};
  canary_rig h{c};
  for (int i = 0; i < 2; ++i) {
    h.canary_answers(10);
    h.advance(10s);
  }
  EXPECT_EQ(h.state(), "promoted");
  EXPECT_EQ(h.policy.share(), 0.5);
  h.to_baseline();
}

TEST(canary, stays_in_a_stage_without_an_end) {
  auto c = quick_canary();
  c.dwell = unlimited;
  canary_rig h{c};
  h.canary_answers(100);
  h.advance(24h * 365);
  EXPECT_EQ(h.state(), "stage_1");
  EXPECT_EQ(h.policy.wakeup(), never);
}

// -- back and again -----------------------------------------------------------

TEST(canary, goes_back_at_so_many_failures_in_a_row) {
  auto c = quick_canary();
  c.max_failures_in_a_row = 3;
  c.max_error_excess = 1;
  canary_rig h{c};
  h.canary_answers(2, failed());
  h.canary_answers(1);
  h.canary_answers(1, outcome::failure(errc::cancelled, true));
  h.canary_answers(2, failed());
  EXPECT_EQ(h.state(), "stage_1");
  EXPECT_EQ(h.count("failures_in_a_row"), 2);
  h.canary_answers(1, failed());
  EXPECT_EQ(h.state(), "rolled_back");
  EXPECT_EQ(h.count("rollbacks"), 1);
  EXPECT_EQ(h.changes().back(), "stage_1>rolled_back: 3 failures in a row");
  EXPECT_EQ(h.count("share_ppm"), 0);
}

TEST(canary, is_not_blamed_for_a_row_of_bad_requests) {
  auto c = quick_canary();
  c.max_failures_in_a_row = 3;
  c.min_calls = 100;
  for (auto kind : {answer_class::fail, answer_class::conflict}) {
    canary_rig h{c};
    auto blaming = outcome::success();
    blaming.ok = false;
    blaming.kind = kind;
    h.canary_answers(2, failed());
    h.canary_answers(90, blaming);
    h.canary_answers(2, failed());
    EXPECT_EQ(h.state(), "stage_1");
    h.canary_answers(1, failed());
    EXPECT_EQ(h.state(), "rolled_back");
  }
}

TEST(canary, can_be_configured_to_tolerate_any_number_in_a_row) {
  auto c = quick_canary();
  c.max_error_excess = 1;
  canary_rig h{c};
  h.canary_answers(1000, failed());
  EXPECT_EQ(h.state(), "stage_1");
}

TEST(canary, gets_nothing_after_the_way_back) {
  canary_rig h;
  h.canary_answers(10, failed());
  EXPECT_EQ(h.state(), "rolled_back");
  EXPECT_EQ(h.policy.wakeup(), never);
  h.advance(24h);
  EXPECT_EQ(h.where(h.arrive(of_key(h.keys.canary))), place::below);
  EXPECT_EQ(h.state(), "rolled_back");
}

TEST(canary, is_not_judged_by_what_comes_after_the_way_back) {
  canary_rig h;
  auto slow = h.to_canary();
  h.canary_answers(10, failed());
  ASSERT_EQ(h.state(), "rolled_back");
  EXPECT_TRUE(h.command(operator_command::enable));
  h.to_canary();
  EXPECT_EQ(h.state(), "stage_1");
  h.fail(slow);
  EXPECT_EQ(h.count("late_results"), 1);
  EXPECT_EQ(h.count("stage_answers"), 0);
  EXPECT_EQ(h.count("canary_failed"), 11);
}

TEST(canary, tries_again_when_an_operator_says_so) {
  for (auto what : {operator_command::enable, operator_command::reset}) {
    canary_rig h;
    h.canary_answers(10, failed());
    EXPECT_TRUE(h.command(what));
    EXPECT_EQ(h.state(), "waiting");
    h.to_canary();
    EXPECT_EQ(h.state(), "stage_1");
    EXPECT_EQ(h.count("rollbacks"), what == operator_command::enable);
  }
}

TEST(canary, is_not_disturbed_by_enable_while_it_is_judged) {
  canary_rig h;
  h.canary_answers(10);
  h.advance(10s);
  EXPECT_TRUE(h.command(operator_command::enable));
  EXPECT_EQ(h.state(), "stage_2");
  EXPECT_TRUE(h.command(operator_command::reset));
  EXPECT_EQ(h.state(), "waiting");
  EXPECT_EQ(h.count("went_on"), 0);
}

TEST(canary, knows_no_forced_state) {
  canary_rig h;
  EXPECT_FALSE(h.command(operator_command::force_open));
  EXPECT_FALSE(h.command(operator_command::force_closed));
}

TEST(canary, tries_again_by_itself_after_a_while) {
  auto c = quick_canary();
  c.retry_after = 1min;
  canary_rig h{c};
  h.canary_answers(10, failed());
  h.advance_to(1min - 1ns);
  EXPECT_EQ(h.state(), "rolled_back");
  h.advance_to(1min);
  EXPECT_EQ(h.state(), "stage_1");
  EXPECT_EQ(h.changes().back(), "rolled_back>stage_1: retry_after over");
  h.to_canary();
}

TEST(canary, that_is_promoted_goes_back_if_it_becomes_ill) {
  auto c = quick_canary();
  c.max_failures_in_a_row = 3;
  canary_rig h{c};
  for (int i = 0; i < 3; ++i) {
    h.canary_answers(10);
    h.advance(10s);
  }
  ASSERT_EQ(h.state(), "promoted");
  h.canary_answers(3, failed());
  EXPECT_EQ(h.state(), "rolled_back");
}

// -- change -------------------------------------------------------------------

struct change {
  std::vector<canary_stage> stages;
  std::string state;
  double share;
};

TEST(canary, stays_near_its_share_when_the_stages_change) {
  const change changes[] = {
    {{0.1, 0.5, 1.0}, "stage_2", 0.5}, {{0.2, 0.4, 0.6}, "stage_2", 0.4},
    {{0.1, 0.5, 0.6}, "stage_2", 0.5}, {{0.5, 1.0}, "stage_1", 0.5},
    {{0.6, 0.7}, "stage_1", 0.6},      {{0.1}, "stage_1", 0.1},
    {{0.1, 0.2, 0.3}, "stage_3", 0.3},
  };
  for (const auto& x : changes) {
    canary_rig h;
    h.canary_answers(10);
    h.advance(10s);
    h.canary_answers(4);
    auto c = quick_canary();
    c.stages = x.stages;
    h.reconfigure(c);
    EXPECT_EQ(h.state(), x.state);
    EXPECT_EQ(h.policy.share(), x.share);
    // Only other stages begin anew.
    EXPECT_EQ(h.count("stage_answers"),
              x.stages == quick_canary().stages ? 4 : 0);
  }
}

TEST(canary, that_is_promoted_stays_so_if_the_last_share_does) {
  auto promoted = [] {
    auto h = std::make_unique<canary_rig>();
    for (int i = 0; i < 3; ++i) {
      h->canary_answers(10);
      h->advance(10s);
    }
    EXPECT_EQ(h->state(), "promoted");
    return h;
  };
  auto c = quick_canary();
  c.stages = {0.3, 1.0};
  auto h = promoted();
  h->reconfigure(c);
  EXPECT_EQ(h->state(), "promoted");
  c.stages = {0.3, 0.6};
  h->reconfigure(c);
  EXPECT_EQ(h->state(), "stage_2");
  EXPECT_EQ(h->policy.share(), 0.6);
}

TEST(canary, waits_while_it_is_disabled) {
  canary_rig h;
  auto canary_call = h.to_canary();
  auto c = quick_canary();
  c.enabled = false;
  h.reconfigure(c);
  EXPECT_EQ(h.changes().back(), "stage_1>waiting: disabled");
  EXPECT_EQ(h.where(h.arrive(of_key(h.keys.canary))), place::below);
  h.finish(canary_call);
  EXPECT_EQ(h.where(canary_call), place::passed);
  EXPECT_EQ(h.count("with_canary"), 0);
  EXPECT_EQ(h.count("late_results"), 1);
  h.reconfigure(quick_canary());
  EXPECT_EQ(h.state(), "waiting");
  h.to_canary();
  EXPECT_EQ(h.state(), "stage_1");
}

TEST(canary, goes_on_at_once_if_new_settings_want_no_more) {
  canary_rig h;
  h.canary_answers(5);
  h.advance(5s);
  auto c = quick_canary();
  c.min_calls = 5;
  h.reconfigure(c);
  EXPECT_EQ(h.state(), "stage_1");
  c.dwell = 5s;
  h.reconfigure(c);
  EXPECT_EQ(h.state(), "stage_2");
}

TEST(canary, goes_on_under_the_old_settings_if_it_was_due) {
  canary_rig h;
  h.canary_answers(10);
  h.set_clock(10s);
  auto c = quick_canary();
  c.dwell = 1h;
  h.reconfigure(c);
  EXPECT_EQ(h.state(), "stage_2");
  EXPECT_EQ(h.policy.wakeup(), h.e.now + 1h);
}

RC_GTEST_PROP(canary, does_as_its_model_does, ()) {
  check_against_model<canary_model>();
}

} // namespace
} // namespace caisson::test
