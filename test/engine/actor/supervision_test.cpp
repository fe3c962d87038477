// Workers that the gate makes and makes again.
#include "support/world.hpp"

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

// Answers ints with their double; a negative one makes it crash.
class crasher final : public caf::event_based_actor {
public:
  using caf::event_based_actor::event_based_actor;
  caf::behavior make_behavior() override {
    set_exception_handler([](std::exception_ptr&) -> caf::error {
      return caf::sec::runtime_error;
    });
    return {[](int x) -> int {
      if (x < 0)
        throw std::runtime_error{"crash"};
      return x * 2;
    }};
  }
};

class supervision_actor_test : public world_test {
protected:
  worker crashing(supervision_config c = {}) {
    return worker::supervised(
      [this](caf::actor_system& sys) -> caf::expected<caf::actor> {
        ++worker_count;
        if (failures > 0) {
          --failures;
          return caf::make_error(caf::sec::cannot_connect_to_node);
        }
        return sys.spawn<crasher>();
      },
      std::move(c));
  }
  int worker_count = 0;
  int failures = 0;
};
CAISSON_ALL_ORDERS(supervision_actor_test);

TEST_P(supervision_actor_test, a_worker_that_died_is_made_again) {
  auto g = gate(crashing({.restart = schedule::constant(1s)}), stack{});
  EXPECT_EQ(world.request(g, 2).value<int>(), 4);
  auto fatal = world.request(g, -1);
  EXPECT_TRUE(fatal.ready());
  EXPECT_FALSE(fatal.ok());
  EXPECT_EQ(look(g).worker, worker_state::restarting);
  auto waits = world.request(g, 3);
  EXPECT_FALSE(waits.ready());
  world.advance(1s);
  EXPECT_EQ(waits.value<int>(), 6);
  EXPECT_EQ(worker_count, 2);
  EXPECT_EQ(metric_of(g, "worker_restarts"), 1);
}

TEST_P(supervision_actor_test, a_retrier_outlives_the_crashes_of_its_worker) {
  // The third attempt finds a worker that can do it.
  int attempts = 0;
  auto make = [&attempts](caf::actor_system& sys) {
    class third_time final : public caf::event_based_actor {
    public:
      third_time(caf::actor_config& cfg, int* n)
        : caf::event_based_actor(cfg), n_(n) {}
      caf::behavior make_behavior() override {
        set_exception_handler([](std::exception_ptr&) -> caf::error {
          return caf::sec::runtime_error;
        });
        return {[this](int x) -> int {
          if (++*n_ < 3)
            throw std::runtime_error{"not yet"};
          return x;
        }};
      }
      int* n_;
    };
    return caf::expected<caf::actor>{
      caf::actor_cast<caf::actor>(sys.spawn<third_time>(&attempts))};
  };
  auto g = gate(worker::supervised(make, {.restart = schedule::constant(10ms)}),
                stack{}.retrier({.max_attempts = 5,
                                 .backoff = schedule::constant(50ms),
                                 .idempotent = true}));
  auto answer = world.request(g, 7);
  world.advance(1s);
  EXPECT_EQ(answer.value<int>(), 7);
  EXPECT_EQ(attempts, 3);
  EXPECT_EQ(answer.count(), 1u);
}

TEST_P(supervision_actor_test, too_many_restarts_end_the_gate) {
  auto g = gate(
    crashing(
      {.restart = schedule::constant(10ms), .max_restarts = 2, .period = 10s}),
    stack{});
  for (int i = 0; i < 2; ++i) {
    world.request(g, -1);
    world.advance(10ms);
  }
  world.request(g, -1);
  EXPECT_EQ(world.request(g, 1).error(), caf::sec::request_receiver_down);
  EXPECT_EQ(worker_count, 3);
}

TEST_P(supervision_actor_test, too_many_restarts_leave_a_gate_that_refuses) {
  auto g = gate(crashing({.restart = schedule::constant(10ms),
                          .max_restarts = 0,
                          .on_give_up = give_up_action::refuse}),
                stack{});
  world.request(g, -1);
  auto answer = world.request(g, 1);
  EXPECT_TRUE(answer.is(errc::worker_down));
  EXPECT_FALSE(context_of(answer.error())->may_have_executed);
  EXPECT_EQ(look(g).worker, worker_state::given_up);
}

TEST_P(supervision_actor_test, a_factory_that_fails_is_tried_again) {
  failures = 2;
  auto g = gate(crashing({.restart = schedule::constant(1s)}), stack{});
  auto answer = world.request(g, 4);
  world.advance(1s);
  EXPECT_FALSE(answer.ready());
  world.advance(1s);
  EXPECT_EQ(answer.value<int>(), 8);
  EXPECT_EQ(worker_count, 3);
}

TEST_P(supervision_actor_test, waiting_for_the_worker_is_bounded) {
  failures = 1;
  auto g = gate(crashing({.restart = schedule::constant(1s), .max_waiting = 2}),
                stack{});
  auto a = world.request(g, 1);
  auto b = world.request(g, 2);
  auto c = world.request(g, 3);
  EXPECT_TRUE(c.is(errc::queue_full));
  EXPECT_EQ(retry_after(c.error()), 1s);
  world.advance(1s);
  EXPECT_TRUE(a.ok());
  EXPECT_TRUE(b.ok());
}

TEST_P(supervision_actor_test,
       a_call_that_waits_for_the_worker_has_a_deadline) {
  failures = 1;
  auto g = gate(crashing({.restart = schedule::constant(10s)}), stack{});
  auto answer = world.request(g, wrap(1).within(2s));
  world.advance(2s);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
  EXPECT_FALSE(context_of(answer.error())->may_have_executed);
  EXPECT_EQ(metric_of(g, "waiting_for_worker"), 0);
}

TEST_P(supervision_actor_test, a_call_that_expired_makes_room_for_another) {
  failures = 1;
  auto g = gate(
    crashing({.restart = schedule::constant(10s), .max_waiting = 1}), stack{});
  auto expired = world.request(g, wrap(1).within(2s));
  world.advance(2s);
  EXPECT_TRUE(expired.is(errc::deadline_exceeded));
  auto waits = world.request(g, 2);
  EXPECT_FALSE(waits.ready());
  world.advance(8s);
  EXPECT_EQ(waits.value<int>(), 4);
}

TEST_P(supervision_actor_test, calls_that_wait_for_a_lost_worker_are_answered) {
  failures = 2;
  auto g = gate(crashing({.restart = schedule::constant(1s),
                          .max_restarts = 1,
                          .on_give_up = give_up_action::refuse}),
                stack{});
  auto waits = world.request(g, 1);
  EXPECT_FALSE(waits.ready());
  world.advance(1s);
  EXPECT_EQ(look(g).worker, worker_state::given_up);
  EXPECT_TRUE(waits.is(errc::worker_down));
  EXPECT_EQ(waits.count(), 1u);
}

TEST_P(supervision_actor_test, a_worker_with_other_handles_ends_with_its_gate) {
  caf::actor known;
  auto g = gate(worker::supervised(
                  [&](caf::actor_system& sys) -> caf::expected<caf::actor> {
                    known = sys.spawn<crasher>();
                    return known;
                  }),
                stack{});
  stop_gate(g);
  world.run_until_idle();
  EXPECT_TRUE(portable::is_down(known));
}

TEST_P(supervision_actor_test, the_worker_ends_with_its_gate) {
  auto g = gate(crashing(), stack{});
  world.request(g, 1);
  EXPECT_EQ(world.actors(), 2u);
  stop_gate(g);
  world.run_until_idle();
  EXPECT_EQ(world.actors(), 0u);
}

TEST_P(supervision_actor_test, bad_settings_are_refused_before_anything_runs) {
  EXPECT_THROW(spawn_gate(world, crashing({.period = 0s}), stack{}),
               config_error);
  EXPECT_EQ(worker_count, 0);
}

} // namespace
} // namespace caisson::test
