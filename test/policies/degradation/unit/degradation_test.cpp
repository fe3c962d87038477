#include <caisson/policies/degradation/degradation.hpp>

#include <policies/degradation/model/degradation_model.hpp>
#include <policies/degradation/model/degradation_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace degrading;
using namespace std::chrono_literals;

using strings = std::vector<std::string>;

// -- switching off ------------------------------------------------------------

TEST(degradation, has_all_features_on_while_calls_succeed) {
  degradation_rig h;
  h.steady(5min, true);
  EXPECT_TRUE(h.off().empty());
  EXPECT_EQ(h.policy.state(), "normal");
  EXPECT_EQ(h.count("levels_off"), 0);
  EXPECT_EQ(h.count("level_core"), 1);
  EXPECT_EQ(h.count("succeeded"), 3000);
  EXPECT_TRUE(h.e.reports.empty());
  EXPECT_EQ(h.listener.changes, 0);
}

TEST(degradation, switches_the_lowest_level_off_at_the_next_evaluation) {
  degradation_rig h;
  h.good(19);
  h.bad(1);
  h.advance(999ms);
  h.bad(1); // 19 of 21 is less than 95 %.
  EXPECT_TRUE(h.off().empty());
  h.advance(1ms);
  EXPECT_EQ(h.off(), strings{"extras"});
  EXPECT_EQ(h.policy.state(), "degraded");
  EXPECT_EQ(h.count("levels_off"), 1);
  EXPECT_EQ(h.count("level_extras"), 0);
  EXPECT_EQ(h.count("switched_off"), 1);
  EXPECT_EQ(h.e.reports, strings{"state_changed:on>off"});
  EXPECT_EQ(h.e.details, strings{"extras: success"});
  EXPECT_EQ(h.listener.changes, 1);
}

TEST(degradation, the_share_itself_is_enough) {
  degradation_rig h;
  h.good(19);
  h.bad(1);
  h.advance(10s);
  EXPECT_TRUE(h.off().empty());
}

TEST(degradation, needs_enough_calls) {
  degradation_rig h;
  h.bad(9);
  h.advance(10s);
  EXPECT_TRUE(h.off().empty());
  h.bad(1);
  h.advance(1s);
  EXPECT_EQ(h.off(), strings{"extras"});
}

TEST(degradation, forgets_what_is_older_than_the_window) {
  degradation_rig h;
  h.bad(9);
  h.advance(1min);
  h.bad(9);
  h.advance(1min);
  EXPECT_TRUE(h.off().empty());
}

TEST(degradation, switches_off_when_calls_are_slow) {
  degradation_rig h;
  h.calls_of(760ms, 20);
  h.advance(1s);
  EXPECT_TRUE(h.off().empty());
  h.calls_of(900ms, 1); // One of 21 is more than a hundredth.
  h.advance(1s);
  EXPECT_EQ(h.off(), strings{"extras"});
  EXPECT_EQ(h.e.details, strings{"extras: latency"});
}

TEST(degradation, goes_on_upwards_when_a_switch_did_not_help) {
  degradation_rig h;
  h.steady(1s, false);
  EXPECT_EQ(h.off(), strings{"extras"});
  h.steady(9900ms, false);
  EXPECT_EQ(h.off(), strings{"extras"}); // Has patience.
  h.steady(1100ms, false);
  EXPECT_EQ(h.off(), (strings{"checks", "extras"}));
  h.steady(11s, false);
  EXPECT_EQ(h.off(), (strings{"checks", "core", "extras"}));
  h.steady(5min, false);
  EXPECT_EQ(h.count("switched_off"), 3);
}

TEST(degradation, calls_from_before_a_switch_say_nothing_of_it) {
  degradation_rig h;
  auto old = h.arrive_together(100);
  h.bad(10);
  h.advance(1s);
  EXPECT_EQ(h.off(), strings{"extras"});
  for (auto id : old)
    h.fail(id);
  h.advance(20s);
  EXPECT_EQ(h.off(), strings{"extras"});
  EXPECT_EQ(h.count("outdated"), 100);
  EXPECT_EQ(h.count("failed"), 110);
}

TEST(degradation, a_call_of_the_instant_of_the_switch_counts) {
  degradation_rig h;
  h.bad(10);
  h.advance(1s);
  h.bad(10);
  EXPECT_EQ(h.count("outdated"), 0);
}

// -- switching on -------------------------------------------------------------

TEST(degradation, switches_on_again_when_all_has_been_well_for_a_while) {
  degradation_rig h;
  h.steady(1s, false);
  ASSERT_EQ(h.off(), strings{"extras"});
  h.steady(29900ms, true);
  EXPECT_EQ(h.off(), strings{"extras"});
  h.steady(200ms, true);
  EXPECT_TRUE(h.off().empty());
  EXPECT_EQ(h.e.details.back(), "extras: recovered");
  EXPECT_EQ(h.count("switched_on"), 1);
}

TEST(degradation, better_than_the_rule_is_not_well_yet) {
  degradation_rig h;
  h.steady(1s, false);
  // 4 % fail: fewer than 5 %, but more than half of that.
  for (int i = 0; i < 100; ++i) {
    h.good(24);
    h.bad(1);
    h.advance(1s);
  }
  EXPECT_EQ(h.off(), strings{"extras"});
  // 2 %.
  for (int i = 0; i < 100; ++i) {
    h.good(49);
    h.bad(1);
    h.advance(1s);
  }
  EXPECT_TRUE(h.off().empty());
}

TEST(degradation, faster_than_the_rule_is_not_well_yet) {
  degradation_rig h;
  h.calls_of(900ms, 20);
  h.advance(1s);
  ASSERT_EQ(h.off(), strings{"extras"});
  for (int i = 0; i < 60; ++i)
    h.calls_of(700ms, 20);
  EXPECT_EQ(h.off(), strings{"extras"});
  for (int i = 0; i < 200; ++i)
    h.calls_of(500ms, 20);
  EXPECT_TRUE(h.off().empty());
}

TEST(degradation, comes_back_from_the_top_one_at_a_time) {
  degradation_rig h;
  h.steady(25s, false);
  ASSERT_EQ(h.off().size(), 3u);
  strings order;
  for (int i = 0; i < 3000; ++i) {
    h.good(1);
    h.advance(100ms);
    if (auto n = h.e.details.size(); n > 3 && order.size() < n - 3)
      order.push_back(h.e.details.back());
  }
  EXPECT_EQ(order, (strings{"core: recovered", "checks: recovered",
                            "extras: recovered"}));
}

TEST(degradation, comes_back_without_any_traffic) {
  degradation_rig h;
  h.steady(25s, false);
  ASSERT_EQ(h.off().size(), 3u);
  h.advance(5min);
  EXPECT_TRUE(h.off().empty());
  EXPECT_TRUE(h.policy.wakeup() == never);
}

TEST(degradation, a_relapse_starts_the_wait_anew) {
  degradation_rig h;
  h.steady(1s, false);
  h.steady(29s, true);
  h.bad(12);           // 4 %
  h.steady(18s, true); // 12 of 481 are well, and start the wait.
  EXPECT_EQ(h.off(), strings{"extras"});
  h.steady(28s, true);
  EXPECT_EQ(h.off(), strings{"extras"});
  h.steady(4s, true);
  EXPECT_TRUE(h.off().empty());
}

TEST(degradation, does_not_wait_to_switch_off_again_what_was_too_much) {
  degradation_rig h;
  h.steady(1s, false);
  h.steady(31s, true);
  ASSERT_TRUE(h.off().empty());
  h.steady(2s, false);
  EXPECT_EQ(h.off(), strings{"extras"});
}

TEST(degradation, tries_less_often_while_it_relapses) {
  auto c = quick_degradation();
  c.recover_after_max = 100s;
  degradation_rig h{c};
  std::vector<duration> waits;
  auto since = h.now();
  // With the extras everything fails, without them nothing does.
  for (auto was = h.off().empty(); waits.size() < 4; h.advance(100ms)) {
    h.off().empty() ? h.bad(1) : h.good(1);
    auto is = h.off().empty();
    if (is != was && is)
      waits.push_back(h.now() - since);
    if (is != was)
      since = h.now();
    was = is;
  }
  EXPECT_EQ(waits, (std::vector<duration>{30s, 60s, 100s, 100s}));
  // Once it has gone well for long enough, the first wait is back.
  h.steady(102s, true); // The loop's last call failed.
  ASSERT_TRUE(h.off().empty());
  h.steady(110s, true);
  h.steady(2min, false);
  ASSERT_EQ(h.off().size(), 3u);
  h.steady(100s, true); // The window's minute comes first.
  EXPECT_LT(h.off().size(), 3u);
}

// However many levels go off, it is one.
TEST(degradation, a_relapse_of_several_levels_doubles_the_wait_once) {
  degradation_rig h;
  auto until = [&](std::size_t off, bool good) {
    auto since = h.now();
    for (; h.off().size() != off; h.advance(100ms))
      good ? h.good(1) : h.bad(1);
    return h.now() - since;
  };
  until(1, false);
  until(0, true);
  until(3, false);
  auto took = until(2, true);
  EXPECT_GE(took, 59s);
  EXPECT_LE(took, 61s);
}

// -- the tree -----------------------------------------------------------------

TEST(degradation, a_level_is_off_while_one_above_it_is) {
  degradation_rig h{tree()};
  h.good(15);
  h.bad(5);
  h.advance(1s);
  EXPECT_EQ(h.off(), (strings{"ads", "b"}));
  h.advance(10s);
  h.good(15);
  h.bad(5);
  h.advance(1s);
  // The rule of `search` holds, but it goes with its parent.
  EXPECT_EQ(h.off(), (strings{"a", "ads", "b", "search", "shop"}));
  h.advance(30s);
  EXPECT_EQ(h.off(), (strings{"ads", "b"}));
  h.advance(30s);
  EXPECT_TRUE(h.off().empty());
}

TEST(degradation, trees_side_by_side_have_rules_of_their_own) {
  degradation_rig h{tree()};
  h.calls_of(200ms, 20);
  h.advance(1s);
  EXPECT_EQ(h.off(), strings{"video"});
  h.advance(10s);
  h.bad(20);
  h.advance(1s);
  EXPECT_EQ(h.off(), (strings{"ads", "b", "video"}));
}

// -- features held by the operator --------------------------------------------

TEST(degradation, an_operator_switches_levels) {
  degradation_rig h{tree()};
  auto c = tree();
  c.held_off = {"shop"};
  c.held_on = {"search"};
  h.reconfigure(c);
  EXPECT_EQ(h.off(), (strings{"a", "ads", "b", "search", "shop"}));
  EXPECT_EQ(h.listener.changes, 1);
  h.steady(10min, true);
  EXPECT_EQ(h.off().size(), 5u);
  c.held_off = {};
  c.held_on = {"shop", "search"};
  h.reconfigure(c);
  EXPECT_TRUE(h.off().empty());
  h.steady(1min, false);
  EXPECT_EQ(h.off(), (strings{"ads", "b"})); // The others are held on.
}

TEST(degradation, after_an_operator_the_rule_starts_with_on) {
  degradation_rig h{tree()};
  h.steady(1s, false);
  ASSERT_EQ(h.off(), (strings{"ads", "b"}));
  auto c = tree();
  c.held_off = {"ads"};
  h.reconfigure(c);
  EXPECT_EQ(h.off(), (strings{"ads", "b"}));
  h.reconfigure(tree());
  EXPECT_TRUE(h.off().empty());
}

TEST(degradation, reset_switches_on_what_no_operator_holds_off) {
  auto c = tree();
  c.held_off = {"video"};
  degradation_rig h{c};
  h.steady(1s, false);
  ASSERT_EQ(h.off(), (strings{"ads", "b", "video"}));
  h.command(operator_command::reset);
  EXPECT_EQ(h.off(), strings{"video"});
  h.advance(1h);
  EXPECT_EQ(h.count("switched_off"), 0);
}

RC_GTEST_PROP(degradation_property, does_as_its_model_does, ()) {
  check_against_model<degradation_model>();
}

} // namespace
} // namespace caisson::test
