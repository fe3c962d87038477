// Prolonging leases, and how long they may get.
#include "support/world.hpp"

#include <caisson/caf/call_handle.hpp>

#include <memory>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class renewal_test : public world_test {
protected:
  caf::actor desk(stack s) { return gate(worker{}, std::move(s)); }
  caf::actor desk() { return desk(stack{"desk"}.semaphore({.permits = 1})); }

  std::uint64_t lend(const caf::actor& g, duration d) {
    return world.request(g, acquire{.time_left = d}).value<permit>().id;
  }

  // How long the lease lasts after it was renewed.
  duration renewed(const caf::actor& g, std::uint64_t id, duration d) {
    return world.request(g, renew{id, d}).value<permit>().expires;
  }

  // Lets time pass until no permit is held; returns how long that took.
  duration remaining(const caf::actor& g) {
    auto from = world.now();
    for (int i = 0; i < 100 && metric_of(g, "leases") > 0; ++i)
      world.advance(1s);
    return world.now() - from;
  }
};
CAISSON_ALL_ORDERS(renewal_test);

TEST_P(renewal_test, a_lease_goes_on_as_long_as_it_is_renewed) {
  auto g = desk();
  auto id = lend(g, 5s);
  for (int i = 0; i < 10; ++i) {
    world.advance(4s);
    auto answer = world.request(g, renew{id, 5s});
    EXPECT_EQ(answer.value<permit>().id, id);
    EXPECT_EQ(answer.value<permit>().expires, 5s);
  }
  world.advance(5s - 1ns);
  EXPECT_EQ(metric_of(g, "semaphore", "in_use"), 1);
  world.advance(1ns);
  EXPECT_EQ(metric_of(g, "semaphore", "in_use"), 0);
  EXPECT_TRUE(world.request(g, renew{id, 5s}).is(errc::no_such_permit));
  EXPECT_EQ(metric_of(g, "renewals"), 10);
  EXPECT_EQ(metric_of(g, "no_such_permit"), 1);
}

TEST_P(renewal_test, a_renewal_never_shortens_a_lease) {
  auto g = desk();
  auto id = lend(g, 10s);
  world.advance(2s);
  EXPECT_EQ(renewed(g, id, 1s), 8s);
  EXPECT_EQ(remaining(g), 8s);
}

TEST_P(renewal_test, without_a_time_it_takes_the_default) {
  auto g = desk(stack{}.semaphore({}).default_deadline(20s));
  auto id = lend(g, 5s);
  EXPECT_EQ(renewed(g, id, 0s), 20s);
  world.advance(1s);
  EXPECT_EQ(renewed(g, id, -1s), 19s); // It is over: nothing changes.
  EXPECT_EQ(renewed(g, id, unlimited), unlimited);
  EXPECT_EQ(renewed(g, id, 1s), unlimited);
  world.request(g, release{id});
}

// -- who may ------------------------------------------------------------------

TEST_P(renewal_test, only_the_holder_can_prolong_a_lease) {
  auto g = desk();
  auto id = lend(g, 5s);
  auto stranger = world.make_probe();
  call_handle handle{g};
  auto tried = stranger.request(g, renew{id, 1h});
  auto through_handle = stranger.request(handle, renew{id, 1h});
  stranger.send(g, renew{id, 1h});
  portable::send_anon(g, renew{id, 1h});
  world.run_until_idle();
  EXPECT_TRUE(tried.is(errc::no_such_permit));
  EXPECT_TRUE(through_handle.is(errc::no_such_permit));
  EXPECT_EQ(metric_of(g, "no_such_permit"), 4);
  EXPECT_EQ(metric_of(g, "renewals"), 0);
  EXPECT_EQ(remaining(g), 5s);
}

TEST_P(renewal_test, the_holder_can_do_so_through_a_call_handle) {
  auto g = desk();
  call_handle handle{g};
  auto id = lend(handle, 5s);
  EXPECT_EQ(renewed(handle, id, 9s), 9s);
  EXPECT_EQ(renewed(g, id, 11s), 11s);
  world.request(g, release{id});
}

TEST_P(renewal_test, a_permit_that_is_not_held_cannot_be_prolonged) {
  auto g = desk(stack{}.semaphore({.permits = 1, .max_waiters = 1}));
  EXPECT_TRUE(world.request(g, renew{}).is(errc::no_such_permit));
  EXPECT_TRUE(world.request(g, renew{4711, 1s}).is(errc::no_such_permit));
  auto id = lend(g, 5s);
  world.request(g, release{id});
  EXPECT_TRUE(world.request(g, renew{id, 1s}).is(errc::no_such_permit));
}

TEST_P(renewal_test, a_dead_holders_lease_ends_although_it_was_renewed) {
  auto g = desk();
  auto holder = world.make_probe();
  auto lent = holder.request(g, acquire{.time_left = 5s});
  world.run_until_idle();
  auto longer = holder.request(g, renew{lent.value<permit>().id, 1h});
  world.run_until_idle();
  EXPECT_TRUE(longer.ok());
  world.kill(holder.handle());
  EXPECT_EQ(metric_of(g, "leases"), 0);
}

// -- at the same instant ------------------------------------------------------

TEST_P(renewal_test, at_the_end_of_the_lease_it_is_too_late) {
  auto g = desk(stack{}.semaphore({.permits = 1, .max_waiters = 1}));
  auto refused = std::make_shared<int>(0);
  auto holder = own(world.system().spawn(
    [g, refused](caf::event_based_actor* self) -> caf::behavior {
      portable::ask(self, g, portable::no_timeout, acquire{.time_left = 5s})
        .then([=](permit p) { portable::later(self, 5s, p.id); },
              [](const caf::error&) {});
      return {[=](std::uint64_t id) {
        portable::ask(self, g, portable::no_timeout, renew{id, 5s})
          .then([](permit) {},
                [=](const caf::error& e) {
                  *refused += e == errc::no_such_permit;
                });
      }};
    }));
  auto waiter = world.request(g, acquire{.time_left = 1h});
  world.advance(5s);
  EXPECT_EQ(*refused, 1);
  EXPECT_TRUE(waiter.ok());
  EXPECT_EQ(metric_of(g, "leases"), 1);
  world.request(g, release{waiter.value<permit>().id});
}

// -- limits -------------------------------------------------------------------

TEST_P(renewal_test, the_gate_limits_leases_and_their_renewals) {
  auto g = desk(stack{}.semaphore({}).max_lease(8s));
  auto lent = world.request(g, acquire{.time_left = 5s}).value<permit>();
  EXPECT_EQ(lent.expires, 5s);
  world.advance(4s);
  EXPECT_EQ(renewed(g, lent.id, 5s), 4s);
  EXPECT_EQ(remaining(g), 4s);
  auto greedy = world.request(g, acquire{.time_left = 1h}).value<permit>();
  EXPECT_EQ(greedy.expires, 8s);
  EXPECT_EQ(renewed(g, greedy.id, 1h), 8s);
  EXPECT_EQ(remaining(g), 8s);
  EXPECT_EQ(metric_of(g, "expired"), 2);
}

TEST_P(renewal_test, the_limit_counts_from_the_grant) {
  auto g = desk(
    stack{}.semaphore({.permits = 1, .max_waiters = 1}).max_lease(8s));
  lend(g, 5s);
  auto waiter = world.request(g, acquire{.time_left = 1h});
  world.advance(5s);
  EXPECT_EQ(waiter.value<permit>().expires, 8s);
  EXPECT_EQ(remaining(g), 8s);
}

TEST_P(renewal_test, the_gates_limit_comes_before_a_longer_one_of_a_layer) {
  auto g = desk(stack{}
                  .deadline({.name = "outer", .timeout = 20s})
                  .deadline({.name = "inner", .timeout = 10s})
                  .semaphore({})
                  .max_lease(8s));
  auto lent = world.request(g, acquire{}).value<permit>();
  EXPECT_EQ(lent.expires, 8s);
  EXPECT_EQ(renewed(g, lent.id, 1h), 8s);
  EXPECT_EQ(remaining(g), 8s);
  EXPECT_EQ(metric_of(g, "expired"), 1);
  EXPECT_EQ(metric_of(g, "inner", "abandoned"), 1);
  EXPECT_EQ(metric_of(g, "outer", "abandoned"), 1);
  EXPECT_EQ(metric_of(g, "semaphore", "in_use"), 0);
  // A release finds everything as it should be, too.
  auto other = world.request(g, acquire{}).value<permit>();
  EXPECT_TRUE(world.request(g, release{other.id}).ok());
  EXPECT_EQ(metric_of(g, "inner", "answered"), 1);
  EXPECT_EQ(metric_of(g, "outer", "answered"), 1);
}

TEST_P(renewal_test, a_deadline_layer_limits_renewals_from_the_start) {
  auto g = desk(stack{}.deadline({.timeout = 10s}).semaphore({}));
  auto id = lend(g, 5s);
  world.advance(4s);
  EXPECT_EQ(renewed(g, id, 20s), 6s);
  world.advance(2s);
  EXPECT_EQ(renewed(g, id, 20s), 4s);
  EXPECT_EQ(remaining(g), 4s);
}

TEST_P(renewal_test, the_deadline_set_by_a_layer_does_not_move) {
  auto g = desk(stack{}.deadline({.timeout = 10s}).semaphore({}));
  auto lent = world.request(g, acquire{.time_left = 1h}).value<permit>();
  EXPECT_EQ(lent.expires, 10s);
  world.advance(4s);
  EXPECT_EQ(renewed(g, lent.id, 1h), 6s);
  EXPECT_EQ(remaining(g), 6s);
  EXPECT_EQ(metric_of(g, "deadline", "expired"), 1);
}

TEST_P(renewal_test, a_deadline_layer_that_observes_does_not_bind) {
  auto g = desk(
    stack{}.deadline({.mode = mode::observe, .timeout = 1s}).semaphore({}));
  auto id = lend(g, 5s);
  EXPECT_EQ(renewed(g, id, 20s), 20s);
  EXPECT_EQ(remaining(g), 20s);
}

// -- drain and stop -----------------------------------------------------------

TEST_P(renewal_test, a_gate_that_drains_waits_for_renewed_leases) {
  auto g = desk();
  auto id = lend(g, 5s);
  auto drained = world.request(g, drain{});
  EXPECT_EQ(renewed(g, id, 9s), 9s);
  world.advance(9s - 1ns);
  EXPECT_FALSE(drained.ready());
  world.advance(1ns);
  EXPECT_TRUE(drained.ready());
}

TEST_P(renewal_test, a_stopped_gate_renews_nothing) {
  auto g = desk();
  auto id = lend(g, 5s);
  world.kill(g);
  EXPECT_TRUE(
    portable::is_receiver_down(world.request(g, renew{id, 9s}).error()));
}

TEST_P(renewal_test, renew_is_no_message_for_a_worker_unless_wrapped) {
  auto w = make_worker(scripted_worker::always(1));
  auto g = gate(w.handle(), stack{});
  EXPECT_TRUE(world.request(g, renew{7, 1s}).is(errc::no_such_permit));
  EXPECT_EQ(w.count(), 0u);
  EXPECT_TRUE(world.request(g, wrap(renew{7, 1s})).ok());
  EXPECT_EQ(w.count(), 1u);
}

} // namespace
} // namespace caisson::test
