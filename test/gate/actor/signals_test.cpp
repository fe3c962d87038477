// The closed loop: breaker, retrier, limiter and fallback in one gate.
#include "support/world.hpp"

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class signals_test : public world_test {
protected:
  static retrier_config quick(std::uint32_t attempts) {
    return {.max_attempts = attempts,
            .backoff = schedule::constant(10ms),
            .idempotent = true};
  }

  static breaker_config after(std::uint32_t failures) {
    breaker_config c;
    c.threshold = failures;
    c.open = schedule::constant(1s);
    return c;
  }

  static caf::message broken(const caf::message&) {
    return caf::make_message(make_error(caf::sec::runtime_error));
  }
};
CAISSON_ALL_ORDERS(signals_test);

TEST_P(signals_test,
       a_breaker_is_notified_of_attempts_that_time_out_further_in) {
  for (auto counts : {true, false}) {
    auto mute = make_worker();
    auto c = after(3);
    c.count_attempt_timeouts = counts;
    auto g = gate(mute.handle(), stack{}.breaker(c).retrier(quick(3)).deadline(
                                   {.timeout = 50ms}));
    auto answer = world.request(g, 1);
    world.advance(1s);
    EXPECT_TRUE(answer.is(errc::deadline_exceeded));
    EXPECT_EQ(mute.count(), 3u);
    // Two attempts that were repeated, and the call itself.
    EXPECT_EQ(metric_of(g, "breaker", "attempt_timeouts"), counts ? 2 : 0);
    EXPECT_EQ(metric_of(g, "breaker", "failures"), 1);
    EXPECT_EQ(state_of(g, "breaker"), counts ? "open" : "closed");
  }
}

TEST_P(signals_test, a_breaker_further_in_counts_each_timeout_once) {
  auto mute = make_worker();
  auto g = gate(
    mute.handle(),
    stack{}.retrier(quick(3)).breaker(after(9)).deadline({.timeout = 50ms}));
  auto answer = world.request(g, 1);
  world.advance(1s);
  EXPECT_EQ(metric_of(g, "breaker", "failures"), 3);
  EXPECT_EQ(metric_of(g, "breaker", "attempt_timeouts"), 0);
}

TEST_P(signals_test, an_open_breaker_ends_the_retries) {
  for (auto heeds : {true, false}) {
    auto w = make_worker(broken);
    auto c = quick(3);
    c.heed_breakers = heeds;
    auto g = gate(w.handle(), stack{}.retrier(c).breaker(after(1)));
    auto answer = world.request(g, 1);
    world.advance(5s);
    EXPECT_FALSE(answer.ok());
    EXPECT_EQ(metric_of(g, "retrier", "gave_up_open"), heeds ? 1 : 0);
    EXPECT_EQ(metric_of(g, "retrier", "resent"), heeds ? 0 : 2);
  }
}

TEST_P(signals_test, a_half_open_breaker_allows_one_retry) {
  auto w = make_worker();
  auto c = after(1);
  c.initial = breaker_start::half_open;
  c.probes = 9;
  c.successes_to_close = 1;
  auto g = gate(w.handle(), stack{}.retrier(quick(5)).breaker(c).deadline(
                              {.timeout = 50ms}));
  auto answer = world.request(g, 1);
  world.advance(1s);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
  EXPECT_EQ(w.count(), 2u);
  EXPECT_EQ(metric_of(g, "retrier", "gave_up_half_open"), 1);
  EXPECT_EQ(state_of(g, "breaker"), "half_open");
}

TEST_P(signals_test, a_breaker_that_observes_does_not_end_retries) {
  auto w = make_worker();
  auto c = after(1);
  c.mode = mode::observe;
  auto g = gate(w.handle(), stack{}.retrier(quick(3)).breaker(c).deadline(
                              {.timeout = 50ms}));
  auto answer = world.request(g, 1);
  world.advance(1s);
  EXPECT_EQ(w.count(), 3u);
}

TEST_P(signals_test, a_limiters_rejections_use_up_the_budget) {
  auto w = make_worker(doubles());
  auto c = quick(2);
  c.budget_ratio = 0;
  c.budget_reserve = 1;
  auto g = gate(w.handle(),
                stack{}.retrier(c).limiter({.rate = 1, .burst = 1}));
  std::vector<pending_answer> answers;
  for (int i = 0; i < 20; ++i)
    answers.push_back(world.request(g, i));
  world.run_until_idle();
  // One was served; five of the others may come back, and pay twice.
  EXPECT_EQ(metric_of(g, "retrier", "rejections_charged"), 19);
  EXPECT_EQ(metric_of(g, "retrier", "retried"), 5);
  EXPECT_EQ(metric_of(g, "retrier", "budget_left"), 0);
}

TEST_P(signals_test, a_cache_as_an_alternative_has_a_part_of_the_time) {
  auto w = make_worker(broken);
  auto cache = make_worker();
  auto g = gate(w.handle(),
                stack{}.fallback({alternative::ask_cache(cache.handle()),
                                  alternative::answer(7)}));
  auto answer = world.request(g, wrap(1).within(1s));
  world.advance(149ms);
  EXPECT_FALSE(answer.ready());
  EXPECT_EQ(cache.count(), 1u);
  world.advance(1ms);
  EXPECT_EQ(answer.value<int>(), 7);
  EXPECT_EQ(metric_of(g, "fallback", "cache_cut_off"), 1);
}

} // namespace
} // namespace caisson::test
