// The mark `may_have_executed` of errors: whether any worker may have seen
// the call, in any attempt. It never errs towards "no".
#include "support/both_hosts.hpp"

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

scripted_worker::script failing() {
  return scripted_worker::always(caf::sec::runtime_error);
}

class may_have_executed_test : public both_hosts {
protected:
  static caf::message refusal(errc code, bool may_have_executed = false) {
    return caf::make_message(make_error(
      code, rejection{"elsewhere", 0s, may_have_executed, "a text"}));
  }

  static bool may_have_executed(const pending_answer& a) {
    auto* context = context_of(a.error());
    if (!context)
      throw std::logic_error{"no caisson error: " + to_string(a.content())};
    return context->may_have_executed;
  }

  static retrier_config quick(bool idempotent) {
    return {.max_attempts = 3,
            .backoff = schedule::constant(10ms),
            .idempotent = idempotent};
  }
};
CAISSON_BOTH_HOSTS(may_have_executed_test, 8);

TEST_P(may_have_executed_test,
       a_worker_that_answers_with_an_error_has_executed) {
  auto w = make_worker(
    [](const caf::message&) { return refusal(errc::breaker_open); });
  auto g = host(w.handle(), stack{}.retrier(quick(false)));
  auto answer = world.request(g, 1);
  world.advance(1s);
  EXPECT_TRUE(answer.is(errc::breaker_open));
  EXPECT_EQ(w.count(), 1u);
  EXPECT_TRUE(may_have_executed(answer));
  EXPECT_EQ(context_of(answer.error())->policy, "elsewhere");
  EXPECT_EQ(context_of(answer.error())->text, "a text");
}

TEST_P(may_have_executed_test, a_worker_that_takes_calls_is_no_gate) {
  auto w = make_worker(
    [](const caf::message&) { return refusal(errc::queue_full); });
  auto g = host(worker{w.handle()}.takes_calls(),
                stack{}.retrier(quick(false)));
  auto answer = world.request(g, 1);
  world.advance(1s);
  EXPECT_EQ(w.count(), 1u);
  EXPECT_TRUE(may_have_executed(answer));
}

TEST_P(may_have_executed_test, a_worker_that_was_declared_a_gate_is_believed) {
  auto w = make_worker(
    [](const caf::message&) { return refusal(errc::queue_full); });
  auto g = host(worker{w.handle()}.is_gate(), stack{}.retrier(quick(false)));
  auto answer = world.request(g, 1);
  world.advance(1s);
  EXPECT_EQ(w.count(), 3u);
  EXPECT_FALSE(may_have_executed(answer));
}

TEST_P(may_have_executed_test, a_gate_behind_that_refuses_has_not_executed) {
  auto w = make_worker();
  auto inner = gate(w.handle(), stack{"inner"}.semaphore({.permits = 1}));
  auto outer = host(inner, stack{"outer"}.retrier(quick(false)));
  auto first = world.request(outer, 1);
  auto second = world.request(outer, 2);
  world.advance(1s);
  EXPECT_TRUE(second.is(errc::queue_full));
  EXPECT_FALSE(may_have_executed(second));
  EXPECT_EQ(metric_of(outer, "attempts"), 4);
  EXPECT_EQ(w.count(), 1u);
}

TEST_P(may_have_executed_test, an_earlier_attempt_counts) {
  // The first attempt fails in the worker and opens the breaker below.
  auto w = make_worker(failing());
  auto inner = gate(w.handle(), stack{"inner"}
                                  .limiter({.rate = 1, .per = 1h, .burst = 5})
                                  .retrier({.max_attempts = 2,
                                            .backoff = schedule::constant(10ms),
                                            .idempotent = true,
                                            .heed_breakers = false})
                                  .breaker({.threshold = 1}));
  auto middle = gate(inner, stack{"middle"}.retrier(quick(false)));
  auto outer = host(middle, stack{"outer"}.retrier(quick(false)));
  auto answer = world.request(outer, 1);
  world.advance(1s);
  EXPECT_TRUE(answer.is(errc::breaker_open));
  EXPECT_TRUE(may_have_executed(answer));
  EXPECT_EQ(w.count(), 1u);
  EXPECT_EQ(metric_of(outer, "attempts"), 1);
  EXPECT_EQ(metric_of(middle, "attempts"), 1);
  EXPECT_EQ(metric_of(inner, "limiter", "tokens"), 4);
  EXPECT_EQ(metric_of(inner, "limiter", "returned"), 0);
}

TEST_P(may_have_executed_test, an_alternative_that_is_a_gate_says_the_truth) {
  auto refusing_worker = make_worker();
  auto refusing = gate(refusing_worker.handle(), stack{"refusing"}.breaker({}));
  world.request(refusing, command{operator_command::force_open});
  auto primary = make_worker(failing());
  auto g = host(primary.handle(),
                stack{"g"}.fallback({alternative::ask(refusing)}));
  auto tried = world.request(g, 1);
  EXPECT_TRUE(tried.is(errc::breaker_open));
  EXPECT_TRUE(may_have_executed(tried));

  auto null_gate = host(worker{caf::actor{}},
                        stack{"nobody"}.fallback({alternative::ask(refusing)}));
  auto refused = world.request(null_gate, 1);
  EXPECT_TRUE(refused.is(errc::breaker_open));
  EXPECT_FALSE(may_have_executed(refused));
  EXPECT_EQ(refusing_worker.count(), 0u);
}

TEST_P(may_have_executed_test, an_alternative_that_is_no_gate_has_executed) {
  auto other = make_worker(
    [](const caf::message&) { return refusal(errc::rate_limited); });
  auto g = host(worker{caf::actor{}},
                stack{"g"}.fallback({alternative::ask(other.handle())}));
  auto outer = host(g, stack{"outer"}.retrier(quick(false)));
  auto answer = world.request(outer, 1);
  world.advance(1s);
  EXPECT_TRUE(may_have_executed(answer));
  EXPECT_EQ(other.count(), 1u);
}

TEST_P(may_have_executed_test, the_items_of_a_batch_share_it) {
  auto w = make_worker([](const caf::message&) { return refusal(errc::shed); });
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2}));
  auto a = world.request(g, 1);
  auto b = world.request(g, 2);
  EXPECT_TRUE(a.is(errc::shed));
  EXPECT_TRUE(may_have_executed(a));
  EXPECT_TRUE(may_have_executed(b));

  auto parts = make_worker([](const caf::message&) {
    return caf::make_message(
      batch_reply{{caf::make_message(1), refusal(errc::breaker_open)}});
  });
  auto h = host(parts.handle(),
                stack{}.retrier(quick(false)).batcher({.max_items = 2}));
  auto first = world.request(h, 1);
  auto second = world.request(h, 2);
  world.advance(1s);
  EXPECT_EQ(first.value<int>(), 1);
  EXPECT_TRUE(second.is(errc::breaker_open));
  EXPECT_TRUE(may_have_executed(second));
  EXPECT_EQ(parts.count(), 1u);
}

TEST_P(may_have_executed_test, a_workers_rate_limited_drains_through_gates) {
  auto w = make_worker([](const caf::message&) {
    return caf::make_message(
      make_error(errc::rate_limited, rejection{"w", 5s, false, {}}));
  });
  auto inner = gate(w.handle(), stack{"inner"}.breaker({}));
  auto outer = host(inner, stack{"outer"}.limiter({.rate = 1, .burst = 5}));
  auto answer = world.request(outer, 1);
  EXPECT_TRUE(context_of(answer.error())->from_worker);
  EXPECT_EQ(metric_of(outer, "limiter", "drained"), 1);
}

// -- what only gates see ------------------------------------------------------

class may_have_executed_gate_test : public world_test {};
CAISSON_ALL_ORDERS(may_have_executed_gate_test);

TEST_P(may_have_executed_gate_test,
       an_earlier_attempt_counts_when_the_caller_is_gone) {
  auto w = make_worker(failing());
  auto g = gate(w.handle(), stack{}
                              .limiter({.rate = 1, .per = 1h, .burst = 5})
                              .retrier({.backoff = schedule::constant(5s),
                                        .idempotent = true})
                              .limiter({.rate = 1, .per = 1h, .burst = 5}));
  auto caller = world.make_probe();
  auto left = caller.request(g, wrap(2).within(20s));
  world.advance(1s);
  world.kill(caller.handle());
  EXPECT_EQ(metric_of(g, "cancelled"), 1);
  EXPECT_EQ(metric_of(g, "limiter", "tokens"), 4);
  EXPECT_EQ(metric_of(g, "limiter", "returned"), 0);
}

} // namespace
} // namespace caisson::test
