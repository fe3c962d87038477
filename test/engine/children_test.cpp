// The rules on child calls in policy.hpp, one by one.
#include <support/holding.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using children = holding;

// -- the way of a child -------------------------------------------------------

TEST_F(children, go_down_from_the_layer_and_their_reply_is_the_parents) {
  auto& w = start();
  w.call("x");
  start_child();
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0"}));
  w.answer(0, "y");
  EXPECT_EQ(w.take(), (lines{"0s call 0 = y"}));
  EXPECT_EQ(b.take(), (lines{"admit", "complete ok"}));
  EXPECT_EQ(a.take(), (lines{"admit", "child ok", "complete ok"}));
  EXPECT_EQ(w.metric("succeeded"), 1);
  EXPECT_EQ(w.metric("attempts"), 1);
}

TEST_F(children, go_to_a_target_of_the_layer_past_layers_below) {
  auto& w = start();
  w.call("x");
  start_child({.target = 1});
  EXPECT_EQ(w.take(), (lines{"0s target 2 <- x #0"}));
  w.answer(0, "y");
  EXPECT_EQ(w.answer_to(0), "y");
  EXPECT_TRUE(b.take().empty());
}

TEST_F(children, each_parent_gets_the_reply) {
  auto& w = start();
  w.call("x");
  w.call("y");
  w.call("z");
  start_child();
  w.answer(0, "r");
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0", "0s call 0 = r",
                             "0s call 1 = r", "0s call 2 = r"}));
}

TEST_F(children, each_parent_gets_its_part_of_a_reply_that_is_split) {
  auto& w = start();
  w.call("x");
  w.call("y");
  w.call("z");
  outer.on_content = [](auto, auto items, auto&) {
    return caf::make_message(batch{std::move(items)});
  };
  outer.on_split = [](caf::message&, std::size_t n, env&) {
    EXPECT_EQ(n, 3u);
    return std::optional{puppet_layer::messages{text("1"), failure()}};
  };
  start_child();
  w.answer(0, "r");
  EXPECT_EQ(w.take(), (lines{"0s worker <- [x y z] #0", "0s call 0 = 1",
                             "0s call 1 = failed",
                             "0s call 2 = batch_failed by outer, executed"}));
}

TEST_F(children, a_parent_that_has_left_still_has_its_part) {
  auto& w = start();
  w.call("x");
  w.call("y", {.time_left = 1ms});
  w.call("z");
  outer.on_split = [](auto&, auto, auto&) {
    return std::optional{
      puppet_layer::messages{text("1"), text("2"), text("3")}};
  };
  start_child();
  w.at(1ms);
  w.answer(0, "r");
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0",
                             "1ms call 1 = deadline_exceeded by gate, executed",
                             "1ms call 0 = 1", "1ms call 2 = 3"}));
}

TEST_F(children, an_error_is_not_split) {
  auto& w = start();
  w.call("x");
  w.call("y");
  outer.on_split = [](auto&, auto, auto&) {
    ADD_FAILURE();
    return std::nullopt;
  };
  start_child();
  w.fail(0);
  EXPECT_EQ(w.answer_to(0), "failed");
  EXPECT_EQ(w.answer_to(1), "failed");
}

TEST_F(children, a_rejection_from_below_names_its_layer) {
  auto& w = start();
  b.on_admit = [](auto&, auto&, auto&) {
    return decision::reject(errc::breaker_open, 3ms);
  };
  w.call("x");
  start_child();
  EXPECT_EQ(w.answer_to(0), "breaker_open by inner, after 3ms");
  EXPECT_EQ(a.take(), (lines{"admit", "child breaker_open, after 3ms",
                             "complete breaker_open, after 3ms"}));
}

TEST_F(children, the_policy_can_reject_or_keep_the_parents) {
  auto& w = start();
  w.call("x");
  a.on_child = [](auto, auto&, auto&) {
    return decision::reject(errc::shed, 2ms);
  };
  start_child();
  w.answer(0, "y");
  EXPECT_EQ(w.answer_to(0), "shed by outer, executed, after 2ms");
  a.on_child = [](auto, auto&, auto&) { return decision::hold(); };
  held.clear();
  w.call("x");
  start_child();
  w.answer(1, "y");
  EXPECT_EQ(w.metric("held"), 1);
  let([this](env& e) { e.resume(held[0]); });
  w.answer(2, "z");
  EXPECT_EQ(w.answer_to(1), "z");
}

TEST_F(children, a_target_that_is_down_or_dies_is_an_error) {
  auto& w = start();
  w.call("x");
  start_child({.target = 0});
  w.kill(1);
  EXPECT_EQ(w.answer_to(0), "worker_down by outer, executed");
  held.clear();
  w.call("y");
  start_child({.target = 0});
  EXPECT_EQ(w.answer_to(1), "worker_down by outer");
  EXPECT_EQ(w.metric("worker_losses"), 0);
}

TEST_F(children, an_attempt_that_bounces_is_an_error) {
  auto& w = start();
  w.call("x");
  start_child({.target = 0});
  w.kill_silently(1);
  w.bounce(0);
  EXPECT_EQ(w.answer_to(0), "worker_down by outer, executed");
}

// -- parents ------------------------------------------------------------------

TEST_F(children, parents_that_are_not_held_are_left_out) {
  auto& w = start();
  w.call("x");
  w.call("y");
  w.call("z");
  let([this](env& e) { e.reject(held[1], errc::shed); });
  outer.on_content = [](auto, auto items, auto&) {
    return caf::make_message(batch{std::move(items)});
  };
  auto parents = held;
  parents.push_back(held[0]); // Twice.
  parents.push_back(4711);
  start_child({.parents = parents});
  w.answer(0, "r");
  EXPECT_EQ(w.take(),
            (lines{"0s call 1 = shed by outer", "0s worker <- [x z] #0",
                   "0s call 0 = r", "0s call 2 = r"}));
}

TEST_F(children, without_any_parent_left_it_ends_at_once) {
  auto& w = start();
  w.call("x");
  let([this](env& e) {
    e.reject(held[0], errc::shed);
    e.start_child({.parents = held});
  });
  EXPECT_EQ(w.take(), (lines{"0s call 0 = shed by outer"}));
  EXPECT_EQ(a.take(), (lines{"admit", "child cancelled"}));
}

TEST_F(children, a_parent_that_has_expired_is_left_out) {
  auto& w = start();
  w.call("x", {.time_left = 5ms});
  w.call("y", {.time_left = 50ms});
  a.wake_at = engine_world::origin() + 2ms;
  a.on_wake = [this](env& e) { e.start_child({.parents = held}); };
  outer.on_content = [](auto, auto items, auto&) {
    return caf::make_message(batch{std::move(items)});
  };
  w.jump(20ms);
  w.wake();
  EXPECT_EQ(w.take(), (lines{"20ms call 0 = deadline_exceeded by gate",
                             "20ms worker <- [y] #0"}));
  w.answer(0, "r");
}

TEST_F(children, the_last_parent_that_leaves_ends_it) {
  auto& w = start({.worker = {.takes_cancelled = true}});
  w.call("x");
  w.call("y");
  start_child();
  w.cancel(1, 1);
  EXPECT_EQ(w.metric("in_flight"), 1);
  w.cancel(1, 2);
  EXPECT_EQ(
    w.take(),
    (lines{"0s worker <- x #0", "0s call 0 = cancelled by gate, executed",
           "0s #0 cancelled", "0s call 1 = cancelled by gate, executed"}));
  EXPECT_EQ(a.take(),
            (lines{"admit", "admit", "abandon cancelled, executed, in flight",
                   "abandon cancelled, executed, in flight",
                   "child cancelled, executed"}));
  EXPECT_EQ(b.take(),
            (lines{"admit", "abandon cancelled, executed, in flight"}));
  w.answer(0, "late");
  EXPECT_EQ(w.metric("late_results"), 1);
}

TEST_F(children, a_parent_can_be_resumed_or_answered_meanwhile) {
  outer.values = {"value"};
  auto& w = start();
  w.call("x");
  w.call("y");
  start_child({.target = 0});
  let([this](env& e) {
    e.resume(held[0]);
    e.answer(held[1], 0);
  });
  EXPECT_EQ(w.take(), (lines{"0s target 1 <- x #0", "0s worker <- x #1",
                             "0s #0 cancelled", "0s call 1 = value"}));
  w.answer(1, "z");
  EXPECT_EQ(w.answer_to(0), "z");
}

TEST_F(children, the_hold_of_a_parent_can_end_before_its_child) {
  auto& w = start();
  a.on_admit = [](call_info& c, auto&, env& e) {
    e.start_child({.parents = {c.id}, .target = 0});
    return decision::hold(time_after(e.now, 5ms));
  };
  a.on_expire = [](auto&, auto&, auto&) {
    return decision::reject(errc::wait_timeout);
  };
  w.call("x");
  w.at(5ms);
  EXPECT_EQ(w.take(), (lines{"0s target 1 <- x #0", "5ms #0 cancelled",
                             "5ms call 0 = wait_timeout by outer, executed"}));
}

// -- joining and cancelling ---------------------------------------------------

TEST_F(children, a_call_that_joins_gets_the_reply_too) {
  auto& w = start();
  w.call("x");
  auto child = start_child();
  w.call("y");
  let([&](env& e) { e.join_child(child, held[1]); });
  w.answer(0, "r");
  EXPECT_EQ(w.take(),
            (lines{"0s worker <- x #0", "0s call 0 = r", "0s call 1 = r"}));
}

TEST_F(children, a_call_that_joins_an_ended_child_stays_held) {
  auto& w = start();
  w.call("x");
  auto child = start_child();
  w.answer(0, "r");
  w.call("y", {.time_left = 5ms});
  let([&](env& e) {
    e.join_child(child, held[1]);
    e.join_child(4711, held[1]);
    e.join_child(held[1], held[1]);
  });
  EXPECT_EQ(w.metric("held"), 1);
  w.at(5ms);
  EXPECT_EQ(w.answer_to(1), "deadline_exceeded by gate");
}

TEST_F(children, joining_twice_is_joining_once) {
  auto& w = start();
  w.call("x");
  w.call("y");
  auto child = start_child({.parents = {held[0]}});
  let([&](env& e) {
    e.join_child(child, held[1]);
    e.join_child(child, held[1]);
    e.join_child(child, held[0]);
  });
  w.cancel(1, 1);
  EXPECT_EQ(w.metric("in_flight"), 1);
  w.cancel(1, 2);
  EXPECT_EQ(w.metric("in_flight"), 0);
}

TEST_F(children, a_layer_cannot_join_the_children_of_another) {
  call_id child = 0;
  call_id last = 0;
  b.on_admit = [&](call_info& c, auto&, auto&) {
    last = c.id;
    return decision::hold();
  };
  b.on_command = [&](auto, env& e) {
    e.join_child(child, last);
    return true;
  };
  auto& w = start();
  w.call("x");
  child = start_child();
  a.on_admit = [](auto&, auto&, auto&) { return decision::pass(); };
  w.call("y", {.time_left = 5ms});
  ASSERT_NE(last, child);
  w.command(operator_command::reset, "inner");
  w.at(5ms);
  // As a parent it would leave its content to the child.
  EXPECT_EQ(w.answer_to(1), "deadline_exceeded by gate");
  w.cancel(1, 1);
}

TEST_F(children, a_layer_cannot_touch_the_children_of_another) {
  call_id child = 0;
  b.on_admit = [](auto&, auto&, auto&) { return decision::hold(); };
  b.on_command = [&](auto, env& e) {
    e.cancel_child(child);
    return true;
  };
  auto& w = start();
  w.call("x");
  child = start_child();
  w.command(operator_command::reset, "inner");
  EXPECT_EQ(w.live(), 2u);
  w.cancel(1, 1);
}

TEST_F(children,
       a_child_that_is_cancelled_is_not_notified_and_its_parents_stay) {
  auto& w = start({.worker = {.takes_cancelled = true}});
  w.call("x");
  auto child = start_child({.deadline = engine_world::origin() + 1s});
  let([&](env& e) {
    e.cancel_child(child);
    e.cancel_child(child);
    e.cancel_child(held[0]); // No child.
  });
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0", "0s #0 cancelled"}));
  EXPECT_EQ(w.metric("held"), 1);
  w.answer(0, "late");
  EXPECT_EQ(w.metric("late_results"), 1);
  let([&](env& e) { e.reject(held[0], errc::shed); });
  EXPECT_EQ(w.answer_to(0), "shed by outer, executed");
  EXPECT_EQ(a.take(), (lines{"admit"}));
}

TEST_F(children, a_child_can_be_cancelled_in_the_turn_that_starts_it) {
  auto& w = start({.worker = {.takes_cancelled = true}});
  w.call("x");
  let([&](env& e) {
    auto child = e.start_child({.parents = held});
    e.cancel_child(child);
    e.join_child(child, held[0]);
    e.reject(held[0], errc::shed);
  });
  EXPECT_EQ(w.answer_to(0), "shed by outer, executed");
}

// -- deadlines ----------------------------------------------------------------

TEST_F(children, a_child_goes_on_as_long_as_a_parent_can_wait) {
  auto& w = start({.worker = {.takes_calls = true}});
  w.call("x", {.time_left = 5ms});
  w.call("y", {.time_left = 9ms});
  start_child();
  EXPECT_EQ(time_point{duration{options_of(0).deadline_ns}},
            engine_world::origin() + 9ms);
  w.at(9ms);
  EXPECT_EQ(w.take(),
            (lines{"0s worker <- x #0",
                   "5ms call 0 = deadline_exceeded by gate, executed",
                   "9ms call 1 = deadline_exceeded by gate, executed"}));
}

TEST_F(children, a_call_that_joins_can_make_it_last_longer) {
  auto& w = start();
  w.call("x", {.time_left = 5ms});
  auto child = start_child();
  w.call("y", {.time_left = 9ms});
  let([&](env& e) { e.join_child(child, held[1]); });
  w.at(8ms);
  w.answer(0, "r");
  EXPECT_EQ(w.answer_to(1), "r");
}

TEST_F(children, its_own_deadline_ends_it_before_its_parents) {
  auto& w = start({.worker = {.takes_cancelled = true}});
  w.call("x", {.time_left = 50ms});
  start_child({.deadline = engine_world::origin() + 5ms});
  w.at(5ms);
  EXPECT_EQ(w.take(),
            (lines{"0s worker <- x #0", "5ms #0 cancelled",
                   "5ms call 0 = deadline_exceeded by gate, executed"}));
  EXPECT_EQ(a.take(), (lines{"admit", "child deadline_exceeded, executed",
                             "complete deadline_exceeded, executed"}));
}

TEST_F(children, its_own_deadline_holds_also_for_a_call_that_joins) {
  auto& w = start();
  w.call("x", {.time_left = 50ms});
  auto child = start_child({.deadline = engine_world::origin() + 5ms});
  w.call("y", {.time_left = 90ms});
  let([&](env& e) { e.join_child(child, held[1]); });
  w.at(5ms);
  EXPECT_EQ(w.unanswered(), 0u);
}

TEST_F(children, with_a_deadline_that_has_come_nothing_is_sent) {
  auto& w = start();
  w.at(5ms);
  w.call("x");
  start_child({.deadline = engine_world::origin() + 5ms});
  EXPECT_EQ(w.take(), (lines{"5ms call 0 = deadline_exceeded by gate"}));
  held.clear();
  w.call("x");
  start_child({.target = 0, .deadline = engine_world::origin() + 5ms});
  EXPECT_EQ(w.take(), (lines{"5ms call 1 = deadline_exceeded by gate"}));
}

TEST_F(children, a_deadline_layer_below_counts) {
  b.on_admit = [](call_info& c, auto&, env& e) {
    c.deadline = time_after(e.now, 3ms);
    return decision::pass();
  };
  auto& w = start();
  w.call("x", {.time_left = 50ms});
  auto child = start_child();
  w.call("y", {.time_left = 90ms});
  let([&](env& e) { e.join_child(child, held[1]); });
  w.at(3ms);
  EXPECT_EQ(w.take(),
            (lines{"0s worker <- x #0",
                   "3ms call 0 = deadline_exceeded by inner, executed",
                   "3ms call 1 = deadline_exceeded by inner, executed"}));
  EXPECT_EQ(b.take(), (lines{"admit", "deadline"}));
}

TEST_F(children, a_call_that_joins_counts_once_a_deadline_is_lifted) {
  b.on_admit = [](call_info& c, auto&, env& e) {
    c.deadline = time_after(e.now, 3ms);
    return decision::pass();
  };
  b.on_deadline = [](auto&, auto&, auto&) { return decision::pass(); };
  auto& w = start();
  w.call("x", {.time_left = 5ms});
  auto child = start_child();
  w.call("y", {.time_left = 9ms});
  let([&](env& e) { e.join_child(child, held[1]); });
  w.at(20ms);
  EXPECT_EQ(w.take(),
            (lines{"0s worker <- x #0",
                   "5ms call 0 = deadline_exceeded by gate, executed",
                   "9ms call 1 = deadline_exceeded by gate, executed"}));
}

} // namespace
} // namespace caisson::test
