// The worker: lost, made again, given up.
#include <support/engine_world.hpp>
#include <support/puppet.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct engine_worker : testing::Test {
  engine_world& start(world_setup s = {}) {
    return world.emplace(std::move(stack), std::move(s));
  }

  /// A worker that is made again after 10 ms, twice within 30 s.
  static world_setup supervised() {
    world_setup s;
    s.start = behind::supervised;
    s.supervision.restart = schedule::constant(10ms);
    s.supervision.max_restarts = 2;
    s.supervision.max_waiting = 2;
    s.listens = true;
    return s;
  }

  puppets stack;
  puppet& a = stack.add("outer").machine();
  std::optional<engine_world> world;
};

TEST_F(engine_worker, down_from_the_start_executes_nothing) {
  auto& w = start({.start = behind::dead_worker});
  w.call("x");
  EXPECT_EQ(w.answer_to(0), "worker_down by gate");
}

TEST_F(engine_worker, without_one_there_are_only_permits) {
  auto& w = start({.start = behind::nothing});
  w.call("x");
  EXPECT_EQ(w.answer_to(0), "worker_down by gate");
}

TEST_F(engine_worker, calls_with_one_that_dies_fail) {
  auto& w = start({.listens = true});
  w.call("x");
  w.call("y");
  w.kill(0, "by hand");
  w.call("z");
  w.kill(0);
  EXPECT_EQ(w.take(),
            (lines{"0s worker <- x #0", "0s worker <- y #1", "0s forget worker",
                   "0s gate: worker_changed up>down (by hand)",
                   "0s call 0 = worker_down by gate, executed",
                   "0s call 1 = worker_down by gate, executed",
                   "0s call 2 = worker_down by gate"}));
  EXPECT_EQ(w.metric("worker_losses"), 1);
  w.answer(0, "late");
  EXPECT_EQ(w.metric("late_results"), 1);
}

TEST_F(engine_worker, an_attempt_that_bounces_reports_that_it_is_gone) {
  auto& w = start({.listens = true});
  w.call("x");
  w.call("y");
  w.kill_silently(0);
  w.bounce(1);
  EXPECT_EQ(w.take(),
            (lines{"0s worker <- x #0", "0s worker <- y #1", "0s forget worker",
                   "0s gate: worker_changed up>down (it is down)",
                   "0s call 0 = worker_down by gate, executed",
                   "0s call 1 = worker_down by gate, executed"}));
  w.kill(0);
  EXPECT_EQ(w.metric("worker_losses"), 1);
}

TEST_F(engine_worker, a_bounce_off_one_that_lives_is_an_error_of_that_call) {
  auto& w = start();
  w.call("x");
  w.call("y");
  w.bounce(0);
  EXPECT_EQ(w.answer_to(0), "worker_down by gate, executed");
  w.answer(1, "z");
  EXPECT_EQ(w.metric("worker_losses"), 0);
}

TEST_F(engine_worker, is_made_again_while_calls_wait) {
  auto& w = start(supervised());
  w.call("x");
  w.kill(0, "why");
  w.call("y");
  w.at(3ms);
  w.call("z");
  w.call("too many");
  EXPECT_EQ(w.metric("waiting_for_worker"), 2);
  w.at(10ms);
  w.answer(1, "1");
  w.answer(2, "2");
  EXPECT_EQ(
    w.take(),
    (lines{"0s make worker 1", "0s gate: worker_changed >up",
           "0s worker <- x #0", "0s forget worker",
           "0s gate: worker_changed >restarting (why) 10ms",
           "0s call 0 = worker_down by gate, executed",
           "3ms call 3 = queue_full by gate, after 7ms", "10ms make worker 2",
           "10ms gate: worker_changed >up", "10ms worker <- y #1",
           "10ms worker <- z #2", "10ms call 1 = 1", "10ms call 2 = 2"}));
}

TEST_F(engine_worker, a_waiting_call_can_be_cancelled_or_expire) {
  auto& w = start(supervised());
  w.kill(0);
  w.call("x", {.time_left = 5ms});
  w.call("y", {}, 7, 70);
  EXPECT_EQ(w.watched(), (std::set<std::uint64_t>{1, 7}));
  w.at(5ms);
  w.cancel(7, 70);
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by gate");
  EXPECT_EQ(w.answer_to(1), "cancelled by gate");
  w.call("z");
  w.at(10ms);
  w.answer(0, "1");
  EXPECT_EQ(w.attempts.size(), 1u);
}

TEST_F(engine_worker, a_call_that_expires_at_the_restart_is_not_sent) {
  auto& w = start(supervised());
  w.kill(0);
  w.call("x", {.time_left = 10ms});
  w.at(10ms);
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by gate");
  EXPECT_TRUE(w.attempts.empty());
}

TEST_F(engine_worker, a_call_that_expired_before_a_late_restart_is_not_sent) {
  auto& w = start(supervised());
  w.kill(0);
  w.call("x", {.time_left = 15ms});
  w.jump(20ms);
  w.wake();
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by gate");
  EXPECT_TRUE(w.attempts.empty());
}

TEST_F(engine_worker, is_tried_again_if_it_cannot_be_made) {
  auto s = supervised();
  auto& w = start(s);
  w.take();
  w.making_fails = "no room";
  w.kill(0);
  w.call("x");
  w.at(10ms);
  w.making_fails.clear();
  w.at(20ms);
  w.answer(0, "y");
  EXPECT_EQ(w.take(),
            (lines{"0s forget worker",
                   "0s gate: worker_changed >restarting (killed) 10ms",
                   "10ms make worker 2",
                   "10ms gate: worker_changed >restarting (no room) 10ms",
                   "20ms make worker 3", "20ms gate: worker_changed >up",
                   "20ms worker <- x #0", "20ms call 0 = y"}));
}

TEST_F(engine_worker, is_given_up_if_it_dies_too_often) {
  auto& w = start(supervised());
  w.kill(0);
  w.at(10ms);
  w.kill(0);
  w.call("x");
  w.at(20ms);
  w.call("y");
  w.take();
  w.making_fails = "no room";
  w.kill(0, "last");
  w.call("z");
  EXPECT_EQ(
    w.take(),
    (lines{"20ms forget worker", "20ms gate: worker_changed >given_up (last)",
           "20ms given up: last", "20ms call 0 = worker_down by gate, executed",
           "20ms call 1 = worker_down by gate, executed",
           "20ms call 2 = worker_down by gate"}));
}

TEST_F(engine_worker, calls_that_wait_for_one_that_is_given_up_are_answered) {
  auto s = supervised();
  s.supervision.on_give_up = give_up_action::refuse;
  auto& w = start(s);
  w.kill(0);
  w.call("x");
  w.call("y");
  w.take();
  w.making_fails = "no room";
  w.at(1s);
  EXPECT_EQ(w.take(),
            (lines{"10ms make worker 2",
                   "10ms gate: worker_changed >restarting (no room) 10ms",
                   "20ms make worker 3",
                   "20ms gate: worker_changed >given_up (no room)",
                   "20ms call 0 = worker_down by gate",
                   "20ms call 1 = worker_down by gate"}));
}

TEST_F(engine_worker, may_take_a_while_to_make) {
  auto s = supervised();
  s.makes_slowly = true;
  auto& w = start(s);
  w.call("x");
  w.call("y");
  w.call("too many");
  w.at(500ms);
  w.worker_made();
  w.answer(0, "1");
  w.answer(1, "2");
  EXPECT_EQ(
    w.take(),
    (lines{"0s make worker 1", "0s call 2 = queue_full by gate",
           "500ms gate: worker_changed >up", "500ms worker <- x #0",
           "500ms worker <- y #1", "500ms call 0 = 1", "500ms call 1 = 2"}));
}

TEST_F(engine_worker, that_took_a_while_and_failed_is_made_again) {
  auto s = supervised();
  s.makes_slowly = true;
  auto& w = start(s);
  w.call("x");
  w.worker_made("no room");
  w.at(10ms);
  w.worker_made();
  w.answer(0, "1");
  EXPECT_EQ(w.answer_to(0), "1");
}

TEST_F(engine_worker, a_transient_one_is_made_again_unless_its_end_is_normal) {
  auto s = supervised();
  s.supervision.lifetime = worker_lifetime::transient;
  auto& w = start(s);
  w.kill(0, "crash");
  w.call("x");
  w.at(10ms);
  w.call("y");
  w.kill(0, "done", actor_end::normal);
  w.call("z");
  w.at(1h);
  EXPECT_EQ(
    w.take(),
    (lines{"0s make worker 1", "0s gate: worker_changed >up",
           "0s forget worker",
           "0s gate: worker_changed >restarting (crash) 10ms",
           "10ms make worker 2", "10ms gate: worker_changed >up",
           "10ms worker <- x #0", "10ms worker <- y #1", "10ms forget worker",
           "10ms gate: worker_changed >ended (done)",
           "10ms call 0 = worker_down by gate, executed",
           "10ms call 1 = worker_down by gate, executed",
           "10ms call 2 = worker_down by gate"}));
  EXPECT_EQ(w.metric("worker_losses"), 2);
  EXPECT_EQ(w.metric("worker_ended"), 1);
  EXPECT_EQ(w.metric("worker_gave_up"), 0);
}

TEST_F(engine_worker, a_temporary_one_is_made_once) {
  auto s = supervised();
  s.supervision.lifetime = worker_lifetime::temporary;
  auto& w = start(s);
  w.kill(0, "crash");
  w.call("x");
  w.at(1h);
  EXPECT_EQ(w.take(),
            (lines{"0s make worker 1", "0s gate: worker_changed >up",
                   "0s forget worker", "0s gate: worker_changed >ended (crash)",
                   "0s call 0 = worker_down by gate"}));
}

TEST_F(engine_worker, a_temporary_one_that_cannot_be_made_has_ended) {
  auto s = supervised();
  s.supervision.lifetime = worker_lifetime::temporary;
  s.makes_slowly = true;
  auto& w = start(s);
  w.call("x");
  w.worker_made("no room");
  w.at(1h);
  EXPECT_EQ(w.take(), (lines{"0s make worker 1",
                             "0s gate: worker_changed >ended (no room)",
                             "0s call 0 = worker_down by gate"}));
}

TEST_F(engine_worker, a_transient_one_that_cannot_be_made_is_tried_again) {
  auto s = supervised();
  s.supervision.lifetime = worker_lifetime::transient;
  s.makes_slowly = true;
  auto& w = start(s);
  w.worker_made("no room");
  EXPECT_EQ(w.take().back(),
            "0s gate: worker_changed >restarting (no room) 10ms");
  w.at(10ms);
  w.worker_made();
}

// An attempt bounces before it is known how the worker ends.
TEST_F(engine_worker, calls_wait_until_it_is_known_how_it_has_ended) {
  for (auto how : {actor_end::normal, actor_end::abnormal}) {
    auto s = supervised();
    s.supervision.lifetime = worker_lifetime::transient;
    engine_world w{engine_world::layers{}, std::move(s)};
    w.call("x");
    w.call("y");
    w.take();
    w.kill_silently(0);
    w.end = actor_end::unknown;
    w.bounce(1);
    w.call("z");
    w.at(1ms);
    EXPECT_EQ(w.take(), (lines{"0s call 0 = worker_down by gate, executed",
                               "0s call 1 = worker_down by gate, executed"}));
    w.kill(0, "so", actor_end::unknown);
    EXPECT_EQ(w.take(), lines{});
    w.kill(0, "so", how);
    w.kill(0, "so", actor_end::abnormal);
    w.at(11ms);
    if (how == actor_end::normal)
      EXPECT_EQ(w.take(), (lines{"1ms forget worker",
                                 "1ms gate: worker_changed >ended (so)",
                                 "1ms call 2 = worker_down by gate"}));
    else
      EXPECT_EQ(w.take(),
                (lines{"1ms forget worker",
                       "1ms gate: worker_changed >restarting (so) 10ms",
                       "11ms make worker 2", "11ms gate: worker_changed >up",
                       "11ms worker <- z #2"}));
    EXPECT_EQ(w.metric("worker_losses"), 1);
    if (how == actor_end::abnormal)
      w.answer(2, "1");
  }
}

TEST_F(engine_worker, a_bounce_off_a_worker_known_to_have_ended_needs_no_news) {
  for (auto lifetime : {worker_lifetime::permanent, worker_lifetime::transient,
                        worker_lifetime::temporary}) {
    auto s = supervised();
    s.supervision.lifetime = lifetime;
    engine_world w{engine_world::layers{}, std::move(s)};
    w.call("x");
    w.kill_silently(0);
    w.end = lifetime == worker_lifetime::transient ? actor_end::normal
                                                   : actor_end::unknown;
    w.take();
    w.bounce(0);
    auto ends = lifetime != worker_lifetime::permanent;
    EXPECT_EQ(w.take()[1], ends ? "0s gate: worker_changed >ended (it is down)"
                                : "0s gate: worker_changed >restarting "
                                  "(it is down) 10ms");
    w.at(1s);
  }
}

TEST_F(engine_worker, a_retry_waits_for_the_next_one) {
  a.keeps_content = true;
  a.on_complete = [](auto&, auto&, outcome& o, env& e) {
    return o.ok ? decision::pass() : decision::hold(e.now);
  };
  auto& w = start(supervised());
  w.call("x");
  w.kill(0);
  EXPECT_EQ(w.metric("waiting_for_worker"), 1);
  w.at(10ms);
  w.answer(1, "y");
  EXPECT_EQ(w.answer_to(0), "y");
}

} // namespace
} // namespace caisson::test
