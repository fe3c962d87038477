// First good of two: one parent and several children.
#include <support/child_policies.hpp>
#include <support/engine_world.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct hedge : testing::Test {
  engine_world& start(world_setup s = {}) {
    s.worker.takes_cancelled = true;
    return world.emplace(std::move(stack), std::move(s));
  }

  puppets stack;
  hedger& h = stack.add_layer<small_layer<hedger>>(0, 10ms);
  puppet& b = stack.add("inner").machine();
  std::optional<engine_world> world;
};

TEST_F(hedge, asks_once_if_the_answer_comes_soon) {
  auto& w = start();
  w.call("x");
  w.at(9ms);
  w.answer(0, "y");
  w.at(1s);
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0", "9ms call 0 = y"}));
  EXPECT_EQ(h.held(), 0u);
}

TEST_F(hedge, the_second_wins_and_the_first_is_cancelled) {
  auto& w = start();
  w.call("x");
  w.at(12ms);
  w.answer(1, "y");
  w.answer(0, "late");
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0", "10ms worker <- x #1",
                             "12ms #0 cancelled", "12ms call 0 = y"}));
  EXPECT_EQ(h.losers, 1);
  EXPECT_EQ(h.running(), 0u);
  EXPECT_EQ(w.metric("late_results"), 1);
  // The loser's answer was judged by nobody.
  EXPECT_EQ(b.take(), (lines{"admit", "admit", "complete ok",
                             "abandon cancelled, executed, in flight"}));
}

TEST_F(hedge, the_first_wins_after_all) {
  auto& w = start();
  w.call("x");
  w.at(12ms);
  w.answer(0, "y");
  EXPECT_EQ(w.answer_to(0), "y");
  EXPECT_TRUE(w.attempts[1].cancelled);
  EXPECT_EQ(w.live(), 0u);
}

TEST_F(hedge, an_error_brings_the_second_forward) {
  auto& w = start();
  w.call("x");
  w.at(3ms);
  w.fail(0);
  w.at(5ms);
  w.answer(1, "y");
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0", "3ms worker <- x #1",
                             "5ms call 0 = y"}));
}

TEST_F(hedge, an_error_of_one_child_leaves_the_other_child) {
  auto& w = start();
  w.call("x");
  w.at(11ms);
  w.fail(0);
  EXPECT_EQ(w.unanswered(), 1u);
  w.at(12ms);
  w.fail(1);
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0", "10ms worker <- x #1",
                             "12ms call 0 = failed"}));
}

TEST_F(hedge, the_deadline_ends_both) {
  auto& w = start();
  w.call("x", {.time_left = 15ms});
  w.at(1s);
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by gate, executed");
  EXPECT_TRUE(w.attempts[0].cancelled && w.attempts[1].cancelled);
  EXPECT_EQ(h.running(), 0u);
}

TEST_F(hedge, with_a_delay_as_long_as_the_deadline_asks_once) {
  auto& w = start();
  w.call("x", {.time_left = 10ms});
  w.at(1s);
  EXPECT_EQ(w.attempts.size(), 1u);
}

TEST_F(hedge, the_caller_gives_up_or_dies) {
  auto& w = start();
  w.call("x", {}, 7);
  w.call("y", {}, 8);
  w.at(10ms);
  EXPECT_EQ(w.watched(), (std::set<std::uint64_t>{7, 8}));
  w.cancel(7, 1);
  w.caller_down(8);
  EXPECT_EQ(w.answer_to(0), "cancelled by gate, executed");
  EXPECT_EQ(w.live(), 0u);
  EXPECT_EQ(h.losers, 4);
}

TEST_F(hedge, the_worker_dies_under_both) {
  auto& w = start();
  w.call("x");
  w.at(10ms);
  w.kill(0);
  EXPECT_EQ(w.answer_to(0), "worker_down by gate, executed");
  EXPECT_EQ(w.attempts.size(), 2u);
}

TEST(hedge_of_first_outcomes, ends_if_an_attempt_bounces) {
  for (std::size_t bounced : {0u, 1u}) {
    puppets stack;
    stack.add_layer<small_layer<hedger>>(0, 10ms, true);
    engine_world w{std::move(stack)};
    w.call("x");
    w.at(10ms);
    w.kill_silently(0);
    w.bounce(bounced);
    EXPECT_EQ(w.answer_to(0), "worker_down by gate, executed") << bounced;
    EXPECT_EQ(w.live(), 0u);
    w.call("y");
    EXPECT_EQ(w.answer_to(1), "worker_down by gate") << "the gate lives";
  }
}

TEST_F(hedge, the_second_is_rejected_and_the_first_still_counts) {
  auto times = 0;
  b.on_admit = [&](auto&, auto&, auto&) {
    return times++ == 0 ? decision::pass() : decision::reject(errc::shed);
  };
  auto& w = start();
  w.call("x");
  w.at(12ms);
  EXPECT_EQ(w.unanswered(), 1u);
  w.answer(0, "y");
  EXPECT_EQ(w.answer_to(0), "y");
}

TEST_F(hedge, a_drain_waits_for_the_race) {
  auto& w = start();
  w.call("x");
  w.drain();
  w.at(12ms);
  w.answer(0, "y");
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0", "10ms worker <- x #1",
                             "12ms #1 cancelled", "12ms call 0 = y",
                             "12ms call 1 = ()"}));
}

TEST_F(hedge, its_second_child_waits_its_turn_in_a_layer_below) {
  std::vector<call_id> held;
  b.on_admit = [&](call_info& c, auto&, auto&) {
    held.push_back(c.id);
    return held.size() == 1 ? decision::pass() : decision::hold();
  };
  auto& w = start();
  w.call("x");
  w.at(12ms);
  w.answer(0, "y");
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0", "12ms call 0 = y"}));
  EXPECT_EQ(b.take(),
            (lines{"admit", "admit", "complete ok", "abandon cancelled"}));
}

// -- above single flight ------------------------------------------------------

struct hedged_flight : testing::Test {
  engine_world& start() {
    world_setup s;
    s.worker.takes_cancelled = true;
    return world.emplace(std::move(stack), std::move(s));
  }

  puppets stack;
  hedger& h = stack.add_layer<small_layer<hedger>>(0, 10ms);
  single_flight& f = stack.add_layer<small_layer<single_flight>>(0);
  std::optional<engine_world> world;
};

TEST_F(hedged_flight, both_children_share_one_attempt) {
  auto& w = start();
  w.call("x");
  w.at(20ms);
  w.answer(0, "y");
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0", "20ms call 0 = y"}));
  EXPECT_EQ(h.losers, 1);
  EXPECT_EQ(f.flying(), 0u);
}

TEST_F(hedged_flight, the_error_is_that_of_both) {
  auto& w = start();
  w.call("x");
  w.at(20ms);
  w.fail(0);
  EXPECT_EQ(w.answer_to(0), "failed");
}

TEST_F(hedged_flight, callers_leave_one_by_one) {
  auto& w = start();
  w.call("x");
  w.call("y");
  w.at(20ms);
  EXPECT_EQ(w.attempts.size(), 1u);
  EXPECT_EQ(w.live(), 7u);
  w.cancel(1, 1);
  EXPECT_FALSE(w.attempts[0].cancelled);
  w.cancel(1, 2);
  EXPECT_TRUE(w.attempts[0].cancelled);
}

} // namespace
} // namespace caisson::test
