// A cache in an engine: what it asks of its host, and layers around it.
#include <caisson/stack/layers/cache_layer.hpp>

#include <support/engine_world.hpp>
#include <support/puppet.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

struct cache_engine : testing::Test {
  engine_world& start(cache_config c = {}, cache_forms forms = {},
                      world_setup s = {}) {
    puppets stack;
    outer = &stack.add("outer").machine();
    stack.add_layer<cache_layer>((c.name = "cache", c), std::move(forms));
    inner = &stack.add("inner").machine();
    outer->on_admit = [this](call_info& call, slot&, env&) {
      if (!holds)
        return decision::pass();
      held.push_back(call.id);
      return decision::hold();
    };
    s.worker.takes_cancelled = true;
    return world.emplace(std::move(stack), std::move(s));
  }

  /// Lets the outer layer's calls go on, all within one step.
  void let_go() {
    outer->on_command = [this](operator_command, env& e) {
      for (auto id : std::exchange(held, {}))
        e.resume(id);
      return true;
    };
    EXPECT_EQ(world->command(operator_command::reset, "outer"), "");
  }

  bool holds = false;
  std::vector<call_id> held;
  puppet* outer = nullptr;
  puppet* inner = nullptr;
  std::optional<engine_world> world;
};

TEST_F(cache_engine, a_kept_answer_goes_no_further_down) {
  auto& w = start();
  w.call("a", {.key = "k"});
  w.answer(0, "y");
  w.take();
  inner->seen.clear();
  w.call("a", {.key = "k"});
  EXPECT_EQ(w.take(), (lines{"0s call 1 = y"}));
  EXPECT_TRUE(inner->seen.empty());
  EXPECT_EQ(w.metric("held"), 0);
}

TEST_F(cache_engine, layers_above_learn_that_no_worker_was_asked) {
  auto& w = start();
  w.call("a", {.key = "k"});
  w.answer(0, "y");
  std::optional<outcome> seen;
  outer->on_complete = [&](auto&, auto&, outcome& o, env&) {
    seen = o;
    return decision::pass();
  };
  w.call("a", {.key = "k"});
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->ok);
  EXPECT_FALSE(seen->from_worker);
  EXPECT_FALSE(seen->may_have_executed);
}

// Both go on in one step: the second one asks to join a child that the layer
// below refuses before the host gets to that.
TEST_F(cache_engine, joining_a_child_that_has_ended_does_not_wait) {
  auto& w = start();
  inner->on_admit = [](auto&, auto&, auto&) {
    return decision::reject(errc::shed);
  };
  holds = true;
  for (int i = 0; i < 4; ++i)
    w.call("a", {.key = "k"});
  let_go();
  EXPECT_EQ(w.take(),
            (lines{"0s call 0 = shed by inner", "0s call 1 = shed by inner",
                   "0s call 2 = shed by inner", "0s call 3 = shed by inner"}));
}

TEST_F(cache_engine, a_caller_that_leaves_does_not_end_a_shared_load) {
  auto& w = start();
  w.call("a", {.time_left = 2ms, .key = "k"});
  w.call("b", {.key = "k"}, 5);
  w.call("c", {.key = "k"}, 6);
  w.at(2ms);
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by gate, executed");
  w.caller_down(5);
  EXPECT_EQ(w.metric("in_flight"), 1);
  w.at(9ms);
  w.answer(0, "y");
  EXPECT_EQ(w.answer_to(2), "y");
  EXPECT_EQ(w.attempts.size(), 1u);
}

TEST_F(cache_engine, the_last_one_that_leaves_ends_it) {
  auto& w = start();
  w.call("a", {.key = "k"}, 5);
  w.call("b", {.key = "k"}, 5);
  w.caller_down(5);
  EXPECT_TRUE(w.attempts[0].cancelled);
  w.call("c", {.key = "k"});
  EXPECT_EQ(w.attempts.size(), 2u);
  w.answer(1, "y");
}

// -- time limits --------------------------------------------------------------

// The worker gets deadlines, as a gate or a pool of threads does.
struct cache_deadlines : cache_engine {
  engine_world& start_with_deadlines(cache_config c = {}) {
    world_setup s;
    s.worker.takes_calls = s.worker.is_gate = true;
    return start(std::move(c), {}, std::move(s));
  }

  duration time_sent(std::size_t n) {
    const auto& o = world->attempts.at(n).content.get_as<call>(0).options;
    return duration{o.deadline_ns} - engine_world::origin().time_since_epoch();
  }

  static caf::message too_late() {
    return caf::make_message(
      make_error(errc::deadline_exceeded, rejection{"inner"}));
  }
};

TEST_F(cache_deadlines, a_patient_call_does_not_fail_with_an_impatient_one) {
  auto& w = start_with_deadlines();
  w.call("a", {.time_left = 50ms, .key = "k"});
  w.at(10ms);
  w.call("b", {.time_left = 3s, .key = "k"});
  w.call("c", {.time_left = 5s, .key = "k"});
  w.at(49ms);
  EXPECT_EQ(time_sent(0), 50ms);
  w.answer(0, too_late());
  EXPECT_EQ(w.answer_to(0), "deadline_exceeded by inner");
  ASSERT_EQ(w.attempts.size(), 2u);
  EXPECT_EQ(time_sent(1), 5s + 10ms) << "the latest of those that wait";
  w.at(200ms);
  w.answer(1, "y");
  EXPECT_EQ(w.answer_to(1), "y");
  EXPECT_EQ(w.answer_to(2), "y");
}

TEST_F(cache_deadlines, a_burst_sends_one_more_load) {
  auto& w = start_with_deadlines();
  w.call("a", {.time_left = 50ms, .key = "k"});
  for (int i = 0; i < 1'000; ++i)
    w.call("b", {.time_left = 1s + i * 1ms, .key = "k"});
  w.at(49ms);
  w.answer(0, too_late());
  EXPECT_EQ(w.attempts.size(), 2u);
  w.at(1s);
  w.answer(1, too_late());
  EXPECT_EQ(w.attempts.size(), 2u);
  EXPECT_EQ(w.live(), 0u);
}

TEST_F(cache_deadlines, another_load_is_sent_though_it_only_observes) {
  auto& w = start_with_deadlines();
  w.call("a", {.time_left = 50ms, .key = "k"}, 1);
  w.call("b", {.time_left = 3s, .key = "k"}, 5);
  w.at(49ms);
  EXPECT_EQ(w.command(operator_command::observe, "cache"), "");
  w.answer(0, too_late());
  EXPECT_EQ(w.answer_to(1), "");
  ASSERT_EQ(w.attempts.size(), 2u);
  w.answer(1, "late");
  EXPECT_EQ(w.answer_to(1), "late");
  EXPECT_EQ(w.live(), 0u);
}

TEST_F(cache_engine, a_refresh_has_the_content_and_key_of_its_call) {
  auto& w = start({.ttl = 1s, .stale_while = 1s});
  std::string key;
  inner->on_admit = [&](call_info& c, auto&, auto&) {
    key = c.key;
    return decision::pass();
  };
  w.call("a", {.key = "k"});
  w.answer(0, "old");
  w.at(1s);
  w.take();
  key.clear();
  w.call("b", {.key = "k"});
  EXPECT_EQ(w.take(), (lines{"1s call 1 = old", "1s worker <- b #1"}));
  EXPECT_EQ(key, "k");
  w.answer(1, "new");
  w.call("c", {.key = "k"});
  EXPECT_EQ(w.take(), (lines{"1s call 2 = new"}));
}

TEST_F(cache_engine, a_refresh_that_hangs_is_given_up) {
  world_setup s;
  s.config.default_deadline = unlimited;
  auto& w = start({.ttl = 1s, .stale_while = 1h, .refresh_timeout = 2s}, {}, s);
  w.call("a", {.key = "k"});
  w.answer(0, "old");
  w.at(1s);
  w.call("b", {.key = "k"});
  w.at(3s);
  EXPECT_TRUE(w.attempts.at(1).cancelled);
  EXPECT_EQ(w.live(), 0u);
}

TEST_F(cache_engine, an_old_value_stands_in_for_a_refusal_below) {
  auto& w = start({.ttl = 1s, .stale_if_error = 1h});
  w.call("a", {.key = "k"});
  w.answer(0, "old");
  w.at(1s);
  inner->on_admit = [](auto&, auto&, auto&) {
    return decision::reject(errc::breaker_open);
  };
  auto b = w.call("b", {.key = "k"});
  EXPECT_EQ(w.answer_to(b), "old");
}

TEST_F(cache_engine, an_error_that_is_kept_says_that_no_worker_was_asked) {
  cache_config c{.negative_ttl = 1s};
  c.negative.allow = {"system_error:*"};
  auto& w = start(c);
  w.call("a", {.key = "k"});
  w.fail(0);
  std::optional<outcome> seen;
  outer->on_complete = [&](auto&, auto&, outcome& o, env&) {
    seen = o;
    return decision::pass();
  };
  auto b = w.call("b", {.key = "k"});
  EXPECT_EQ(w.answer_to(b), "failed");
  ASSERT_TRUE(seen);
  EXPECT_FALSE(seen->from_worker);
  EXPECT_FALSE(seen->may_have_executed);
}

TEST_F(cache_engine, observing_adds_no_calls_and_learns) {
  auto& w = start({.mode = mode::observe, .ttl = 1s, .stale_while = 1s});
  for (std::size_t i = 0; i < 3; ++i) {
    w.call("a", {.key = "k"});
    ASSERT_EQ(w.attempts.size(), i + 1);
    w.answer(i, std::to_string(i));
    EXPECT_EQ(w.answer_to(i), std::to_string(i));
    w.pass(900ms);
  }
}

TEST_F(cache_engine, permits_bypass_it) {
  auto& w = start();
  auto n = w.acquire_permit({.key = "k"});
  ASSERT_NE(w.permit_of(n), 0u);
  w.release_permit(w.permit_of(n));
}

TEST_F(cache_engine, a_drain_waits_for_a_refresh) {
  auto& w = start({.ttl = 1s, .stale_while = 1s});
  w.call("a", {.key = "k"});
  w.answer(0, "old");
  w.at(1s);
  w.call("b", {.key = "k"});
  w.drain();
  EXPECT_EQ(w.unanswered(), 1u);
  w.answer(1, "new");
  EXPECT_EQ(w.unanswered(), 0u);
}

TEST_F(cache_engine, stopping_answers_all_that_wait) {
  auto& w = start();
  w.call("a", {.key = "k"});
  w.call("b", {.key = "k"});
  w.stop();
  EXPECT_EQ(w.answer_to(0), "cancelled by gate, executed");
  EXPECT_EQ(w.answer_to(1), "cancelled by gate, executed");
}

// The worker gets the write all the same.
TEST_F(cache_engine,
       an_error_in_place_of_an_acknowledgement_may_have_executed) {
  cache_forms forms;
  forms.write = [](const caf::message& x) -> std::optional<cached_write> {
    return cached_write{"k", x, caf::make_message(std::string{"noted"})};
  };
  auto& w = start({.flush_after = 3s}, std::move(forms));
  outer->on_complete = [](auto&, auto&, outcome& o, env&) {
    EXPECT_TRUE(o.may_have_executed);
    return decision::reject(errc::injected);
  };
  w.call("w1");
  EXPECT_EQ(w.answer_to(0), "injected by outer, executed");
  w.at(3s);
  ASSERT_EQ(w.attempts.size(), 1u);
  w.answer(0, "ok");
}

} // namespace
} // namespace caisson::test
