// Children of children.
#include <support/engine_world.hpp>
#include <support/puppet.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

/// A layer that makes two children of each call, in front of one that collects
/// what it gets.
struct nested_children : testing::Test {
  nested_children() {
    a.keeps_content = true;
    a.on_admit = [this](call_info& c, slot&, env& e) {
      e.start_child({.parents = {c.id}});
      e.start_child({.parents = {c.id}, .deadline = second_until});
      return decision::hold();
    };
    b.on_admit = [this](call_info& c, slot&, env& e) {
      held.push_back(c.id);
      if (held.size() == batch_size)
        e.start_child({.parents = std::exchange(held, {}), .permits = 1});
      return decision::hold();
    };
    inner.on_content = [](auto, auto items, auto&) {
      return caf::make_message(batch{std::move(items)});
    };
  }

  engine_world& start(world_setup s = {}) {
    s.worker.takes_cancelled = true;
    return world.emplace(std::move(stack), std::move(s));
  }

  puppets stack;
  puppet_layer& outer = stack.add("outer");
  puppet_layer& inner = stack.add("inner");
  puppet& a = outer.machine();
  puppet& b = inner.machine();
  time_point second_until = never;
  std::size_t batch_size = 2;
  std::vector<call_id> held;
  std::optional<engine_world> world;
};

TEST_F(nested_children, one_child_ends_its_sibling_in_the_same_batch) {
  auto& w = start();
  w.call("x");
  EXPECT_EQ(w.take(), (lines{"0s worker <- [x x] #0"}));
  w.answer(0, "y");
  EXPECT_EQ(w.take(), (lines{"0s call 0 = y"}));
  EXPECT_EQ(a.take(), (lines{"admit", "child ok", "child cancelled, executed",
                             "complete ok"}));
  EXPECT_EQ(b.take(), (lines{"admit", "admit", "child ok", "complete ok",
                             "abandon cancelled, executed, in flight"}));
}

TEST_F(nested_children, a_batch_fails_for_both_and_the_first_is_notified) {
  auto& w = start();
  w.call("x");
  w.fail(0);
  EXPECT_EQ(w.answer_to(0), "failed");
  EXPECT_EQ(w.live(), 0u);
}

TEST_F(nested_children, a_caller_that_leaves_ends_all_generations) {
  batch_size = 4;
  auto& w = start();
  w.call("x");
  w.call("y");
  EXPECT_EQ(w.live(), 7u);
  w.cancel(1, 1);
  EXPECT_EQ(w.live(), 4u);
  w.cancel(1, 2);
  EXPECT_EQ(w.take(),
            (lines{"0s worker <- [x x y y] #0",
                   "0s call 0 = cancelled by gate, executed", "0s #0 cancelled",
                   "0s call 1 = cancelled by gate, executed"}));
  EXPECT_EQ(b.inside, 0);
}

TEST_F(nested_children, stopping_answers_the_caller_once) {
  auto& w = start();
  w.call("x");
  w.stop();
  EXPECT_EQ(w.take(), (lines{"0s worker <- [x x] #0",
                             "0s call 0 = cancelled by gate, executed",
                             "0s #0 cancelled"}));
}

// The deadline of one child, found late, ends its sibling, which is the only
// parent of the batch by then.
TEST_F(nested_children, a_batch_can_end_while_it_begins) {
  second_until = engine_world::origin() + 10ms;
  batch_size = 3;
  b.wake_at = engine_world::origin() + 5ms;
  b.on_wake = [this](env& e) { e.start_child({.parents = held}); };
  auto& w = start();
  w.call("x");
  w.jump(20ms);
  w.wake();
  EXPECT_EQ(w.take(), (lines{"20ms call 0 = deadline_exceeded by gate"}));
  EXPECT_EQ(b.take(),
            (lines{"admit", "admit", "wake", "abandon deadline_exceeded",
                   "abandon cancelled", "child cancelled"}));
}

// The batch has the content of a caller that has left, and is sent without it.
TEST_F(nested_children, a_call_may_have_executed_if_its_batch_goes_on) {
  batch_size = 4;
  auto& w = start({.start = behind::supervised});
  w.kill(0);
  w.call("x", {.time_left = 5ms});
  w.call("y");
  EXPECT_EQ(w.metric("waiting_for_worker"), 1);
  w.at(100ms);
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by gate, executed");
  EXPECT_EQ(words_of(w.attempts[0].content), "[x x y y]");
  w.answer(0, "z");
}

TEST_F(nested_children, the_worker_dies_during_nested_children) {
  auto& w = start();
  w.call("x");
  w.kill(0);
  EXPECT_EQ(w.answer_to(0), "worker_down by gate, executed");
  w.call("y");
  EXPECT_EQ(w.answer_to(1), "worker_down by gate");
}

TEST_F(nested_children, wait_for_a_worker) {
  b.on_admit = nullptr;
  auto& w = start({.start = behind::supervised});
  w.kill(0);
  w.call("x");
  EXPECT_EQ(w.metric("waiting_for_worker"), 2);
  w.at(100ms);
  w.answer(1, "y");
  EXPECT_EQ(w.take(), (lines{"0s make worker 1", "0s forget worker",
                             "100ms make worker 2", "100ms worker <- x #0",
                             "100ms worker <- x #1", "100ms #0 cancelled",
                             "100ms call 0 = y"}));
}

} // namespace
} // namespace caisson::test
