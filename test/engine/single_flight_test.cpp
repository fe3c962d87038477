// Many parents, one child.
#include <support/child_policies.hpp>
#include <support/engine_world.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct flight : testing::Test {
  engine_world& start(world_setup s = {}) {
    s.worker.takes_cancelled = true;
    return world.emplace(std::move(stack), std::move(s));
  }

  puppets stack;
  single_flight& f = stack.add_layer<small_layer<single_flight>>(0);
  puppet_layer& inner = stack.add("inner");
  puppet& b = inner.machine();
  std::optional<engine_world> world;
};

TEST_F(flight, later_calls_with_the_key_share_the_reply) {
  auto& w = start();
  w.call("a", {.key = "k"});
  w.call("b", {.key = "l"});
  w.call("c", {.key = "k"});
  w.answer(0, "y");
  w.answer(1, "z");
  EXPECT_EQ(w.take(),
            (lines{"0s worker <- a #0", "0s worker <- b #1", "0s call 0 = y",
                   "0s call 2 = y", "0s call 1 = z"}));
  w.call("d", {.key = "k"});
  EXPECT_EQ(w.take(), (lines{"0s worker <- d #2"}));
  w.answer(2, "y");
  EXPECT_EQ(f.flying(), 0u);
}

TEST_F(flight, callers_share_the_error) {
  auto& w = start();
  w.call("a");
  w.call("b");
  w.fail(0);
  EXPECT_EQ(w.answer_to(0), "failed");
  EXPECT_EQ(w.answer_to(1), "failed");
}

TEST_F(flight, a_caller_that_leaves_does_not_end_it) {
  auto& w = start();
  w.call("a", {.time_left = 2ms});
  w.call("b", {}, 5);
  w.call("c", {}, 6);
  w.at(2ms);
  w.caller_down(5);
  EXPECT_EQ(w.metric("in_flight"), 1);
  w.at(50ms);
  w.answer(0, "y");
  EXPECT_EQ(w.answer_to(2), "y");
}

TEST_F(flight, the_last_one_that_leaves_ends_it) {
  auto& w = start();
  w.call("a", {.time_left = 2ms});
  w.call("b", {}, 5);
  w.at(2ms);
  w.cancel(5, 2);
  EXPECT_TRUE(w.attempts[0].cancelled);
  EXPECT_EQ(f.flying(), 0u);
  // The next one starts afresh.
  w.call("c");
  w.answer(0, "late");
  w.answer(1, "y");
  EXPECT_EQ(w.answer_to(2), "y");
  EXPECT_EQ(w.metric("late_results"), 1);
}

TEST_F(flight, ends_before_the_next_call_begins_another) {
  b.on_admit = [](auto&, auto&, auto&) { return decision::reject(errc::shed); };
  auto& w = start();
  w.call("a");
  w.call("b");
  EXPECT_EQ(w.take(),
            (lines{"0s call 0 = shed by inner", "0s call 1 = shed by inner"}));
}

TEST_F(flight, waits_for_the_worker_with_all_callers) {
  auto& w = start({.start = behind::supervised});
  w.kill(0);
  w.call("a", {.time_left = 50ms});
  w.call("b");
  w.at(100ms);
  // What "a" asked for is still going to be sent, for "b".
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by gate, executed");
  w.answer(0, "y");
  EXPECT_EQ(w.answer_to(1), "y");
}

TEST_F(flight, a_retry_below_serves_all_callers) {
  b.keeps_content = true;
  auto times = 0;
  b.on_complete = [&](auto&, auto&, auto&, env& e) {
    return ++times == 1 ? decision::hold(time_after(e.now, 5ms))
                        : decision::pass();
  };
  auto& w = start();
  w.call("a");
  w.fail(0);
  w.call("b");
  w.at(5ms);
  w.answer(1, "y");
  EXPECT_EQ(w.answer_to(0), "y");
  EXPECT_EQ(w.answer_to(1), "y");
  EXPECT_EQ(w.attempts.size(), 2u);
}

TEST_F(flight, stopping_answers_all_joined_callers) {
  auto& w = start();
  w.call("a");
  w.call("b");
  w.stop();
  EXPECT_EQ(w.answer_to(0), "cancelled by gate, executed");
  EXPECT_EQ(w.answer_to(1), "cancelled by gate, executed");
  EXPECT_TRUE(w.attempts[0].cancelled);
}

TEST_F(flight, a_drain_waits_for_it) {
  auto& w = start();
  w.call("a");
  w.call("b");
  w.drain();
  w.cancel(1, 1);
  EXPECT_EQ(w.unanswered(), 2u);
  w.answer(0, "y");
  EXPECT_EQ(w.unanswered(), 0u);
}

} // namespace
} // namespace caisson::test
