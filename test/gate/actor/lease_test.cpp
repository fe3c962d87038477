// Permits without a worker: acquire, release, and what ends a lease otherwise.
#include "support/world.hpp"

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class lease_test : public world_test {
protected:
  caf::actor desk(semaphore_config c) {
    return gate(worker{}, stack{"desk"}.semaphore(std::move(c)));
  }
  std::int64_t in_use(const caf::actor& g) {
    return metric_of(g, "semaphore", "in_use");
  }
};
CAISSON_ALL_ORDERS(lease_test);

TEST_P(lease_test, a_permit_is_held_until_it_is_released) {
  auto g = desk({.permits = 1});
  auto first = world.request(g, acquire{});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first.value<permit>().expires, 30s);
  EXPECT_TRUE(world.request(g, acquire{}).is(errc::queue_full));
  auto released = world.request(g, release{first.value<permit>().id});
  EXPECT_TRUE(released.ok());
  EXPECT_EQ(released.content().size(), 0u);
  EXPECT_EQ(in_use(g), 0);
  EXPECT_TRUE(world.request(g, acquire{}).ok());
}

TEST_P(lease_test, an_acquire_without_time_left_gets_nothing) {
  auto g = desk({.permits = 1});
  for (auto left : {no_time_left, duration::min()})
    EXPECT_TRUE(
      world.request(g, acquire{.time_left = left}).is(errc::deadline_exceeded));
  EXPECT_EQ(in_use(g), 0);
  EXPECT_EQ(metric_of(g, "expired_on_arrival"), 2);
  EXPECT_EQ(metric_of(g, "leases"), 0);
  EXPECT_TRUE(world.request(g, acquire{.time_left = 1ns}).ok());
}

TEST_P(lease_test, a_renewal_without_time_left_changes_nothing) {
  auto g = desk({.permits = 1});
  auto p = world.request(g, acquire{.time_left = 10s}).value<permit>();
  auto again = world.request(g, renew{p.id, no_time_left});
  EXPECT_EQ(again.value<permit>().expires, 10s);
  EXPECT_EQ(world.request(g, renew{p.id}).value<permit>().expires, 30s);
}

TEST_P(lease_test, releasing_twice_or_an_unknown_permit_is_an_error) {
  auto g = desk({.permits = 2});
  auto id = world.request(g, acquire{}).value<permit>().id;
  EXPECT_TRUE(world.request(g, release{id}).ok());
  EXPECT_TRUE(world.request(g, release{id}).is(errc::no_such_permit));
  EXPECT_TRUE(world.request(g, release{12345}).is(errc::no_such_permit));
  EXPECT_TRUE(world.request(g, release{0}).is(errc::no_such_permit));
  EXPECT_EQ(in_use(g), 0);
  EXPECT_EQ(metric_of(g, "no_such_permit"), 3);
}

TEST_P(lease_test, a_waiter_gets_the_permit_that_is_released) {
  auto g = desk({.permits = 1, .max_waiters = 3});
  auto id = world.request(g, acquire{}).value<permit>().id;
  auto second = world.request(g, acquire{});
  EXPECT_FALSE(second.ready());
  world.request(g, release{id});
  EXPECT_TRUE(second.ok());
  EXPECT_NE(second.value<permit>().id, id);
}

TEST_P(lease_test, a_holder_that_dies_gives_its_permits_back) {
  auto g = desk({.permits = 2, .max_waiters = 5});
  auto holder = world.make_probe();
  auto one = holder.request(g, acquire{.permits = 2});
  world.run_until_idle();
  ASSERT_TRUE(one.ok());
  auto waiting = world.request(g, acquire{});
  EXPECT_FALSE(waiting.ready());
  world.kill(holder.handle());
  EXPECT_TRUE(waiting.ok());
  EXPECT_EQ(in_use(g), 1);
  EXPECT_EQ(metric_of(g, "cancelled"), 1);
}

TEST_P(lease_test, a_waiter_that_dies_leaves_the_queue) {
  auto g = desk({.permits = 1, .max_waiters = 5});
  auto id = world.request(g, acquire{}).value<permit>().id;
  auto other = world.make_probe();
  other.request(g, acquire{});
  world.run_until_idle();
  EXPECT_EQ(metric_of(g, "semaphore", "waiting"), 1);
  world.kill(other.handle());
  EXPECT_EQ(metric_of(g, "semaphore", "waiting"), 0);
  world.request(g, release{id});
  EXPECT_EQ(in_use(g), 0);
}

TEST_P(lease_test, a_lease_ends_at_its_deadline) {
  auto g = desk({.permits = 1});
  auto p = world.request(g, acquire{.time_left = 5s}).value<permit>();
  EXPECT_EQ(p.expires, 5s);
  world.advance(5s - 1ns);
  EXPECT_EQ(in_use(g), 1);
  world.advance(1ns);
  EXPECT_EQ(in_use(g), 0);
  EXPECT_TRUE(world.request(g, release{p.id}).is(errc::no_such_permit));
}

TEST_P(lease_test, a_breaker_gets_the_result_of_the_holders_work) {
  auto g = gate(worker{}, stack{}.breaker({.threshold = 2}));
  for (int i = 0; i < 2; ++i) {
    auto id = world.request(g, acquire{}).value<permit>().id;
    world.request(g, release{.id = id, .failed = true});
  }
  EXPECT_TRUE(world.request(g, acquire{}).is(errc::breaker_open));
}

TEST_P(lease_test, a_retrier_does_not_grant_a_second_time) {
  auto g = gate(worker{}, stack{}.retrier({.idempotent = true}).semaphore());
  auto answer = world.request(g, acquire{});
  world.request(g, release{.id = answer.value<permit>().id, .failed = true});
  world.advance(10s);
  EXPECT_EQ(answer.count(), 1u);
  EXPECT_EQ(in_use(g), 0);
}

TEST_P(lease_test, permits_and_calls_share_the_semaphore) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{}.semaphore({.permits = 1}));
  auto id = world.request(g, acquire{}).value<permit>().id;
  EXPECT_TRUE(world.request(g, 7).is(errc::queue_full));
  world.request(g, release{id});
  auto call = world.request(g, 7);
  EXPECT_TRUE(world.request(g, acquire{}).is(errc::queue_full));
  w.answer(1);
  EXPECT_TRUE(call.ok());
}

TEST_P(lease_test, acquire_as_a_plain_send_takes_nothing) {
  auto g = desk({.permits = 1});
  world.send(g, acquire{});
  EXPECT_EQ(in_use(g), 0);
}

TEST_P(lease_test, a_gate_without_a_worker_rejects_other_messages) {
  auto g = desk({.permits = 1});
  EXPECT_TRUE(world.request(g, 7).is(errc::worker_down));
  EXPECT_EQ(look(g).worker, worker_state::none);
  EXPECT_EQ(in_use(g), 0);
}

TEST_P(lease_test, drain_waits_for_the_permits) {
  auto g = desk({.permits = 1});
  auto id = world.request(g, acquire{}).value<permit>().id;
  auto drained = world.request(g, drain{});
  EXPECT_FALSE(drained.ready());
  EXPECT_TRUE(world.request(g, acquire{}).is(errc::draining));
  world.request(g, release{id});
  EXPECT_TRUE(drained.ready());
}

} // namespace
} // namespace caisson::test
