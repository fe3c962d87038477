// Deadlines in the company of other layers and of each other.
#include "support/both_hosts.hpp"

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class deadline_rules_test : public both_hosts {
protected:
  static constexpr auto call_count = 500;
};
CAISSON_BOTH_HOSTS(deadline_rules_test, 8);

// -- nothing is sent at its deadline ------------------------------------------

TEST_P(deadline_rules_test, waiters_whose_deadline_has_come_are_not_sent) {
  auto w = make_worker();
  auto g = host(w.handle(),
                stack{}.semaphore({.permits = 1, .max_waiters = call_count}));
  auto end = world.now() + 1s;
  std::vector<pending_answer> answers;
  for (int i = 0; i < call_count; ++i)
    answers.push_back(world.request(g, wrap(i).by(end)));
  world.advance(1s);
  for (auto& x : answers)
    EXPECT_TRUE(x.is(errc::deadline_exceeded));
  EXPECT_EQ(w.count(), 1u);
  EXPECT_EQ(metric_of(g, "semaphore", "in_use"), 0);
}

TEST_P(deadline_rules_test, a_batch_is_not_launched_with_items_that_are_over) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.batcher({.max_items = 2,
                                             .max_outstanding = 1,
                                             .deadline_margin = 0s}));
  std::vector<pending_answer> answers;
  for (int i = 0; i < 8; ++i)
    answers.push_back(world.request(g, wrap(i).within(1s)));
  EXPECT_EQ(w.count(), 1u);
  world.advance(1s);
  for (auto& x : answers)
    EXPECT_TRUE(x.is(errc::deadline_exceeded));
  EXPECT_EQ(w.count(), 1u);
  EXPECT_EQ(metric_of(g, "batcher", "outstanding"), 0);
}

// -- deadlines within deadlines -----------------------------------------------

TEST_P(deadline_rules_test, an_outer_deadline_leaves_time_for_the_fallback) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}
                              .fallback({alternative::answer(7)})
                              .deadline({.name = "overall", .timeout = 3s})
                              .retrier({.max_attempts = 9,
                                        .backoff = schedule::constant(0s),
                                        .idempotent = true})
                              .deadline({.timeout = 1s}));
  auto answer = world.request(g, 1);
  world.advance(3s);
  EXPECT_EQ(answer.value<int>(), 7);
  EXPECT_EQ(w.count(), 3u);
}

TEST_P(deadline_rules_test,
       a_shorter_deadline_outside_leaves_time_for_retries) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}
                              .retrier({.max_attempts = 3,
                                        .backoff = schedule::constant(10ms),
                                        .idempotent = true})
                              .deadline({.timeout = 50ms})
                              .deadline({.timeout = 100ms}));
  auto answer = world.request(g, 1);
  world.advance(1s);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
  EXPECT_EQ(w.count(), 3u);
}

TEST_P(deadline_rules_test, a_deadline_that_only_observes_changes_nothing) {
  for (auto timeout : {20ms, 50ms, 100ms, 10'000ms}) {
    auto w = make_worker();
    auto g = host(w.handle(),
                  stack{}
                    .fallback({alternative::answer(7)})
                    .retrier({.max_attempts = 2,
                              .backoff = schedule::constant(10ms),
                              .idempotent = true})
                    .deadline({.timeout = 50ms})
                    .deadline({.mode = mode::observe, .timeout = timeout}));
    auto sent = world.now();
    auto answer = world.request(g, 1);
    world.advance(1s);
    EXPECT_EQ(answer.value<int>(), 7) << timeout.count();
    EXPECT_EQ(answer.at() - sent, 110ms) << timeout.count();
    EXPECT_EQ(w.count(), 2u) << timeout.count();
  }
}

TEST_P(deadline_rules_test, one_switched_to_observing_does_not_bind) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}
                              .semaphore({.permits = 1, .max_waiters = 1})
                              .deadline({.name = "outer", .timeout = 2s})
                              .deadline({.name = "inner", .timeout = 1s}));
  auto answer = world.request(g, wrap(1).within(5s));
  world.request(g, command{operator_command::observe, "inner"});
  world.advance(2s - 1ns);
  EXPECT_FALSE(answer.ready());
  world.advance(1ns);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
  EXPECT_EQ(context_of(answer.error())->policy, "outer");
}

TEST_P(deadline_rules_test, a_share_leaves_time_for_another_attempt) {
  for (auto share : {0.5, 1.0}) {
    auto w = make_worker(doubles());
    w.plan(scripted_worker::reply::silence());
    auto g = host(w.handle(), stack{}
                                .retrier({.max_attempts = 3,
                                          .backoff = schedule::constant(0s),
                                          .idempotent = true})
                                .deadline({.timeout = 1s, .share = share}));
    auto sent = world.now();
    auto answer = world.request(g, wrap(21).within(1s));
    world.advance(1s);
    if (share < 1) {
      EXPECT_EQ(answer.value<int>(), 42);
      EXPECT_EQ(answer.at() - sent, 500ms);
      EXPECT_EQ(w.count(), 2u);
    } else {
      EXPECT_TRUE(answer.is(errc::deadline_exceeded));
      EXPECT_EQ(w.count(), 1u);
    }
  }
}

TEST_P(deadline_rules_test, a_reserve_leaves_time_for_the_fallback) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}
                              .fallback({alternative::answer(7)})
                              .deadline({.timeout = 1s, .reserve = 30ms}));
  auto sent = world.now();
  auto answer = world.request(g, wrap(1).within(100ms));
  auto too_late = world.request(g, wrap(1).within(30ms));
  EXPECT_EQ(too_late.value<int>(), 7);
  world.advance(70ms);
  EXPECT_EQ(answer.value<int>(), 7);
  EXPECT_EQ(answer.at() - sent, 70ms);
  EXPECT_EQ(w.count(), 1u);
}

// -- the default --------------------------------------------------------------

TEST_P(deadline_rules_test, a_deadline_layer_replaces_the_default) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.deadline({.timeout = 2min}));
  auto answer = world.request(g, 1);
  world.advance(2min - 1ns);
  EXPECT_FALSE(answer.ready());
  world.advance(1ns);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
  EXPECT_EQ(context_of(answer.error())->policy, "deadline");
}

TEST_P(deadline_rules_test, each_attempt_has_the_time_of_its_layer) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}
                              .fallback({alternative::answer(7)})
                              .retrier({.max_attempts = 2,
                                        .backoff = schedule::constant(0s),
                                        .idempotent = true})
                              .deadline({.timeout = 1min}));
  auto sent = world.now();
  auto answer = world.request(g, 1);
  world.advance(5min);
  EXPECT_EQ(answer.value<int>(), 7);
  EXPECT_EQ(answer.at() - sent, 2min);
  EXPECT_EQ(w.count(), 2u);
}

TEST_P(deadline_rules_test, the_default_holds_until_a_deadline_layer_is_met) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}
                              .semaphore({.permits = 1, .max_waiters = 1})
                              .deadline({.timeout = 2min}));
  auto first = world.request(g, 1);
  auto second = world.request(g, 2);
  world.advance(30s);
  EXPECT_TRUE(second.is(errc::deadline_exceeded));
  EXPECT_FALSE(first.ready());
  world.advance(90s);
  EXPECT_TRUE(first.is(errc::deadline_exceeded));
}

TEST_P(deadline_rules_test, a_callers_deadline_is_not_replaced) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.deadline({.timeout = 2min}));
  auto answer = world.request(g, wrap(1).within(10s));
  world.advance(10s);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
  EXPECT_EQ(context_of(answer.error())->policy, "gate");
}

TEST_P(deadline_rules_test, one_that_only_observes_does_not_replace_it) {
  auto w = make_worker();
  auto g = host(w.handle(),
                stack{}.deadline({.mode = mode::observe, .timeout = 2min}));
  auto answer = world.request(g, 1);
  world.advance(30s);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
}

// -- what only gates see ------------------------------------------------------

class deadline_rules_gate_test : public world_test {};
CAISSON_ALL_ORDERS(deadline_rules_gate_test);

TEST_P(deadline_rules_gate_test, an_expired_time_left_is_no_default) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{});
  auto over = time_until(world.now(), world.now());
  for (auto left : {over, duration{-5ms}, duration::min()})
    EXPECT_TRUE(
      world.request(g, wrap(1).within(left)).is(errc::deadline_exceeded));
  EXPECT_EQ(w.count(), 0u);
  EXPECT_EQ(metric_of(g, "expired_on_arrival"), 3);
}

TEST_P(deadline_rules_gate_test, permits_are_not_granted_at_the_deadline) {
  auto g = gate(worker{}, stack{}.semaphore({.permits = 1, .max_waiters = 9}));
  auto holder = world.request(g, acquire{.time_left = 1s});
  auto waiter = world.request(g, acquire{.time_left = 1s});
  EXPECT_TRUE(holder.ok());
  world.advance(1s);
  EXPECT_TRUE(waiter.is(errc::deadline_exceeded));
  EXPECT_EQ(metric_of(g, "leases"), 0);
}

TEST_P(deadline_rules_gate_test,
       a_batch_that_nobody_waits_for_gives_its_place_back) {
  auto w = make_worker();
  auto g = gate(w.handle(),
                stack{}.batcher({.max_items = 1, .max_outstanding = 1}));
  auto caller = world.make_probe();
  auto gone = caller.request(g, 1);
  world.run_until_idle();
  world.kill(caller.handle());
  EXPECT_EQ(metric_of(g, "batcher", "outstanding"), 0);
  EXPECT_EQ(metric_of(g, "in_progress"), 0);
  world.request(g, 2);
  EXPECT_EQ(w.count(), 2u);
}

} // namespace
} // namespace caisson::test
