// A verification between two attempts: a child to the layer's own target.
#include <support/child_policies.hpp>
#include <support/engine_world.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct verify : testing::Test {
  engine_world& start(world_setup s = {}) {
    s.target.takes_cancelled = true;
    return world.emplace(std::move(stack), std::move(s));
  }

  puppets stack;
  verifying_policy& v = stack.add_layer<small_layer<verifying_policy>>(1);
  puppet& b = stack.add("inner").machine();
  std::optional<engine_world> world;
};

TEST_F(verify, a_good_answer_needs_no_verification) {
  auto& w = start();
  w.call("x");
  w.answer(0, "y");
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0", "0s call 0 = y"}));
}

TEST_F(verify, a_call_found_done_is_answered) {
  auto& w = start();
  w.call("x");
  w.fail(0);
  w.answer(1, "done");
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0", "0s target 1 <- x #1",
                             "0s call 0 = done"}));
}

TEST_F(verify, a_call_found_undone_is_tried_again) {
  auto& w = start();
  w.call("x");
  w.fail(0);
  w.at(2ms);
  w.answer(1, "not done");
  w.at(3ms);
  w.fail(2);
  w.answer(3, "not done");
  w.answer(4, "y");
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0", "0s target 1 <- x #1",
                             "2ms worker <- x #2", "3ms target 1 <- x #3",
                             "3ms worker <- x #4", "3ms call 0 = y"}));
}

TEST_F(verify, a_failed_verification_is_repeated) {
  auto& w = start();
  w.call("x");
  w.fail(0);
  w.fail(1);
  // The layer's own error comes to its complete, which verifies again.
  EXPECT_EQ(w.attempts.size(), 3u);
  w.answer(2, "done");
  EXPECT_EQ(w.answer_to(0), "done");
}

TEST_F(verify, the_deadline_comes_during_verification) {
  auto& w = start();
  w.call("x", {.time_left = 5ms});
  w.fail(0);
  w.at(5ms);
  EXPECT_EQ(
    w.take(),
    (lines{"0s worker <- x #0", "0s target 1 <- x #1", "5ms #1 cancelled",
           "5ms call 0 = deadline_exceeded by gate, executed"}));
  w.answer(1, "not done");
  EXPECT_EQ(w.metric("late_results"), 1);
  EXPECT_EQ(w.attempts.size(), 2u);
}

TEST_F(verify, no_attempt_is_made_at_the_deadline) {
  auto& w = start();
  w.call("x", {.time_left = 5ms});
  w.fail(0);
  // The wake-up is late; the answer comes first.
  w.jump(5ms);
  w.answer(1, "not done");
  EXPECT_EQ(w.attempts.size(), 2u);
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by gate, executed");
  w.at(6ms);
}

TEST_F(verify, a_call_certainly_not_executed_needs_no_verification) {
  b.on_admit = [](auto&, auto&, auto&) { return decision::reject(errc::shed); };
  auto& w = start();
  w.call("x");
  EXPECT_EQ(w.take(), (lines{"0s call 0 = shed by inner"}));
}

TEST_F(verify, a_later_attempt_that_is_rejected_may_have_executed_before) {
  auto& w = start();
  w.call("x");
  w.fail(0);
  b.on_admit = [](auto&, auto&, auto&) { return decision::reject(errc::shed); };
  w.answer(1, "not done");
  w.answer(2, "done");
  EXPECT_EQ(w.answer_to(0), "done");
}

TEST_F(verify, the_caller_dies_during_verification) {
  auto& w = start();
  w.call("x", {}, 5);
  w.fail(0);
  w.caller_down(5);
  EXPECT_TRUE(w.attempts[1].cancelled);
  EXPECT_EQ(w.live(), 0u);
}

} // namespace
} // namespace caisson::test
