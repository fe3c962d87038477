// Faults on purpose, and what the layers around them make of them.
#include "support/local_proxy.hpp"
#include "support/stack_texts.hpp"
#include "support/world.hpp"

#include <caisson/policies/chaos.hpp>
#include <caisson/stack/add.hpp>

#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

chaos_config errors() {
  return {.enabled = true,
          .error_rate = 1,
          .latency_rate = 0,
          .outcome_rate = 0,
          .silence_rate = 0};
}

chaos_config lost_answers() {
  auto c = errors();
  c.error_rate = 0;
  c.outcome_rate = 1;
  return c;
}

chaos_config late(schedule latency) {
  auto c = errors();
  c.error_rate = 0;
  c.latency_rate = 1;
  c.latency = std::move(latency);
  return c;
}

chaos_config silent(duration d) {
  auto c = errors();
  c.error_rate = 0;
  c.silence_rate = 1;
  c.silence = d;
  return c;
}

class chaos_test : public world_test {
protected:
  static retrier_config thrice(bool idempotent = false) {
    return {.max_attempts = 3,
            .backoff = schedule::constant(10ms),
            .idempotent = idempotent};
  }

  // Only that one, and what its context says.
  static void expect(const pending_answer& a, errc code, bool may_have_executed,
                     const std::string& by = "chaos") {
    ASSERT_EQ(a.count(), 1u);
    ASSERT_TRUE(a.is(code)) << to_string(a.content());
    auto* context = context_of(a.error());
    ASSERT_NE(context, nullptr);
    EXPECT_EQ(context->may_have_executed, may_have_executed);
    EXPECT_EQ(context->policy, by);
    EXPECT_FALSE(context->from_worker);
  }
};
CAISSON_ALL_ORDERS(chaos_test);

// -- below a retrier ----------------------------------------------------------

TEST_P(chaos_test, an_error_is_retried_although_the_call_is_not_idempotent) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{}.retrier(thrice()).add<chaos>(errors()));
  auto answer = world.request(g, wrap(1).idempotent(false));
  world.advance(1s);
  expect(answer, errc::injected, false);
  EXPECT_EQ(w.count(), 0u);
  EXPECT_EQ(metric_of(g, "chaos", "errors_injected"), 3);
}

TEST_P(chaos_test, a_lost_answer_is_retried_only_if_the_call_is_idempotent) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(),
                stack{}.retrier(thrice()).add<chaos>(lost_answers()));
  auto once = world.request(g, 1);
  world.advance(1s);
  expect(once, errc::injected, true);
  EXPECT_EQ(w.count(), 1u);
  EXPECT_EQ(metric_of(g, "retrier", "not_idempotent"), 1);
  auto often = world.request(g, wrap(1).idempotent(true));
  world.advance(1s);
  expect(often, errc::injected, true);
  EXPECT_EQ(w.count(), 4u);
  EXPECT_EQ(metric_of(g, "chaos", "outcomes_injected"), 4);
}

TEST_P(chaos_test, a_lost_answer_of_a_call_that_was_not_executed_says_so) {
  auto w = make_worker(doubles());
  auto inner = gate(w.handle(), stack{"inner"}.semaphore({.permits = 1}));
  auto g = gate(inner, stack{}.retrier(thrice()).add<chaos>(lost_answers()));
  w.become({}); // Keeps the first one.
  world.request(inner, 0);
  auto answer = world.request(g, 1);
  world.advance(1s);
  expect(answer, errc::injected, false);
  EXPECT_EQ(metric_of(g, "chaos", "outcomes_injected"), 3);
}

TEST_P(chaos_test, each_attempt_meets_a_fate_of_its_own) {
  auto w = make_worker(doubles());
  auto half = errors();
  half.error_rate = 0.5;
  auto tries = thrice();
  tries.max_attempts = 20;
  tries.budget = false;
  tries.unsafe = true;
  auto g = gate(w.handle(), stack{}.seed(5).retrier(tries).add<chaos>(half));
  for (int i = 0; i < 50; ++i) {
    auto answer = world.request(g, i);
    world.advance(1s);
    ASSERT_EQ(answer.value<int>(), 2 * i);
  }
  EXPECT_EQ(w.count(), 50u);
  EXPECT_GT(metric_of(g, "chaos", "errors_injected"), 20);
}

TEST_P(chaos_test, the_silence_of_one_attempt_ends_with_its_deadline) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{}
                              .retrier(thrice())
                              .deadline({.timeout = 100ms})
                              .add<chaos>(silent(1h)));
  auto answer = world.request(g, wrap(1).idempotent(false));
  world.advance(1s);
  expect(answer, errc::deadline_exceeded, false, "deadline");
  EXPECT_EQ(metric_of(g, "chaos", "silences_injected"), 3);
  EXPECT_EQ(metric_of(g, "chaos", "abandoned"), 3);
  EXPECT_EQ(metric_of(g, "chaos", "waiting"), 0);
  EXPECT_EQ(w.count(), 0u);
}

// -- below other layers -------------------------------------------------------

TEST_P(chaos_test, a_breaker_opens_on_injected_errors) {
  for (auto& c : {errors(), lost_answers(), silent(1s)}) {
    auto w = make_worker(doubles());
    auto g = gate(w.handle(), stack{}.breaker({.threshold = 3}).add<chaos>(c));
    for (int i = 0; i < 3; ++i) {
      auto answer = world.request(g, i);
      world.advance(1s);
      EXPECT_TRUE(answer.is(errc::injected));
    }
    EXPECT_EQ(state_of(g, "breaker"), "open");
    EXPECT_TRUE(world.request(g, 4).is(errc::breaker_open));
  }
}

TEST_P(chaos_test, a_fallback_answers_in_place_of_an_injected_error) {
  for (auto& c : {errors(), lost_answers()}) {
    auto w = make_worker(doubles());
    auto g = gate(w.handle(),
                  stack{}.fallback({alternative::answer(-1)}).add<chaos>(c));
    EXPECT_EQ(world.request(g, 21).value<int>(), -1);
    EXPECT_EQ(w.count(), c.outcome_rate > 0 ? 1u : 0u);
  }
}

TEST_P(chaos_test, a_limiter_gets_its_tokens_back_only_if_nothing_was_sent) {
  for (auto& c : {errors(), lost_answers()}) {
    auto w = make_worker(doubles());
    auto g = gate(
      w.handle(),
      stack{}.limiter({.rate = 1, .per = 1h, .burst = 5}).add<chaos>(c));
    EXPECT_TRUE(world.request(g, 1).is(errc::injected));
    EXPECT_EQ(metric_of(g, "limiter", "tokens"), c.error_rate > 0 ? 5 : 4);
  }
}

TEST_P(chaos_test, a_semaphore_lends_its_permit_for_as_long_as_it_takes) {
  auto w = make_worker(doubles());
  auto g = gate(
    w.handle(),
    stack{}.semaphore({.permits = 1}).add<chaos>(late(schedule::constant(1s))));
  auto first = world.request(g, 1);
  EXPECT_TRUE(world.request(g, 2).is(errc::queue_full));
  world.advance(1s);
  EXPECT_EQ(first.value<int>(), 2);
  EXPECT_EQ(metric_of(g, "semaphore", "in_use"), 0);
}

// -- time ---------------------------------------------------------------------

TEST_P(chaos_test, a_silence_ends_with_the_default_deadline_of_the_gate) {
  for (auto silence : {duration{1h}, duration{30s}}) {
    auto w = make_worker(doubles());
    auto g = gate(w.handle(), stack{}.add<chaos>(silent(silence)));
    auto answer = world.request(g, 1);
    world.advance(30s - 1ns);
    EXPECT_FALSE(answer.ready());
    EXPECT_EQ(metric_of(g, "chaos", "waiting"), 1);
    world.advance(1ns);
    expect(answer, errc::deadline_exceeded, false, "gate");
    EXPECT_EQ(metric_of(g, "chaos", "waiting"), 0);
    EXPECT_EQ(metric_of(g, "chaos", "abandoned"), 1);
    EXPECT_EQ(metric_of(g, "chaos", "silences_ended"), 0);
    EXPECT_EQ(w.count(), 0u);
  }
}

TEST_P(chaos_test, a_silence_without_a_deadline_ends_when_it_is_over) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(),
                stack{}.default_deadline(unlimited).add<chaos>(silent(2s)));
  auto answer = world.request(g, 1);
  world.advance(2s - 1ns);
  EXPECT_FALSE(answer.ready());
  world.advance(1ns);
  expect(answer, errc::injected, false);
  EXPECT_EQ(metric_of(g, "chaos", "silences_ended"), 1);
  EXPECT_EQ(w.count(), 0u);
}

TEST_P(chaos_test, a_latency_beyond_the_deadline_ends_with_it) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(),
                stack{}.add<chaos>(late(schedule::constant(unlimited))));
  auto answer = world.request(g, wrap(1).within(1s));
  world.advance(1s);
  expect(answer, errc::deadline_exceeded, false, "gate");
  auto soon = world.request(g, wrap(1).within(1s));
  world.request(g, reconfigure{"", {{"latency", "400ms"}}});
  auto late_one = world.request(g, wrap(2).within(1s));
  world.advance(400ms);
  EXPECT_EQ(late_one.value<int>(), 4);
  world.advance(600ms);
  EXPECT_TRUE(soon.is(errc::deadline_exceeded));
  EXPECT_EQ(w.count(), 1u);
}

TEST_P(chaos_test, a_caller_that_dies_leaves_nothing_behind) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{}.add<chaos>(silent(1h)));
  auto caller = world.make_probe();
  caller.request(g, 1);
  EXPECT_EQ(metric_of(g, "chaos", "waiting"), 1);
  world.kill(caller.handle());
  EXPECT_EQ(metric_of(g, "chaos", "waiting"), 0);
}

TEST_P(chaos_test, a_burst_of_silences_may_end_at_once) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(),
                stack{}.default_deadline(unlimited).add<chaos>(silent(1s)));
  std::vector<pending_answer> answers;
  for (int i = 0; i < 5'000; ++i)
    answers.push_back(world.request(g, i));
  EXPECT_EQ(metric_of(g, "chaos", "waiting"), 5'000);
  world.advance(1s);
  for (auto& x : answers)
    ASSERT_TRUE(x.is(errc::injected));
  EXPECT_EQ(metric_of(g, "chaos", "waiting"), 0);
}

// -- functions that throw -----------------------------------------------------

TEST_P(chaos_test, a_latency_that_throws_ends_the_call_unless_it_observes) {
  auto c = late(schedule::custom([](auto) -> std::optional<duration> {
    throw std::runtime_error{"no delay"};
  }));
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{}.add<chaos>(c));
  auto answer = world.request(g, 1);
  expect(answer, errc::callback_failed, false);
  EXPECT_EQ(context_of(answer.error())->text, "latency: no delay");
  EXPECT_EQ(metric_of(g, "chaos", "waiting"), 0);
  EXPECT_EQ(metric_of(g, "callbacks_failed"), 1);
  EXPECT_EQ(w.count(), 0u);
  world.request(g, command{operator_command::observe});
  EXPECT_EQ(world.request(g, 1).value<int>(), 2);
}

// -- operation ----------------------------------------------------------------

TEST_P(chaos_test, observing_it_counts_and_reports_but_harms_no_call) {
  struct row {
    chaos_config c;
    std::string fault;
    std::string counter;
  };
  for (auto& [c, fault, counter] : std::vector<row>{
         {errors(), "error", "errors_injected"},
         {late(schedule::constant(1h)), "latency", "latencies_injected"},
         {lost_answers(), "outcome", "outcomes_injected"},
         {silent(1h), "silence", "silences_injected"}}) {
    c.mode = mode::observe;
    auto w = make_worker(doubles());
    auto g = gate(w.handle(), stack{fault}.add<chaos>(c));
    world.send(g, subscribe{});
    EXPECT_EQ(world.request(g, 21).value<int>(), 42);
    EXPECT_EQ(metric_of(g, "chaos", counter), 1);
    EXPECT_EQ(metric_of(g, "chaos", "observed_passes"), 1);
    EXPECT_EQ(metric_of(g, "chaos", "waiting"), 0);
    auto last = world.user().received_as<event>().back();
    EXPECT_EQ(last.gate, fault);
    EXPECT_EQ(last.layer, "chaos");
    EXPECT_EQ(last.kind, event_kind::injected);
    EXPECT_EQ(last.detail, fault);
    EXPECT_EQ(last.delay, fault == "latency" ? 1h : 0s);
  }
}

TEST_P(chaos_test, turned_off_it_leaves_also_those_alone_that_are_below) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{}.add<chaos>(lost_answers()));
  auto answer = world.request(g, 1);
  world.request(g, command{operator_command::off});
  w.answer(7);
  EXPECT_EQ(answer.value<int>(), 7);
  auto next = world.request(g, 1);
  w.answer(8);
  EXPECT_EQ(next.value<int>(), 8);
}

TEST_P(chaos_test, is_enabled_by_a_message) {
  auto w = make_worker(doubles());
  auto c = errors();
  c.enabled = false;
  auto g = gate(w.handle(), stack{}.add<chaos>(c));
  EXPECT_EQ(world.request(g, 1).value<int>(), 2);
  EXPECT_TRUE(world.request(g, reconfigure{"", {{"enabled", "true"}}}).ok());
  EXPECT_TRUE(world.request(g, 1).is(errc::injected));
  EXPECT_TRUE(world.request(g, reconfigure{"", {{"latency_rate", "0.5"}}})
                .is(errc::invalid_config));
  EXPECT_TRUE(world.request(g, reconfigure{"", {{"enabled", "false"}}}).ok());
  EXPECT_EQ(world.request(g, 1).value<int>(), 2);
}

TEST_P(chaos_test, draining_waits_for_those_that_it_holds) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{}.add<chaos>(late(schedule::constant(1s))));
  auto answer = world.request(g, 1);
  auto drained = world.request(g, drain{});
  world.advance(999ms);
  EXPECT_FALSE(drained.ready());
  world.advance(1ms);
  EXPECT_EQ(answer.value<int>(), 2);
  EXPECT_TRUE(drained.ok());
}

TEST_P(chaos_test, the_same_seed_gives_the_same_faults) {
  auto c = errors();
  c.error_rate = 0.4;
  auto w = make_worker(doubles());
  auto faults = [&](std::int64_t seed) {
    auto g = gate(w.handle(), stack{}.seed(seed).add<chaos>(c));
    std::string out;
    for (int i = 0; i < 64; ++i)
      out += world.request(g, i).ok() ? '.' : 'x';
    return out;
  };
  EXPECT_EQ(faults(1), faults(1));
  EXPECT_NE(faults(1), faults(2));
}

// -- permits ------------------------------------------------------------------

TEST_P(chaos_test, a_request_for_a_permit_meets_faults_too) {
  auto desk = [&](chaos_config c) {
    return gate(worker{},
                stack{}.breaker({.threshold = 1}).semaphore().add<chaos>(c));
  };
  auto refusing = desk(errors());
  expect(world.request(refusing, acquire{}), errc::injected, false);
  EXPECT_EQ(metric_of(refusing, "semaphore", "in_use"), 0);

  auto losing = desk(lost_answers());
  auto lent = world.request(losing, acquire{});
  EXPECT_TRUE(world.request(losing, release{lent.value<permit>().id}).ok());
  EXPECT_EQ(state_of(losing, "breaker"), "open");
  EXPECT_EQ(metric_of(losing, "semaphore", "in_use"), 0);
}

// -- forms --------------------------------------------------------------------

TEST_P(chaos_test, in_toml_it_is_the_same) {
  auto from_text = only_stack(R"(
[[stack.s.layer]]
kind = "chaos"
enabled = true
error_rate = 0
latency_rate = 1
latency = { kind = "list", delays = ["250ms"] }
outcome_rate = 0
silence_rate = 0
silence = "5s"
)")
                     .policies;
  auto c = late(schedule::list({250ms}));
  c.silence = 5s;
  EXPECT_EQ(rows_in(from_text), rows_in(stack{"s"}.add<chaos>(c)));
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), from_text);
  auto answer = world.request(g, 1);
  world.advance(250ms - 1ns);
  EXPECT_FALSE(answer.ready());
  world.advance(1ns);
  EXPECT_EQ(answer.value<int>(), 2);
}

TEST_P(chaos_test, a_local_gate_has_it_too) {
  auto w = make_worker(doubles());
  auto local = [&](chaos_config c) {
    return own(
      local_proxy::spawn(world.system(), w.handle(),
                         stack{}.retrier(thrice()).add<chaos>(std::move(c))));
  };
  auto refused = world.request(local(errors()), 1);
  auto lost = world.request(local(lost_answers()), 2);
  auto delayed = world.request(local(late(schedule::constant(1s))), 3);
  auto unanswered = world.request(local(silent(1h)), 4);
  world.advance(1s);
  expect(refused, errc::injected, false);
  expect(lost, errc::injected, true);
  EXPECT_EQ(delayed.value<int>(), 6);
  world.advance(29s);
  expect(unanswered, errc::deadline_exceeded, false, "gate");
  EXPECT_EQ(w.count(), 2u);
}

} // namespace
} // namespace caisson::test
