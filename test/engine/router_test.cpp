#include <support/engine_world.hpp>
#include <support/puppet.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

/// Two layers in front of a worker.
struct router : testing::Test {
  puppets stack;
  puppet_layer& outer = stack.add("outer");
  puppet_layer& inner = stack.add("inner");
  puppet& a = outer.machine();
  puppet& b = inner.machine();

  engine_world& start(world_setup s = {}) {
    return world.emplace(std::move(stack), std::move(s));
  }

  std::optional<engine_world> world;
};

// -- down and up --------------------------------------------------------------

TEST_F(router, passes_a_call_down_and_its_answer_up) {
  auto& w = start();
  w.call("x");
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0"}));
  w.at(5ms);
  w.answer(0, "y");
  EXPECT_EQ(w.take(), (lines{"5ms call 0 = y"}));
  EXPECT_EQ(a.take(), (lines{"admit", "complete ok"}));
  EXPECT_EQ(b.take(), (lines{"admit", "complete ok"}));
}

TEST_F(router, meets_layers_from_the_outside_in_and_back) {
  lines order;
  a.on_admit = [&](auto&, auto&, auto&) {
    order.emplace_back("a down");
    return decision::pass();
  };
  b.on_admit = [&](auto&, auto&, auto&) {
    order.emplace_back("b down");
    return decision::pass();
  };
  a.on_complete = [&](auto&, auto&, auto&, auto&) {
    order.emplace_back("a up");
    return decision::pass();
  };
  b.on_complete = [&](auto&, auto&, auto&, auto&) {
    order.emplace_back("b up");
    return decision::pass();
  };
  auto& w = start();
  w.call("x");
  w.answer(0, "y");
  EXPECT_EQ(order, (lines{"a down", "b down", "b up", "a up"}));
}

TEST_F(router, an_error_of_the_worker_stays_its_own_also_with_our_code) {
  auto& w = start();
  w.call("x");
  w.fail(0);
  w.call("x");
  w.answer(1, caf::make_message(make_error(
                errc::shed, rejection{"elsewhere", 3ms, false, "busy"})));
  EXPECT_EQ(
    w.take(),
    (lines{"0s worker <- x #0", "0s call 0 = failed", "0s worker <- x #1",
           "0s call 1 = shed by elsewhere, executed, from worker, "
           "after 3ms: busy"}));
  EXPECT_EQ(a.take(), (lines{"admit", "complete failed, executed", "admit",
                             "complete shed, executed, after 3ms"}));
}

TEST_F(router, believes_a_gate_that_it_turned_a_call_away) {
  auto& w = start({.worker = {.is_gate = true}});
  w.call("x");
  w.answer(0, caf::make_message(make_error(
                errc::shed, rejection{"elsewhere", 3ms, false, {}})));
  EXPECT_EQ(w.answer_to(0), "shed by elsewhere, after 3ms");
  EXPECT_EQ(b.take(), (lines{"admit", "complete shed, after 3ms"}));
}

// What the layers learn of the threshold in an error with that code.
std::uint16_t threshold_seen(router& t, world_setup setup, errc code,
                             std::uint16_t threshold) {
  std::uint16_t seen = 0;
  t.b.on_complete = [&](auto&, auto&, outcome& o, auto&) {
    seen = o.threshold;
    return decision::pass();
  };
  auto& w = t.start(std::move(setup));
  w.call("x");
  w.answer(0, caf::make_message(make_error(
                code, rejection{"shedder", 3ms, false, {}, false, threshold})));
  return seen;
}

TEST_F(router, layers_learn_the_threshold_of_a_gate) {
  EXPECT_EQ(
    threshold_seen(*this, {.worker = {.is_gate = true}}, errc::shed, 4'096),
    4'096);
}

TEST_F(router, an_impossible_threshold_is_ignored) {
  EXPECT_EQ(
    threshold_seen(*this, {.worker = {.is_gate = true}}, errc::shed, 4'097), 0);
}

TEST_F(router, other_errors_have_no_threshold) {
  EXPECT_EQ(threshold_seen(*this, {.worker = {.is_gate = true}},
                           errc::queue_full, 4'096),
            0);
}

TEST_F(router, a_worker_that_is_no_gate_has_no_threshold) {
  EXPECT_EQ(threshold_seen(*this, {}, errc::shed, 4'096), 0);
}

TEST_F(router, a_rejection_goes_up_from_where_it_was_made) {
  b.on_admit = [](auto&, auto&, auto&) {
    return decision::reject(errc::breaker_open, 4ms);
  };
  auto& w = start();
  w.call("x");
  EXPECT_EQ(w.take(), (lines{"0s call 0 = breaker_open by inner, after 4ms"}));
  EXPECT_EQ(a.take(), (lines{"admit", "complete breaker_open, after 4ms"}));
  EXPECT_EQ(b.take(), (lines{"admit"}));
}

TEST_F(router, a_layer_can_replace_an_outcome) {
  b.on_complete = [](auto&, auto&, auto&, auto&) {
    return decision::reject(errc::shed, 1ms);
  };
  auto& w = start();
  w.call("x");
  w.answer(0, "y");
  EXPECT_EQ(w.answer_to(0), "shed by inner, executed, after 1ms");
  EXPECT_EQ(a.take(), (lines{"admit", "complete shed, executed, after 1ms"}));
}

TEST_F(router, a_plain_message_gets_no_answer) {
  auto& w = start();
  w.send("x");
  w.answer(0, "y");
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0"}));
  EXPECT_EQ(w.metric("plain_sends"), 1);
  EXPECT_EQ(w.metric("succeeded"), 1);
}

// -- holds --------------------------------------------------------------------

TEST_F(router, a_hold_ends_when_its_time_has_come) {
  b.on_admit = [](auto&, auto&, env& e) {
    return decision::hold(time_after(e.now, 5ms));
  };
  auto& w = start();
  w.call("x");
  w.at(4999us);
  EXPECT_EQ(w.metric("held"), 1);
  EXPECT_TRUE(w.take().empty());
  w.at(5ms);
  EXPECT_EQ(w.take(), (lines{"5ms worker <- x #0"}));
  w.answer(0, "y");
  EXPECT_EQ(b.take(), (lines{"admit", "expire", "complete ok"}));
}

TEST_F(router, a_hold_that_is_over_already_ends_in_the_same_step) {
  a.on_admit = [](auto&, auto&, env& e) { return decision::hold(e.now); };
  auto& w = start();
  w.call("x");
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0"}));
  w.answer(0, "y");
}

TEST_F(router, a_hold_can_be_made_longer_or_end_in_a_rejection) {
  auto times = 0;
  b.on_admit = [](auto&, auto&, env& e) {
    return decision::hold(time_after(e.now, 5ms));
  };
  b.on_expire = [&](auto&, auto&, env& e) {
    return ++times < 3 ? decision::hold(time_after(e.now, 1ms))
                       : decision::reject(errc::wait_timeout, 9ms);
  };
  auto& w = start();
  w.call("x");
  w.at(1s);
  EXPECT_EQ(w.take(), (lines{"7ms call 0 = wait_timeout by inner, after 9ms"}));
  EXPECT_EQ(a.take(), (lines{"admit", "complete wait_timeout, after 9ms"}));
}

TEST_F(router, a_held_call_is_resumed_or_rejected_on_request) {
  std::vector<call_id> held;
  b.on_admit = [&](call_info& c, auto&, auto&) {
    held.push_back(c.id);
    return decision::hold();
  };
  b.on_wake = [&](env& e) {
    e.resume(held[1]);
    e.reject(held[0], errc::shed, 2ms);
    e.resume(held[0]); // Is over by then.
    e.resume(held[1]); // Is below by then.
    e.reject(4711, errc::shed);
  };
  b.wake_at = engine_world::origin() + 3ms;
  auto& w = start();
  w.call("x");
  w.call("y");
  w.at(3ms);
  EXPECT_EQ(w.take(), (lines{"3ms worker <- y #0",
                             "3ms call 0 = shed by inner, after 2ms"}));
  w.answer(0, "z");
}

TEST_F(router, requests_of_admit_are_done_when_the_call_is_held) {
  b.on_admit = [](call_info& c, auto&, env& e) {
    e.resume(c.id);
    return decision::hold();
  };
  auto& w = start();
  w.call("x");
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0"}));
  w.answer(0, "y");
}

TEST_F(router, a_layer_cannot_resume_a_call_of_another_layer) {
  call_id held = 0;
  b.on_admit = [&](call_info& c, auto&, auto&) {
    held = c.id;
    return decision::hold();
  };
  a.on_wake = [&](env& e) { e.resume(held); };
  a.wake_at = engine_world::origin() + 3ms;
  auto& w = start();
  w.call("x");
  w.at(5ms);
  EXPECT_TRUE(w.take().empty());
  w.cancel(1, 1);
}

TEST_F(router, an_outcome_that_is_held_makes_another_attempt) {
  auto times = 0;
  b.keeps_content = true;
  b.on_complete = [&](call_info& c, auto&, outcome&, env& e) {
    ++c.attempt;
    return ++times < 3 ? decision::hold(time_after(e.now, 10ms))
                       : decision::pass();
  };
  auto& w = start({.worker = {.takes_calls = true}});
  w.call("x", {.stands_for = 9});
  w.fail(0);
  w.at(10ms);
  w.fail(1);
  w.at(20ms);
  w.answer(2, "y");
  EXPECT_EQ(w.take(), (lines{"0s worker <- x #0", "10ms worker <- x #1",
                             "20ms worker <- x #2", "20ms call 0 = y"}));
  EXPECT_EQ(b.take(),
            (lines{"admit", "complete failed, executed", "expire",
                   "complete failed, executed", "expire", "complete ok"}));
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& o = portable::get_if<caisson::call>(w.attempts[i].content)
                      ->options;
    EXPECT_EQ(o.attempt, i + 1);
    EXPECT_EQ(o.stands_for, i == 0 ? 9 : 0) << "it counts once";
  }
}

TEST_F(router, a_value_of_the_layer_comes_to_its_complete) {
  outer.values = {"zero", "one"};
  a.on_complete = [&](call_info& c, auto&, outcome& o, env& e) {
    if (o.ok)
      return decision::pass();
    e.answer(c.id, 1);
    return decision::hold();
  };
  auto& w = start();
  w.call("x");
  w.fail(0);
  EXPECT_EQ(w.answer_to(0), "one");
  EXPECT_EQ(a.take(),
            (lines{"admit", "complete failed, executed", "complete ok"}));
}

// -- late and foreign answers -------------------------------------------------

TEST_F(router, an_answer_without_a_call_is_counted) {
  auto& w = start({.listens = true});
  w.call("x", {.time_left = 5ms});
  w.at(5ms);
  w.answer(0, "y");
  w.answer(0, "z");
  EXPECT_EQ(w.take(),
            (lines{"0s worker <- x #0", "5ms gate: expired",
                   "5ms call 0 = deadline_exceeded by gate, executed",
                   "5ms gate: late_result", "5ms gate: late_result"}));
  EXPECT_EQ(w.metric("late_results"), 2);
}

TEST_F(router, the_answer_to_an_earlier_attempt_is_late) {
  b.keeps_content = true;
  auto times = 0;
  b.on_complete = [&](auto&, auto&, auto&, env& e) {
    return times++ == 0 ? decision::hold(e.now) : decision::pass();
  };
  auto& w = start();
  w.call("x");
  w.fail(0);
  w.answer(0, "early");
  EXPECT_EQ(w.unanswered(), 1u);
  w.answer(1, "late");
  EXPECT_EQ(w.answer_to(0), "late");
  EXPECT_EQ(w.metric("late_results"), 1);
}

TEST_F(router, answers_with_unknown_keys_are_late_results) {
  auto& w = start();
  w.call("x");
  for (std::uint64_t key :
       {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{},
        w.attempts[0].key ^ (1u << 30), w.attempts[0].key + 1})
    w.step([&](auto& e, auto now) { e.on_answer(key, text("z"), now); });
  EXPECT_EQ(w.metric("late_results"), 5);
  EXPECT_EQ(w.unanswered(), 1u);
  w.answer(0, "y");
}

// -- modes --------------------------------------------------------------------

TEST_F(router, a_layer_that_is_off_is_not_asked) {
  b.on_admit = [](auto&, auto&, auto&) { return decision::reject(errc::shed); };
  inner.configure_mode(mode::off);
  auto& w = start();
  w.call("x");
  w.answer(0, "y");
  EXPECT_EQ(w.answer_to(0), "y");
  EXPECT_TRUE(b.take().empty());
}

TEST_F(router, a_layer_that_observes_holds_and_rejects_nothing) {
  inner.configure_mode(mode::observe);
  auto& w = start();
  b.on_admit = [](auto&, auto&, auto&) { return decision::reject(errc::shed); };
  w.call("x");
  w.answer(0, "y");
  EXPECT_EQ(b.take(), (lines{"admit"}));
  b.on_admit = [](auto&, auto&, auto&) { return decision::hold(); };
  w.call("x");
  w.answer(1, "y");
  EXPECT_EQ(b.take(), (lines{"admit", "abandon cancelled"}));
  b.on_admit = nullptr;
  b.on_complete = [](auto&, auto&, auto&, auto&) { return decision::hold(); };
  w.call("x");
  w.answer(2, "y");
  EXPECT_EQ(b.take(), (lines{"admit", "complete ok", "abandon ok"}));
  b.on_complete = [](auto&, auto&, auto&, auto&) {
    return decision::reject(errc::shed);
  };
  w.call("x");
  w.answer(3, "y");
  EXPECT_EQ(b.take(), (lines{"admit", "complete ok"}));
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(w.answer_to(i), "y");
}

TEST_F(router, a_layer_that_is_turned_off_replaces_no_outcome) {
  auto& w = start();
  b.on_complete = [](auto&, auto&, auto&, auto&) {
    return decision::reject(errc::shed);
  };
  w.call("x");
  w.command(operator_command::off, "inner");
  w.answer(0, "y");
  EXPECT_EQ(w.answer_to(0), "y");
  EXPECT_EQ(b.inside, 0);
}

TEST_F(router, a_deadline_that_is_only_observed_is_not_kept) {
  inner.configure_mode(mode::observe);
  b.on_admit = [](call_info& c, auto&, env& e) {
    c.deadline = time_after(e.now, 1ms);
    return decision::pass();
  };
  auto& w = start({.worker = {.takes_calls = true}});
  w.call("x");
  EXPECT_EQ(
    portable::get_if<caisson::call>(w.attempts[0].content)->options.time_left,
    unlimited);
  w.at(5ms);
  w.answer(0, "y");
  EXPECT_EQ(w.answer_to(0), "y");
}

// -- arrival ------------------------------------------------------------------

TEST_F(router, options_that_no_gate_sends_are_refused) {
  auto& w = start();
  w.call("x", {.key = std::string(max_key_length + 1, 'k')});
  w.call("x", {.path = {1, 4711, 2}});
  w.call("x", {.path = std::vector<std::uint64_t>(max_path_length, 1)});
  w.call("x", {.time_left = -1ns});
  EXPECT_EQ(
    w.take(),
    (lines{"0s call 0 = invalid_config by gate: the key is too long",
           "0s call 1 = call_loop by gate: the call has passed this "
           "gate before",
           "0s call 2 = call_loop by gate: the call exceeds the maximum "
           "of 64 gates",
           "0s call 3 = deadline_exceeded by gate"}));
  w.call("x", {.idempotency_key = std::string(max_key_length + 1, 'k')});
  EXPECT_EQ(w.take(), (lines{"0s call 4 = invalid_config by gate: the "
                             "idempotency key is too long"}));
  w.call("x", {.key = std::string(max_key_length, 'k'),
               .path = std::vector<std::uint64_t>(max_path_length - 1, 1)});
  w.answer(0, "y");
  EXPECT_EQ(w.metric("refused_invalid"), 2);
  EXPECT_EQ(w.metric("refused_loop"), 2);
  EXPECT_EQ(w.metric("expired_on_arrival"), 1);
}

TEST_F(router, holds_no_more_calls_than_it_may) {
  world_setup s;
  s.config.max_calls = 2;
  auto& w = start(s);
  w.call("x");
  w.call("y");
  w.call("z");
  EXPECT_EQ(w.answer_to(2), "shed by gate: the gate is full (2 calls)");
  w.answer(0, "a");
  w.call("z");
  w.answer(1, "b");
  w.answer(2, "c");
  EXPECT_EQ(w.metric("refused_full"), 1);
}

TEST_F(router, options_of_a_call_travel) {
  auto& w = start({.worker = {.takes_calls = true}});
  auto by = engine_world::origin() + 50ms;
  w.call("x", {.deadline_ns = by.time_since_epoch().count(),
               .priority = 3,
               .permits = 4,
               .idempotent = idempotence::no,
               .attempt = 5,
               .key = "k",
               .path = {1, 2},
               .idempotency_key = "once",
               .user_priority = 128,
               .stands_for = 9});
  const auto& o = portable::get_if<caisson::call>(w.attempts[0].content)
                    ->options;
  EXPECT_EQ(time_point{duration{o.deadline_ns}}, by);
  EXPECT_EQ(o.priority, 3);
  EXPECT_EQ(o.permits, 4u);
  EXPECT_EQ(o.idempotent, idempotence::no);
  EXPECT_EQ(o.attempt, 5u);
  EXPECT_EQ(o.key, "k");
  EXPECT_EQ(o.path, (std::vector<std::uint64_t>{1, 2, 4711}));
  EXPECT_EQ(o.idempotency_key, "once");
  EXPECT_EQ(o.user_priority, 128);
  EXPECT_EQ(o.stands_for, 9);
  w.answer(0, "y");
}

TEST_F(router, options_of_a_call_are_bounded) {
  auto& w = start({.worker = {.takes_calls = true}});
  w.call("x", {.user_priority = 129, .stands_for = 17});
  const auto& o = portable::get_if<caisson::call>(w.attempts[0].content)
                    ->options;
  EXPECT_EQ(o.user_priority, 0);
  EXPECT_EQ(o.stands_for, 16);
  w.answer(0, "y");
}

TEST_F(router, a_remote_target_gets_the_time_left) {
  auto& w = start({.worker = {.takes_calls = true, .is_remote = true}});
  w.call("x", {.time_left = 50ms});
  const auto& o = portable::get_if<caisson::call>(w.attempts[0].content)
                    ->options;
  EXPECT_EQ(o.deadline_ns, 0);
  EXPECT_EQ(o.time_left, duration{50ms});
  w.answer(0, "y");
}

} // namespace
} // namespace caisson::test
