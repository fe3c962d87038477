// Deadlines: of callers, of layers, of the gate.
#include <caisson/policies/deadline/deadline.hpp>

#include <support/engine_world.hpp>
#include <support/puppet.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

/// Two layers that may each set a deadline, in front of a third.
struct deadlines : testing::Test {
  engine_world& start(world_setup s = {}) {
    s.worker.takes_calls = true;
    return world.emplace(std::move(stack), std::move(s));
  }

  /// The layer gives each call so much time; as `deadline` does it.
  static void limit(puppet& p, duration d) {
    p.on_admit = [d](call_info& c, slot&, env& e) {
      auto limit = time_after(e.now, d);
      if (c.default_deadline || limit < c.deadline) {
        c.deadline = limit;
        c.default_deadline = false;
      }
      return decision::pass();
    };
  }

  /// The deadline that the worker got last; zero: no deadline.
  [[nodiscard]] duration announced_time_left() const {
    const auto& o = portable::get_if<caisson::call>(
                      world->attempts.back().content)
                      ->options;
    if (o.deadline_ns == 0)
      return duration::zero();
    return time_point{duration{o.deadline_ns}} - engine_world::origin();
  }

  puppets stack;
  puppet_layer& outer = stack.add("outer", 1);
  puppet_layer& middle = stack.add("middle");
  puppet_layer& inner = stack.add("inner");
  puppet& a = outer.machine();
  puppet& b = middle.machine();
  puppet& c = inner.machine();
  std::optional<engine_world> world;
};

TEST_F(deadlines, a_call_is_answered_at_its_deadline_not_earlier) {
  auto& w = start();
  w.call("x", {.time_left = 5ms});
  w.at(4999999ns);
  EXPECT_EQ(w.unanswered(), 1u);
  w.at(5ms);
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by gate, executed");
  EXPECT_EQ(c.take(),
            (lines{"admit", "abandon deadline_exceeded, executed, in flight"}));
  EXPECT_EQ(w.metric("expired"), 1);
}

TEST_F(deadlines, an_answer_just_before_it_is_in_time_one_at_it_is_late) {
  for (auto [t, answer] :
       {std::pair{4999999ns, "y"},
        std::pair{5000000ns, "deadline_exceeded by gate, executed"}}) {
    puppets none;
    engine_world w{std::move(none)};
    w.call("x", {.time_left = 5ms});
    w.jump(t);
    w.answer(0, "y");
    EXPECT_EQ(w.answer_to(0), answer);
    w.at(6ms);
  }
}

TEST_F(deadlines, the_earlier_of_two_that_are_given_counts) {
  auto at = [](duration d) {
    return (engine_world::origin() + d).time_since_epoch().count();
  };
  auto& w = start();
  w.call("x", {.time_left = 5ms, .deadline_ns = at(9ms)});
  EXPECT_EQ(announced_time_left(), duration{5ms});
  w.call("x", {.time_left = 9ms, .deadline_ns = at(5ms)});
  EXPECT_EQ(announced_time_left(), duration{5ms});
  w.call("x", {.deadline_ns = at(0ms)});
  EXPECT_EQ(w.answer_to(2), "deadline_exceeded by gate");
  EXPECT_EQ(w.metric("expired_on_arrival"), 1);
  w.at(5ms);
}

TEST_F(deadlines, of_nested_layers_each_goes_by_its_own) {
  limit(a, 20ms);
  limit(b, 10ms);
  limit(c, 5ms);
  auto& w = start();
  w.call("x");
  EXPECT_EQ(announced_time_left(), duration{5ms});
  w.at(5ms);
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by inner, executed");
  EXPECT_EQ(c.take(), (lines{"admit", "deadline"}));
  EXPECT_EQ(b.take(), (lines{"admit", "complete deadline_exceeded, executed"}));
}

TEST_F(deadlines, of_an_outer_layer_takes_the_call_from_inner_layers) {
  limit(a, 20ms);
  limit(b, 10ms);
  auto& w = start();
  w.call("x");
  w.at(10ms);
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by middle, executed");
  EXPECT_EQ(c.take(),
            (lines{"admit", "abandon deadline_exceeded, executed, in flight"}));
  EXPECT_EQ(a.take(), (lines{"admit", "complete deadline_exceeded, executed"}));
}

TEST_F(deadlines, the_outer_one_is_back_when_a_call_goes_up) {
  limit(b, 5ms);
  a.keeps_content = true;
  a.on_complete = [](auto&, auto&, outcome& o, env& e) {
    return o.ok ? decision::pass() : decision::hold(time_after(e.now, 2ms));
  };
  auto& w = start();
  w.call("x", {.time_left = 8ms});
  w.at(3ms);
  w.fail(0);
  w.at(5ms);
  EXPECT_EQ(announced_time_left(),
            duration{8ms}); // 5 ms more would be too much.
  w.fail(1);
  w.at(20ms);
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by gate, executed");
  EXPECT_EQ(b.inside, 0);
}

TEST_F(deadlines, can_be_lifted_by_their_layer) {
  limit(a, 20ms);
  limit(b, 10ms);
  b.on_deadline = [](auto&, auto&, auto&) { return decision::pass(); };
  auto& w = start();
  w.call("x");
  w.at(15ms);
  EXPECT_EQ(w.unanswered(), 1u);
  EXPECT_EQ(b.take(), (lines{"admit", "deadline"}));
  w.at(20ms);
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by outer, executed");
}

TEST_F(deadlines, of_a_layer_that_only_observes_now_is_lifted) {
  limit(b, 10ms);
  auto& w = start();
  w.call("x", {.time_left = 30ms});
  w.command(operator_command::observe, "middle");
  w.at(29ms);
  EXPECT_EQ(w.unanswered(), 1u);
  w.answer(0, "y");
  EXPECT_EQ(w.answer_to(0), "y");
}

TEST_F(deadlines, the_default_is_for_calls_without_a_deadline) {
  world_setup s;
  s.config.default_deadline = 30ms;
  auto& w = start(s);
  w.call_plainly("x");
  EXPECT_EQ(announced_time_left(), duration{30ms});
  w.call("x", {.time_left = 50ms});
  EXPECT_EQ(announced_time_left(), duration{50ms});
  w.call("x", {.time_left = unlimited});
  EXPECT_EQ(announced_time_left(), duration::zero());
  w.at(50ms);
  EXPECT_EQ(w.unanswered(), 1u);
  w.answer(2, "y");
}

TEST_F(deadlines, of_a_layer_takes_the_place_of_the_default) {
  limit(b, 50ms);
  c.on_admit = [](call_info& x, auto&, auto&) {
    EXPECT_FALSE(x.default_deadline);
    return decision::pass();
  };
  world_setup s;
  s.config.default_deadline = 30ms;
  auto& w = start(s);
  w.call_plainly("x");
  EXPECT_EQ(announced_time_left(), duration{50ms});
  w.at(49ms);
  EXPECT_EQ(w.unanswered(), 1u);
  w.at(50ms);
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by middle, executed");
}

TEST_F(deadlines, the_default_is_not_back_when_a_layers_is_over) {
  limit(b, 50ms);
  a.keeps_content = true;
  a.on_complete = [](auto&, auto&, auto&, env& e) {
    return decision::hold(time_after(e.now, 40ms));
  };
  world_setup s;
  s.config.default_deadline = 30ms;
  auto& w = start(s);
  w.call_plainly("x");
  w.fail(0);
  w.at(40ms);
  EXPECT_EQ(announced_time_left(), duration{90ms});
  w.stop();
}

TEST_F(deadlines, the_default_is_back_for_an_attempt_that_no_layer_limits) {
  limit(b, 50ms);
  a.keeps_content = true;
  a.on_complete = [](auto&, auto&, auto&, env& e) {
    return decision::hold(time_after(e.now, 40ms));
  };
  world_setup s;
  s.config.default_deadline = 30ms;
  auto& w = start(s);
  w.call_plainly("x");
  w.fail(0);
  middle.force_mode(mode::off);
  w.at(40ms);
  EXPECT_EQ(announced_time_left(), duration{70ms});
  w.at(70ms - 1ns);
  EXPECT_EQ(w.unanswered(), 1u);
  w.at(70ms);
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by gate, executed");
}

TEST_F(deadlines, the_default_is_back_when_a_layer_does_not_act_any_more) {
  limit(b, 50ms);
  world_setup s;
  s.config.default_deadline = 30ms;
  auto& w = start(s);
  w.call_plainly("x");
  w.call("x", {.time_left = unlimited});
  middle.force_mode(mode::observe);
  w.at(80ms - 1ns);
  EXPECT_EQ(w.unanswered(), 2u);
  w.at(80ms);
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by gate, executed");
  // Its caller wants to wait.
  EXPECT_EQ(w.unanswered(), 1u);
  w.answer(1, "y");
}

TEST_F(deadlines, the_default_is_back_for_a_call_that_waits_for_a_child) {
  limit(b, 50ms);
  a.keeps_content = true;
  a.on_complete = [](call_info& x, auto&, auto&, env& e) {
    e.start_child({.parents = {x.id}, .target = 0});
    return decision::hold();
  };
  world_setup s;
  s.config.default_deadline = 30ms;
  auto& w = start(s);
  w.call_plainly("x");
  w.at(50ms);
  EXPECT_EQ(w.attempts.size(), 2u);
  w.at(80ms - 1ns);
  EXPECT_EQ(w.unanswered(), 1u);
  w.at(80ms);
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by gate, executed");
}

TEST_F(deadlines, answer_a_call_that_a_layer_holds) {
  c.on_admit = [](auto&, auto&, env& e) {
    return decision::hold(time_after(e.now, 5ms));
  };
  auto& w = start();
  w.call("x", {.time_left = 5ms});
  w.at(9ms);
  EXPECT_EQ(w.take(), (lines{"5ms call 0 = deadline_exceeded by gate"}));
  EXPECT_EQ(c.take(), (lines{"admit", "abandon deadline_exceeded"}));
}

TEST_F(deadlines, found_late_let_nothing_pass) {
  c.on_admit = [](auto&, auto&, env& e) {
    return decision::hold(time_after(e.now, 2ms));
  };
  auto& w = start();
  w.call("x", {.time_left = 5ms});
  w.jump(7ms);
  w.wake();
  EXPECT_EQ(w.take(), (lines{"7ms call 0 = deadline_exceeded by gate"}));
}

TEST_F(deadlines, found_late_let_no_request_be_carried_out) {
  outer.values = {"value"};
  call_id held = 0;
  a.on_admit = [&](call_info& x, auto&, auto&) {
    held = x.id;
    return decision::hold();
  };
  a.wake_at = engine_world::origin() + 2ms;
  a.on_wake = [&](env& e) { e.resume(held); };
  auto& w = start();
  w.call("x", {.time_left = 5ms});
  w.jump(7ms);
  w.wake();
  a.wake_at = engine_world::origin() + 9ms;
  a.on_wake = [&](env& e) { e.answer(held, 0); };
  w.call("y", {.time_left = 5ms});
  w.jump(20ms);
  w.wake();
  EXPECT_EQ(w.take(), (lines{"7ms call 0 = deadline_exceeded by gate",
                             "20ms call 1 = deadline_exceeded by gate"}));
  EXPECT_TRUE(b.take().empty());
}

TEST_F(deadlines, written_in_complete_are_ignored) {
  c.on_complete = [](call_info& x, auto&, auto&, auto&) {
    x.deadline = never;
    return decision::pass();
  };
  a.on_complete = [](call_info& x, auto&, auto&, auto&) {
    EXPECT_EQ(x.deadline, engine_world::origin() + 5ms);
    return decision::pass();
  };
  auto& w = start();
  w.call("x", {.time_left = 5ms});
  w.answer(0, "y");
}

TEST_F(deadlines, a_target_that_keeps_deadlines_is_not_notified) {
  world_setup s;
  s.worker = {.keeps_deadlines = true, .takes_cancelled = true};
  auto& w = start(s);
  w.call("x", {.time_left = 5ms});
  w.call("y", {.time_left = 50ms});
  w.at(5ms);
  EXPECT_FALSE(w.attempts[0].cancelled);
  w.cancel(1, 2);
  EXPECT_TRUE(w.attempts[1].cancelled);
}

TEST_F(deadlines, of_many_calls_come_in_order) {
  auto& w = start();
  for (auto i = 9; i > 0; --i)
    w.call("x", {.time_left = i * 1ms});
  w.take();
  w.at(20ms);
  lines expected;
  for (auto i = 1; i < 10; ++i)
    expected.push_back(fmt::format(
      "{}ms call {} = deadline_exceeded by gate, executed", i, 9 - i));
  EXPECT_EQ(w.take(), expected);
}

} // namespace
} // namespace caisson::test
