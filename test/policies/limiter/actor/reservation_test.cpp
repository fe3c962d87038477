// Turns that a gate promises to those who ask for a permit.
#include <caisson/policies.hpp>

#include "support/world.hpp"

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class reservation_test : public world_test {
protected:
  // One token each second.
  static stack slow(stack s = stack{"desk"}) {
    return s.limiter({.rate = 1, .burst = 1, .max_wait = 1h});
  }

  permit reserve(const caf::actor& g, acquire x = {}) {
    x.reserve = true;
    auto answer = world.request(g, x);
    EXPECT_TRUE(answer.ok());
    return answer.ok() ? answer.value<permit>() : permit{};
  }

  std::int64_t promised(const caf::actor& g) {
    return metric_of(g, "limiter", "promised");
  }
};
CAISSON_ALL_ORDERS(reservation_test);

TEST_P(reservation_test, a_gate_says_when_the_work_may_begin) {
  auto g = gate(worker{}, slow());
  // [reserve]
  caisson::acquire request{.reserve = true, .max_wait = 5s};
  auto answer = world.request(g, request);
  auto lent = answer.value<caisson::permit>();
  // ... wait for lent.starts_in, do the work, send release{lent.id} ...
  // [/reserve]
  EXPECT_EQ(lent.starts_in, 0s);
  EXPECT_EQ(lent.expires, 30s);
  for (int i = 1; i <= 5; ++i)
    EXPECT_EQ(reserve(g, request).starts_in, i * 1s);
  auto late = world.request(g, request);
  EXPECT_TRUE(late.is(errc::rate_limited));
  EXPECT_EQ(retry_after(late.error()), 6s);
  EXPECT_EQ(promised(g), 5);
  EXPECT_EQ(metric_of(g, "leases"), 6);
  // Without the wish, it is as before.
  EXPECT_TRUE(
    world.request(g, acquire{.time_left = 1s}).is(errc::rate_limited));
}

TEST_P(reservation_test, a_permit_that_is_given_back_in_time_costs_nothing) {
  auto g = gate(worker{}, slow(stack{}.breaker({.threshold = 1})));
  reserve(g);
  auto second = reserve(g);
  auto third = reserve(g);
  EXPECT_EQ(third.starts_in, 2s);
  // There was no work that could have failed.
  world.request(g, release{.id = second.id, .failed = true});
  EXPECT_EQ(state_of(g, "breaker"), "closed");
  EXPECT_EQ(metric_of(g, "breaker", "neutral"), 1);
  EXPECT_EQ(metric_of(g, "limiter", "returned"), 1);
  EXPECT_EQ(reserve(g).starts_in, 1s);
  // From its turn on there may have been some.
  world.advance(2s - 1ns);
  world.request(g, release{.id = third.id, .failed = true});
  EXPECT_EQ(state_of(g, "breaker"), "closed");
  auto fourth = reserve(g);
  EXPECT_EQ(fourth.starts_in, 1ns);
  world.advance(1ns);
  world.request(g, release{.id = fourth.id, .failed = true});
  EXPECT_EQ(state_of(g, "breaker"), "open");
  EXPECT_EQ(metric_of(g, "limiter", "returned"), 2);
}

TEST_P(reservation_test, the_end_of_its_holder_says_nothing_before_the_turn) {
  for (auto pause : {2s - 1ns, duration{2s}}) {
    breaker_config cancelled{.threshold = 1};
    cancelled.classify.allow = {"cancelled"};
    auto g = gate(worker{}, slow(stack{}.breaker(cancelled)));
    reserve(g);
    reserve(g);
    auto holder = world.make_probe();
    holder.request(g, acquire{.reserve = true});
    world.run_until_idle();
    world.advance(pause);
    world.kill(holder.handle());
    world.run_until_idle();
    auto begun = pause == 2s;
    EXPECT_EQ(state_of(g, "breaker"), begun ? "open" : "closed");
    EXPECT_EQ(metric_of(g, "breaker", "failures"), begun ? 1 : 0);
  }
}

TEST_P(reservation_test, the_end_of_its_holder_gives_it_back) {
  auto g = gate(worker{}, slow());
  auto holder = world.make_probe();
  reserve(g);
  auto lent = holder.request(g, acquire{.reserve = true});
  world.run_until_idle();
  EXPECT_EQ(lent.value<permit>().starts_in, 1s);
  world.kill(holder.handle());
  EXPECT_EQ(promised(g), 0);
  EXPECT_EQ(reserve(g).starts_in, 1s);
}

TEST_P(reservation_test, must_begin_before_the_lease_ends) {
  auto g = gate(worker{}, slow());
  reserve(g);
  auto late = world.request(g, acquire{.time_left = 1s, .reserve = true});
  EXPECT_TRUE(late.is(errc::rate_limited));
  EXPECT_EQ(metric_of(g, "limiter", "past_deadline"), 1);
  auto lent = reserve(g, {.time_left = 1s + 1ns});
  EXPECT_EQ(lent.starts_in, 1s);
  EXPECT_EQ(lent.expires, 1s + 1ns);
  world.advance(1s + 1ns);
  EXPECT_TRUE(world.request(g, release{lent.id}).is(errc::no_such_permit));
}

TEST_P(reservation_test, a_renewal_says_how_long_it_is_until_then) {
  auto g = gate(worker{}, slow());
  reserve(g);
  auto lent = reserve(g, {.time_left = 5s});
  world.advance(400ms);
  auto renewed = world.request(g, renew{lent.id, 10s}).value<permit>();
  EXPECT_EQ(renewed.starts_in, 600ms);
  EXPECT_EQ(renewed.expires, 10s);
  world.advance(600ms);
  renewed = world.request(g, renew{lent.id, 10s}).value<permit>();
  EXPECT_EQ(renewed.starts_in, 0s);
}

TEST_P(reservation_test, the_longest_lease_counts_from_its_turn) {
  auto g = gate(worker{}, slow(stack{}.max_lease(4s)));
  EXPECT_EQ(reserve(g, {.time_left = 1h}).expires, 4s);
  for (int i = 1; i < 9; ++i)
    EXPECT_EQ(reserve(g, {.time_left = 1h}).expires, i * 1s + 4s);
}

TEST_P(reservation_test, a_deadline_further_in_ends_what_begins_too_late) {
  auto g = gate(worker{}, slow().deadline({.timeout = 2s}));
  reserve(g);
  EXPECT_EQ(reserve(g).starts_in, 1s);
  auto late = world.request(g, acquire{.reserve = true});
  EXPECT_TRUE(late.is(errc::deadline_exceeded));
  EXPECT_EQ(metric_of(g, "limiter", "returned"), 1);
  EXPECT_EQ(metric_of(g, "leases"), 2);
  EXPECT_EQ(promised(g), 1);
}

TEST_P(reservation_test, goes_by_the_latest_of_several_limits) {
  auto s = stack{}
             .limiter({.name = "fast", .rate = 10, .burst = 1, .max_wait = 1h})
             .limiter({.name = "slow", .rate = 1, .burst = 2, .max_wait = 1h})
             .limiter({.name = "even", .rate = 20, .burst = 1, .max_wait = 1h});
  auto g = gate(worker{}, s);
  EXPECT_EQ(reserve(g).starts_in, 0ms);
  EXPECT_EQ(reserve(g).starts_in, 100ms);
  EXPECT_EQ(reserve(g).starts_in, 1s);
  // The innermost one has promised these turns, not earlier ones.
  EXPECT_EQ(metric_of(g, "even", "promised"), 2);
  world.advance(1s - 1ns);
  EXPECT_EQ(reserve(g, {.time_left = 5s}).starts_in, 1s + 1ns);
  EXPECT_EQ(metric_of(g, "even", "promised"), 2);
}

TEST_P(reservation_test, a_limiter_that_observes_keeps_nobody_waiting) {
  auto g = gate(
    worker{},
    stack{}.limiter(
      {.mode = mode::observe, .rate = 1, .burst = 1, .max_wait = 1s}));
  reserve(g);
  // As a call that would wait, it does not pay.
  for (int i = 1; i <= 2; ++i) {
    EXPECT_EQ(reserve(g).starts_in, 0s);
    EXPECT_EQ(metric_of(g, "limiter", "reserved"), i);
    EXPECT_EQ(metric_of(g, "limiter", "returned"), i);
    EXPECT_EQ(metric_of(g, "limiter", "observed_passes"), i);
    EXPECT_EQ(promised(g), 0);
  }
  EXPECT_EQ(reserve(g, {.max_wait = 1ms}).starts_in, 0s);
  EXPECT_EQ(metric_of(g, "limiter", "rate_limited"), 1);
  EXPECT_EQ(metric_of(g, "limiter", "observed_passes"), 3);
}

TEST_P(reservation_test, given_back_in_time_costs_no_limit_further_out) {
  auto s = stack{}
             .limiter({.name = "fast", .rate = 10, .burst = 1, .max_wait = 1h})
             .limiter({.name = "slow", .rate = 1, .burst = 1, .max_wait = 1h});
  auto g = gate(worker{}, s);
  auto holder = world.make_probe();
  reserve(g);
  auto second = reserve(g, {.time_left = 1h});
  EXPECT_EQ(second.starts_in, 1s);
  // Between the turns at the one and at the other.
  world.advance(500ms);
  world.request(g, release{second.id});
  EXPECT_EQ(metric_of(g, "fast", "returned"), 1);
  EXPECT_EQ(metric_of(g, "slow", "returned"), 1);
  // Also if its holder ends.
  auto lent = holder.request(g, acquire{.time_left = 1h, .reserve = true});
  world.run_until_idle();
  EXPECT_EQ(lent.value<permit>().starts_in, 500ms);
  world.advance(200ms);
  world.kill(holder.handle());
  EXPECT_EQ(metric_of(g, "fast", "returned"), 2);
  EXPECT_EQ(metric_of(g, "slow", "returned"), 2);
}

TEST_P(reservation_test, begins_at_the_turn_of_the_attempt_that_got_it) {
  retrier_config again;
  again.backoff = schedule::constant(500ms);
  auto s = slow(stack{}.retrier(again))
             .semaphore({.permits = 3, .max_waiters = 0});
  auto g = gate(worker{}, s);
  reserve(g);
  auto second = reserve(g);
  auto third = reserve(g);
  EXPECT_EQ(third.starts_in, 2s);
  auto fourth = world.request(g, acquire{.reserve = true});
  EXPECT_FALSE(fourth.ready());
  world.request(g, release{second.id});
  world.request(g, release{third.id});
  world.advance(500ms);
  ASSERT_TRUE(fourth.ok());
  // Not 3 s after the first, as its first attempt was promised.
  EXPECT_EQ(fourth.value<permit>().starts_in, 500ms);
}

TEST_P(reservation_test, is_timed_from_its_turn) {
  auto g = gate(worker{}, slow());
  auto first = reserve(g);
  auto second = reserve(g);
  auto third = reserve(g);
  world.request(g, release{first.id});
  // It was no attempt.
  world.request(g, release{third.id});
  EXPECT_EQ(look(g).duration_of(measured::attempts, true).count, 1u);
  world.advance(1500ms);
  world.request(g, release{second.id});
  auto took = look(g).duration_of(measured::attempts, true);
  EXPECT_EQ(took.count, 2u);
  EXPECT_EQ(took.max, 500ms);
}

TEST_P(reservation_test, keys_have_turns_of_their_own) {
  auto g = gate(worker{}, stack{}.add<keyed<limiter>>(
                            {{.rate = 1, .burst = 1, .max_wait = 1h}}));
  reserve(g, {.key = "ann"});
  EXPECT_EQ(reserve(g, {.key = "ann"}).starts_in, 1s);
  EXPECT_EQ(reserve(g, {.key = "bob"}).starts_in, 0s);
  EXPECT_EQ(reserve(g, {.key = "ann"}).starts_in, 2s);
}

TEST_P(reservation_test, other_layers_hold_it_as_before) {
  auto s = slow().semaphore({.permits = 1, .max_waiters = 1});
  auto g = gate(worker{}, s);
  auto first = reserve(g);
  auto second = world.request(g, acquire{.reserve = true});
  EXPECT_FALSE(second.ready());
  world.advance(400ms);
  world.request(g, release{first.id});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second.value<permit>().starts_in, 600ms);
}

TEST_P(reservation_test, a_stack_without_limits_lets_it_begin_at_once) {
  auto g = gate(worker{}, stack{}.semaphore({.permits = 1}));
  EXPECT_EQ(reserve(g).starts_in, 0s);
  EXPECT_TRUE(world.request(g, acquire{.reserve = true}).is(errc::queue_full));
}

TEST_P(reservation_test, survives_changes_of_the_limiter) {
  auto g = gate(worker{}, slow());
  reserve(g);
  auto lent = reserve(g);
  world.request(g, reconfigure{"limiter", {{"rate", "2"}, {"mode", "off"}}});
  world.request(g, command{operator_command::reset, "limiter"});
  world.advance(999ms);
  auto same = world.request(g, renew{lent.id, 10s}).value<permit>();
  EXPECT_EQ(same.starts_in, 1ms);
  EXPECT_TRUE(world.request(g, release{lent.id}).ok());
  EXPECT_EQ(promised(g), 0);
}

TEST_P(reservation_test, a_drain_waits_for_it) {
  auto g = gate(worker{}, slow());
  reserve(g);
  auto lent = reserve(g, {.time_left = 5s});
  auto drained = world.request(g, drain{});
  EXPECT_TRUE(world.request(g, acquire{.reserve = true}).is(errc::draining));
  world.advance(5s - 1ns);
  EXPECT_FALSE(drained.ready());
  EXPECT_EQ(metric_of(g, "leases"), 2);
  world.request(g, release{lent.id});
  world.advance(25s + 1ns);
  EXPECT_TRUE(drained.ready());
}

} // namespace
} // namespace caisson::test
