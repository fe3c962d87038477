// Policies that throw, and invariants that are violated, wherever it happens:
// the engine ends.
#include <support/holding.hpp>
#include <support/violations.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

[[noreturn]] void boom() {
  throw std::runtime_error{"boom"};
}

struct engine_failures : testing::Test {
  engine_world& start(world_setup s = {}) {
    return world.emplace(std::move(stack), std::move(s));
  }

  // That call `n` was the last thing that the engine did.
  void expect_failed(std::size_t n, bool executed, std::string_view why) {
    auto text = fmt::format("internal_error by gate{}: {}",
                            executed ? ", executed" : "", why);
    EXPECT_EQ(world->answer_to(n), text);
    EXPECT_EQ(world->live(), 0u);
  }

  violations_throw guard;
  puppets stack;
  puppet_layer& outer = stack.add("outer");
  puppet_layer& inner = stack.add("inner", 1);
  puppet& a = outer.machine();
  puppet& b = inner.machine();
  std::optional<engine_world> world;
};

TEST_F(engine_failures, in_admit) {
  b.on_admit = [](auto&, auto&, env&) -> decision { boom(); };
  auto& w = start({.listens = true});
  w.call("x");
  EXPECT_EQ(w.take(), (lines{"0s gate: gate_failed (boom)",
                             "0s call 0 = internal_error by gate: boom",
                             "0s failed: internal_error by gate: boom"}));
}

TEST_F(engine_failures, in_complete) {
  a.on_complete = [](auto&, auto&, auto&, env&) -> decision { boom(); };
  auto& w = start({.worker = {.takes_cancelled = true}});
  w.call("x");
  w.call("y");
  w.take();
  w.answer(0, "z");
  EXPECT_EQ(w.take(),
            (lines{"0s call 0 = internal_error by gate, executed: boom",
                   "0s #1 cancelled",
                   "0s call 1 = internal_error by gate, executed: boom",
                   "0s failed: internal_error by gate: boom"}));
}

TEST_F(engine_failures, in_expire) {
  a.on_admit = [](auto&, auto&, env& e) { return decision::hold(e.now + 5ms); };
  a.on_expire = [](auto&, auto&, env&) -> decision { boom(); };
  auto& w = start();
  w.call("x");
  w.at(5ms);
  expect_failed(0, false, "boom");
  EXPECT_EQ(w.next_wake(), never);
}

TEST_F(engine_failures, in_abandon) {
  a.on_abandon = [](auto&, auto&, env&) { boom(); };
  auto& w = start();
  w.call("x", {.time_left = 5ms});
  w.call("y");
  w.at(5ms);
  expect_failed(0, true, "boom");
  expect_failed(1, true, "boom");
}

TEST_F(engine_failures, in_wake_at_the_end_of_a_step) {
  a.wake_at = engine_world::origin();
  a.on_wake = [](env&) { boom(); };
  auto& w = start();
  w.call("x");
  expect_failed(0, true, "boom");
}

TEST_F(engine_failures, in_child_done_the_parents_may_have_been_executed) {
  a.on_admit = [](call_info& c, auto&, env& e) {
    e.start_child({.parents = {c.id}});
    return decision::hold();
  };
  a.on_child = [](auto, auto&, env&) -> decision { boom(); };
  auto& w = start();
  w.call("x");
  w.answer(0, "y");
  expect_failed(0, true, "boom");
}

TEST_F(engine_failures, of_a_thing_that_is_no_exception) {
  a.on_admit = [](auto&, auto&, env&) -> decision { throw 1; };
  start().call("x");
  expect_failed(0, false, "unknown exception");
}

TEST_F(engine_failures, of_overdue_work_before_a_call_came) {
  a.on_abandon = [](auto&, auto&, env&) { boom(); };
  auto& w = start();
  w.call("x", {.time_left = 5ms});
  w.jump(5ms);
  w.call("y");
  expect_failed(0, true, "boom");
  // It has not come in, and is not lost.
  expect_failed(1, false, "boom");
}

TEST_F(engine_failures, later_messages_get_the_same_error) {
  a.on_admit = [](auto&, auto&, env&) -> decision { boom(); };
  auto& w = start();
  w.call("x");
  w.call("y");
  w.acquire_permit();
  w.release_permit(5);
  w.drain();
  for (std::size_t n = 0; n < 5; ++n)
    expect_failed(n, false, "boom");
  EXPECT_EQ(w.command(operator_command::reset), "internal_error by gate: boom");
  EXPECT_EQ(w.reconfigure("outer"), "internal_error by gate: boom");
  w.wake();
  w.cancel(1, 1);
  w.caller_down(1);
  w.kill(0);
}

TEST_F(engine_failures, a_lease_is_over) {
  b.on_drain = [](env&) { boom(); };
  auto& w = start({.start = behind::nothing});
  auto lent = w.acquire_permit();
  EXPECT_NE(w.permit_of(lent), 0u);
  w.drain();
  EXPECT_EQ(w.live(), 0u);
}

TEST_F(engine_failures, nothing_is_left_to_answer) {
  b.on_admit = [](auto&, auto&, env&) -> decision { boom(); };
  auto& w = start();
  w.send("x");
  EXPECT_EQ(w.take(), (lines{"0s failed: internal_error by gate: boom"}));
}

// -- the current call ---------------------------------------------------------

TEST_F(engine_failures, the_text_ends_with_the_state_of_the_call) {
  b.on_complete = [](auto&, auto&, auto&, env&) {
    return decision::reject(static_cast<errc>(0));
  };
  auto& w = start();
  w.call("x", {.time_left = 2003ms});
  w.call("y", {.time_left = 1s});
  w.at(1ms);
  w.answer(0, "z");
  EXPECT_TRUE(w.answer_to(0).ends_with(
    ": a policy rejects with code 0; call 1: moving, attempts: 1, time left: "
    "2.00 s, layers: outer, inner"))
    << w.answer_to(0);
  EXPECT_EQ(w.answer_to(1), w.answer_to(0));
}

TEST_F(engine_failures, the_call_may_be_in_no_layer_and_have_no_deadline) {
  a.on_admit = [](auto&, auto&, env&) {
    return decision::reject(static_cast<errc>(0));
  };
  auto& w = start({.config = {.default_deadline = unlimited}});
  w.call("x");
  EXPECT_TRUE(w.answer_to(0).ends_with(
    "; call 1: moving, attempts: 0, time left: unlimited, layers: none"))
    << w.answer_to(0);
}

TEST_F(engine_failures, a_held_call_is_the_current_one_when_its_time_is_over) {
  a.on_admit = [](auto&, auto&, env& e) { return decision::hold(e.now + 5ms); };
  a.on_expire = [](auto&, auto&, env&) {
    return decision::reject(static_cast<errc>(0));
  };
  auto& w = start();
  w.call("x", {.time_left = 5s});
  w.at(5ms);
  EXPECT_TRUE(w.answer_to(0).ends_with(
    "; call 1: held, attempts: 0, time left: 5.00 s, layers: outer"))
    << w.answer_to(0);
}

TEST_F(engine_failures, no_call_is_at_hand_as_a_policy_is_woken) {
  a.wake_at = engine_world::origin() + 5ms;
  a.on_wake = [](env& e) { e.resume(std::uint64_t{9} << 24); };
  auto& w = start();
  w.call("x");
  w.at(5ms);
  EXPECT_TRUE(
    w.answer_to(0).ends_with(": outer asks about call 9, which it never had"))
    << w.answer_to(0);
}

TEST_F(engine_failures, no_call_of_an_earlier_step_is_at_hand) {
  a.on_command = [](operator_command, env& e) {
    e.resume(std::uint64_t{9} << 24);
    return true;
  };
  auto& w = start();
  w.call("x");
  w.command(operator_command::reset, "outer");
  EXPECT_TRUE(
    w.answer_to(0).ends_with(": outer asks about call 9, which it never had"))
    << w.answer_to(0);
}

TEST_F(engine_failures, the_text_of_a_process_that_ends_has_the_state_too) {
  b.on_admit = [](auto&, auto&, env&) {
    return decision::reject(static_cast<errc>(0));
  };
  auto& w = start();
  EXPECT_DEATH(
    {
      abort_on_violation(true);
      w.call("x");
    },
    "rejects with code 0; call 1: moving, attempts: 0, .*layers: outer");
}

// -- what policies may not do -------------------------------------------------

struct broken_word {
  std::string_view message;
  std::function<decision(call_info&, env&)> admit;
};

TEST_F(engine_failures, a_policy_breaks_its_word) {
  const broken_word table[] = {
    {"a policy decides 9",
     [](auto&, auto&) {
       auto d = decision::pass();
       d.what = static_cast<decision::kind>(9);
       return d;
     }},
    {"a policy rejects with code 0",
     [](auto&, auto&) { return decision::reject(static_cast<errc>(0)); }},
    {"a policy rejects with code 200",
     [](auto&, auto&) { return decision::reject(static_cast<errc>(200)); }},
    {"a policy asks to retry after -1 ns",
     [](auto&, auto&) { return decision::reject(errc::shed, -1ns); }},
    {"p gives call 1 what is not its own",
     [](auto& c, auto&) {
       c.deadline = time_after(c.deadline, 1ns);
       return decision::pass();
     }},
    {"p gives call 1 what is not its own",
     [](auto& c, auto&) {
       c.id = 0;
       return decision::pass();
     }},
    {"p asks about call 9, which it never had",
     [](auto&, auto& e) {
       e.resume(std::uint64_t{9} << 24);
       return decision::pass();
     }},
    {"p has no target 1",
     [](auto& c, auto& e) {
       e.start_child({.parents = {c.id}, .target = 1});
       return decision::hold();
     }},
    {"a policy rejects with code 0",
     [](auto& c, auto& e) {
       e.reject(c.id, static_cast<errc>(0));
       return decision::hold();
     }},
  };
  for (const auto& x : table) {
    SCOPED_TRACE(x.message);
    puppets one;
    auto& p = one.add("p", 1).machine();
    p.on_admit = [&](auto& c, auto&, env& e) { return x.admit(c, e); };
    engine_world w{std::move(one)};
    w.call("x", {.time_left = 1s});
    EXPECT_TRUE(w.answer_to(0).starts_with("internal_error by gate"))
      << w.answer_to(0);
    EXPECT_NE(w.answer_to(0).find(fmt::format(": {}; call ", x.message)),
              std::string::npos)
      << w.answer_to(0);
  }
}

TEST_F(engine_failures, a_policy_never_becomes_quiescent) {
  b.wake_at = engine_world::origin() - 1s;
  b.on_wake = [this](env& e) { b.wake_at = e.now - 1s, b.seen.clear(); };
  auto& w = start();
  w.call("x");
  EXPECT_NE(w.answer_to(0).find("something is due"), std::string::npos)
    << w.answer_to(0);
}

TEST_F(engine_failures, each_end_of_a_child_begins_another_child) {
  b.on_admit = [](call_info& c, auto&, env& e) {
    e.start_child({.parents = {c.id}});
    return decision::hold();
  };
  b.on_child = [this](auto, auto&, env& e) {
    b.seen.clear();
    e.start_child({.parents = {std::uint64_t{1} << 24}});
    return decision::hold();
  };
  auto& w = start({.start = behind::dead_worker});
  w.call("x");
  EXPECT_NE(w.answer_to(0).find("something is due"), std::string::npos)
    << w.answer_to(0);
}

} // namespace
} // namespace caisson::test
