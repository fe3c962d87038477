// Durations of calls, attempts and waits in the status of a gate.
#include "support/world.hpp"

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class durations_test : public world_test {
protected:
  static void expect(const duration_summary& x, std::uint64_t count,
                     duration max) {
    EXPECT_EQ(x.count, count);
    EXPECT_EQ(x.max, max);
  }

  duration_summary of(const caf::actor& g, measured what, bool ok) {
    return look(g).duration_of(what, ok);
  }
};
CAISSON_ALL_ORDERS(durations_test);

TEST_P(durations_test, a_duration_never_measured_is_left_out) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{});
  EXPECT_TRUE(look(g).durations.empty());
  EXPECT_EQ(of(g, measured::calls, true).count, 0u);
}

TEST_P(durations_test, a_call_takes_as_long_as_its_attempts_and_waits) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{}.retrier({.backoff = schedule::constant(1s),
                                             .idempotent = true}));
  auto answer = world.request(g, 1);
  world.advance(20ms);
  w.fail(caf::make_error(caf::sec::runtime_error));
  world.advance(1s);
  world.advance(30ms);
  w.answer(2);
  world.run_until_idle();
  EXPECT_EQ(answer.value<int>(), 2);
  expect(of(g, measured::attempts, false), 1, 20ms);
  expect(of(g, measured::attempts, true), 1, 30ms);
  expect(of(g, measured::calls, true), 1, 1050ms);
  expect(of(g, measured::waits, true), 1, 0ms);
  EXPECT_EQ(of(g, measured::calls, false).count, 0u);
  EXPECT_EQ(of(g, measured::waits, false).count, 0u);
}

TEST_P(durations_test, waiting_in_vain_is_counted_separately) {
  auto w = make_worker();
  auto g = gate(
    w.handle(),
    stack{}.semaphore({.permits = 1, .max_waiters = 2, .max_wait = 100ms}));
  auto first = world.request(g, 1);
  world.advance(10ms);
  auto second = world.request(g, 2);
  auto third = world.request(g, 3);
  world.advance(40ms);
  w.answer(1);
  world.run_until_idle();
  world.advance(60ms);
  EXPECT_TRUE(third.is(errc::wait_timeout));
  expect(of(g, measured::waits, false), 1, 100ms);
  expect(of(g, measured::waits, true), 2, 40ms);
  expect(of(g, measured::calls, false), 1, 100ms);
  expect(of(g, measured::calls, true), 1, 50ms);
  w.answer(2);
  world.run_until_idle();
  EXPECT_TRUE(second.ok());
  expect(of(g, measured::attempts, true), 2, 60ms);
}

TEST_P(durations_test, an_attempt_ends_with_its_deadline_at_the_latest) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{}.deadline({.timeout = 200ms}));
  auto answer = world.request(g, 1);
  world.advance(1s);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
  expect(of(g, measured::attempts, false), 1, 200ms);
  expect(of(g, measured::calls, false), 1, 200ms);
  EXPECT_EQ(of(g, measured::waits, false).count, 0u);
}

TEST_P(durations_test, an_attempt_ends_with_its_worker) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{});
  auto answer = world.request(g, 1);
  world.advance(50ms);
  w.kill();
  world.run_until_idle();
  EXPECT_TRUE(answer.is(errc::worker_down));
  expect(of(g, measured::attempts, false), 1, 50ms);
}

TEST_P(durations_test, an_expired_call_took_no_time) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{});
  auto late = wrap(1);
  late.options.deadline_ns = 1;
  EXPECT_TRUE(world.request(g, late).is(errc::deadline_exceeded));
  expect(of(g, measured::calls, false), 1, 0ms);
}

TEST_P(durations_test, a_lease_is_an_attempt) {
  auto g = gate(worker{}, stack{}.semaphore({.permits = 1}));
  auto held = world.request(g, acquire{});
  world.advance(70ms);
  world.request(g, release{held.value<permit>().id});
  expect(of(g, measured::attempts, true), 1, 70ms);
  expect(of(g, measured::waits, true), 1, 0ms);
}

TEST_P(durations_test, items_of_a_batch_did_not_wait_in_vain) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{}.batcher({.max_items = 2}));
  auto a = world.request(g, 1);
  auto b = world.request(g, 2);
  world.advance(5ms);
  w.fail(caf::make_error(caf::sec::runtime_error));
  world.run_until_idle();
  EXPECT_FALSE(a.ok());
  expect(of(g, measured::calls, false), 2, 5ms);
  expect(of(g, measured::attempts, false), 1, 5ms);
  EXPECT_EQ(of(g, measured::waits, false).count, 0u);
}

TEST_P(durations_test, a_reset_clears_durations) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{});
  world.request(g, 1);
  world.request(g, command{operator_command::reset});
  EXPECT_TRUE(look(g).durations.empty());
}

} // namespace
} // namespace caisson::test
