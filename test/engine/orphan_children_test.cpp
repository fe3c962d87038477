// Children without a parent: probes, write-backs, mirrored calls.
#include <support/holding.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct probe : holding {
  probe() {
    outer.on_content = [](auto, auto parents, auto&) {
      EXPECT_TRUE(parents.empty());
      return text("probe");
    };
  }

  call_id send_probe(child_call c = {}) {
    call_id child = 0;
    let([&](env& e) { child = e.start_child(std::move(c)); });
    return child;
  }
};

TEST_F(probe, has_the_content_that_its_layer_gives_it) {
  auto& w = start();
  send_probe();
  w.at(3ms);
  w.answer(0, "fine");
  EXPECT_EQ(w.take(), (lines{"0s worker <- probe #0"}));
  EXPECT_EQ(a.take(), (lines{"child ok"}));
  EXPECT_EQ(b.take(), (lines{"admit", "complete ok"}));
  EXPECT_EQ(w.metric("calls"), 0);
  EXPECT_EQ(w.metric("succeeded"), 0);
  EXPECT_EQ(w.metric("attempts"), 1);
}

TEST_F(probe, has_options_of_its_policy_for_layers_below_and_worker) {
  world_setup s;
  s.worker.takes_calls = true;
  auto& w = start(s);
  call_info seen;
  b.on_admit = [&](call_info& c, auto&, auto&) {
    seen = c;
    return decision::pass();
  };
  send_probe(
    {.permits = 3, .key = "k", .priority = 7, .idempotent = idempotence::yes});
  EXPECT_EQ(seen.key, "k");
  EXPECT_EQ(seen.permits, 3u);
  EXPECT_EQ(seen.priority, 7);
  EXPECT_EQ(seen.idempotent, idempotence::yes);
  EXPECT_EQ(options_of(0).key, "k");
  w.answer(0, "fine");
}

TEST_F(probe, of_a_mute_worker_ends_by_the_default_deadline) {
  world_setup s;
  s.config.default_deadline = 30ms;
  s.worker.takes_cancelled = true;
  auto& w = start(s);
  send_probe();
  w.at(29ms);
  EXPECT_EQ(w.live(), 1u);
  w.at(30ms);
  EXPECT_EQ(w.take(), (lines{"0s worker <- probe #0", "30ms #0 cancelled"}));
  EXPECT_EQ(a.take(), (lines{"child deadline_exceeded, executed"}));
  EXPECT_EQ(b.take(),
            (lines{"admit", "abandon deadline_exceeded, executed, in flight"}));
}

TEST_F(probe, ends_by_its_own_deadline_if_it_has_one) {
  world_setup s;
  s.config.default_deadline = 30ms;
  auto& w = start(s);
  send_probe({.deadline = engine_world::origin() + 10ms});
  send_probe({.deadline = engine_world::origin() + 90ms});
  w.at(10ms);
  EXPECT_EQ(w.live(), 1u);
  w.at(89ms);
  EXPECT_EQ(w.live(), 1u);
  w.at(90ms);
  EXPECT_EQ(w.live(), 0u);
}

TEST_F(probe, to_a_target_of_the_layer) {
  auto& w = start();
  send_probe({.target = 1});
  w.fail(0);
  EXPECT_EQ(w.take(), (lines{"0s target 2 <- probe #0"}));
  EXPECT_EQ(a.take(), (lines{"child failed, executed"}));
}

TEST_F(probe, a_worker_that_is_not_there) {
  auto& w = start({.start = behind::dead_worker});
  send_probe();
  EXPECT_EQ(a.take(), (lines{"child worker_down"}));
  EXPECT_TRUE(w.take().empty());
}

TEST_F(probe, a_drain_waits_for_it) {
  auto& w = start();
  send_probe();
  w.drain();
  EXPECT_EQ(w.unanswered(), 1u);
  w.at(3ms);
  w.answer(0, "fine");
  EXPECT_EQ(w.take(), (lines{"0s worker <- probe #0", "3ms call 0 = ()"}));
}

TEST_F(probe, stopping_recalls_it_without_a_report) {
  world_setup s;
  s.worker.takes_cancelled = true;
  a.on_child = [](auto, auto&, auto&) {
    ADD_FAILURE();
    return decision::pass();
  };
  auto& w = start(s);
  send_probe();
  w.stop();
  EXPECT_EQ(w.take(), (lines{"0s worker <- probe #0", "0s #0 cancelled"}));
}

TEST_F(probe, can_be_cancelled) {
  auto& w = start();
  auto child = send_probe();
  let([&](env& e) { e.cancel_child(child); });
  EXPECT_EQ(w.live(), 0u);
  EXPECT_TRUE(a.take().empty());
  w.answer(0, "late");
  EXPECT_EQ(w.metric("late_results"), 1);
}

TEST_F(probe, goes_on_when_a_call_that_joined_has_left) {
  world_setup s;
  s.config.default_deadline = 30ms;
  auto& w = start(s);
  auto child = send_probe();
  w.call("x", {.time_left = 5ms});
  w.call("y", {.time_left = 50ms});
  let([&](env& e) { e.join_child(child, held[0]); });
  w.at(5ms);
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by gate, executed");
  EXPECT_EQ(w.metric("in_flight"), 1);
  // Somebody who can wait longer does not make it last longer.
  let([&](env& e) { e.join_child(child, held[1]); });
  w.at(30ms);
  EXPECT_EQ(w.answer_to(1), "deadline_exceeded by gate, executed");
}

TEST_F(probe, its_reply_is_not_split) {
  outer.on_split = [](auto&, auto, auto&) {
    ADD_FAILURE();
    return std::nullopt;
  };
  auto& w = start();
  send_probe();
  w.answer(0, "fine");
}

TEST_F(probe, many_in_one_turn) {
  auto& w = start();
  let([](env& e) {
    for (auto i = 0; i < 20; ++i)
      e.start_child({});
  });
  EXPECT_EQ(w.metric("in_flight"), 20);
  for (std::size_t i = 20; i-- > 0;)
    w.answer(i, "fine");
  EXPECT_EQ(a.take(), lines(20, "child ok"));
}

} // namespace
} // namespace caisson::test
