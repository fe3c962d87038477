// A worker that another one replaces while it has calls.
#include <support/engine_world.hpp>
#include <support/puppet.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct engine_replaced_worker : testing::Test {
  engine_world& start(bool makes_slowly = false) {
    world_setup s;
    s.start = behind::supervised;
    s.supervision.restart = schedule::constant(10ms);
    s.supervision.max_restarts = 2;
    s.supervision.on_give_up = give_up_action::refuse;
    s.worker.takes_cancelled = true;
    s.listens = true;
    s.makes_slowly = makes_slowly;
    world.emplace(engine_world::layers{}, std::move(s));
    if (makes_slowly)
      world->worker_made();
    world->take();
    return *world;
  }

  std::optional<engine_world> world;
};

TEST_F(engine_replaced_worker, ends_at_once_without_calls) {
  auto& w = start();
  EXPECT_EQ(w.replace_worker({}, "url = b"), (lines{": worker: url = b"}));
  EXPECT_EQ(w.take(),
            (lines{"0s gate: reconfigured (worker: url = b)",
                   "0s make worker 2", "0s the earlier worker is target 1",
                   "0s gate: worker_changed >up", "0s end target 1"}));
  EXPECT_EQ(w.metric("worker_losses"), 0);
}

TEST(engine_dead_letters, of_a_call_to_an_earlier_worker_are_whole_or_none) {
  for (auto resends : {false, true}) {
    auto layers = [&] {
      puppets out;
      auto& x = out.add("inner");
      x.number = 1; // It goes on.
      x.machine().keeps_content = resends;
      return engine_world::layers{std::move(out)};
    };
    world_setup setup;
    setup.start = behind::supervised;
    engine_world w{layers(), std::move(setup)};
    w.send("x");
    detail::next_stack next;
    next.config = {.name = "gate", .default_deadline = unlimited};
    next.worker = detail::next_worker{{}, dead_letter_calls::all, "letters"};
    for (auto& x : layers())
      next.layers.push_back({std::move(x)});
    EXPECT_EQ(w.swap_to(std::move(next)).size(), 1u);
    w.fail(0);
    ASSERT_EQ(w.letters.size(), resends ? 1u : 0u);
    for (const auto& x : w.letters)
      EXPECT_EQ(words_of(x.content), "x");
  }
}

TEST_F(engine_replaced_worker, finishes_the_calls_that_it_has) {
  auto& w = start();
  w.call("x");
  w.call("y");
  w.replace_worker({});
  w.call("z");
  ASSERT_EQ(w.attempts.size(), 3u);
  EXPECT_EQ(w.attempts[2].to, 0u);
  w.take();
  w.answer(0, "1");
  EXPECT_EQ(w.take(), (lines{"0s call 0 = 1"}));
  w.answer(2, "3");
  w.answer(1, "2");
  EXPECT_EQ(w.take(),
            (lines{"0s call 2 = 3", "0s call 1 = 2", "0s end target 1"}));
}

TEST_F(engine_replaced_worker, is_notified_of_calls_that_are_cancelled) {
  auto& w = start();
  w.call("x", {}, 7, 70);
  w.replace_worker({});
  w.take();
  w.cancel(7, 70);
  EXPECT_EQ(w.take(), (lines{"0s #0 cancelled",
                             "0s call 0 = cancelled by gate,"
                             " executed",
                             "0s end target 1"}));
}

TEST_F(engine_replaced_worker, loses_its_own_calls_only) {
  auto& w = start();
  w.call("x");
  w.replace_worker({});
  w.call("y");
  w.take();
  w.kill(1);
  EXPECT_EQ(w.take(), (lines{"0s call 0 = worker_down by gate, executed",
                             "0s end target 1"}));
  w.answer(1, "2");
  EXPECT_EQ(w.answer_to(1), "2");
  EXPECT_EQ(w.metric("worker_losses"), 0);
}

TEST_F(engine_replaced_worker, outlives_the_one_that_took_its_place) {
  auto& w = start();
  w.call("x");
  w.replace_worker({});
  w.call("y");
  w.kill(0);
  EXPECT_EQ(w.answer_to(1), "worker_down by gate, executed");
  EXPECT_EQ(w.answer_to(0), "");
  w.answer(0, "1");
  w.at(10ms);
  w.call("z");
  w.answer(2, "3");
  EXPECT_EQ(w.answer_to(0), "1");
  EXPECT_EQ(w.answer_to(2), "3");
}

TEST_F(engine_replaced_worker, goes_on_until_there_is_a_new_worker) {
  auto& w = start(true);
  w.call("x");
  w.replace_worker({});
  w.call("y");
  w.take();
  EXPECT_EQ(w.attempts.size(), 2u);
  w.at(5ms);
  w.worker_made();
  w.call("z");
  EXPECT_EQ(w.take(),
            (lines{"5ms the earlier worker is target 1",
                   "5ms gate: worker_changed >up", "5ms worker <- z #2"}));
  w.answer(0, "1");
  w.answer(1, "2");
  w.answer(2, "3");
}

TEST_F(engine_replaced_worker, stays_while_no_new_worker_can_be_made) {
  auto& w = start();
  w.making_fails = "no host";
  w.replace_worker({});
  w.call("x");
  // Its schedule says 10 ms, which is too often for what never ends.
  for (int i = 1; i < 10; ++i)
    w.at(i * 100ms);
  w.making_fails.clear();
  w.take();
  w.at(1'000ms);
  w.call("y");
  EXPECT_EQ(w.take(),
            (lines{"1s make worker 12", "1s the earlier worker is target 1",
                   "1s gate: worker_changed >up", "1s worker <- y #1"}));
  w.answer(0, "1");
  w.answer(1, "2");
  EXPECT_EQ(w.metric("worker_losses"), 0);
}

TEST_F(engine_replaced_worker, that_dies_meanwhile_is_made_as_the_new_one) {
  auto& w = start(true);
  w.replace_worker({});
  w.kill(0);
  EXPECT_FALSE(w.awaits_worker());
  w.call("x");
  w.take();
  w.at(10ms);
  EXPECT_TRUE(w.awaits_worker());
  w.worker_made();
  w.answer(0, "1");
  EXPECT_EQ(w.take(), (lines{"10ms make worker 4",
                             "10ms gate: worker_changed "
                             ">up",
                             "10ms worker <- x #0", "10ms call 0 = 1"}));
}

TEST_F(engine_replaced_worker, is_replaced_by_the_last_one_that_was_asked_for) {
  auto& w = start(true);
  w.replace_worker({});
  w.replace_worker({});
  w.worker_made();
  EXPECT_FALSE(w.awaits_worker());
  EXPECT_EQ(w.take(),
            (lines{"0s gate: reconfigured (worker: other)", "0s make worker 2",
                   "0s gate: reconfigured (worker: other)", "0s make worker 3",
                   "0s the earlier worker is target 1",
                   "0s gate: worker_changed >up", "0s end target 1"}));
}

TEST_F(engine_replaced_worker, need_not_wait_for_its_restart) {
  auto& w = start();
  w.kill(0);
  w.call("x");
  w.at(3ms);
  w.take();
  w.replace_worker({});
  w.answer(0, "1");
  EXPECT_EQ(w.take(),
            (lines{"3ms gate: reconfigured (worker: other)",
                   "3ms make worker 2", "3ms gate: worker_changed >up",
                   "3ms worker <- x #0", "3ms call 0 = 1"}));
}

TEST_F(engine_replaced_worker, comes_back_if_it_was_given_up) {
  auto& w = start();
  w.making_fails = "no host";
  w.kill(0);
  w.at(1s);
  w.call("x");
  EXPECT_EQ(w.answer_to(0), "worker_down by gate");
  w.making_fails.clear();
  w.replace_worker({});
  w.call("y");
  w.answer(0, "1");
  EXPECT_EQ(w.answer_to(1), "1");
}

TEST_F(engine_replaced_worker, is_one_of_a_bounded_number) {
  auto& w = start();
  for (int i = 0; i < 8; ++i) {
    w.call("x");
    w.replace_worker({});
  }
  w.call("x");
  EXPECT_EQ(w.replace_worker({}),
            (lines{"calls are still in flight with 8 workers that were "
                   "replaced earlier, which is the most there can be"}));
  w.answer(3, "y");
  EXPECT_EQ(w.replace_worker({}), (lines{": worker: other"}));
  for (std::size_t i : {0, 1, 2, 4, 5, 6, 7, 8})
    w.answer(i, "y");
}

TEST_F(engine_replaced_worker, ends_with_the_gate) {
  auto& w = start();
  w.call("x");
  w.replace_worker({});
  w.stop();
  EXPECT_EQ(w.answer_to(0), "cancelled by gate, executed");
}

} // namespace
} // namespace caisson::test
