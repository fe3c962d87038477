// The end of gates and local gates, whom they watch, and what is left of them.
#include "support/both_hosts.hpp"

#include <caisson/presets.hpp>

#include <memory>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

// -- of gates and local gates -------------------------------------------------

class host_ends_test : public both_hosts {
protected:
  static host_kind kind() { return std::get<0>(GetParam()); }
};
CAISSON_BOTH_HOSTS(host_ends_test, 8);

TEST_P(host_ends_test, a_gate_without_handles_ends_although_timers_are_due) {
  // A retry is due in a second, a bucket of the breaker in another.
  {
    auto w = make_worker([](const caf::message&) {
      return caf::make_message(caf::make_error(caf::sec::runtime_error));
    });
    auto g = spawn_host(kind(), world, w.handle(),
                        stack{}.breaker({.trip = breaker_trip::rate_by_time}));
    world.request(g, 1);
    EXPECT_GT(world.timers(), 0u);
  }
  world.run_until_idle();
  EXPECT_EQ(world.actors(), 1u);
  EXPECT_EQ(world.timers(), 0u);
}

TEST_P(host_ends_test, calls_that_come_round_again_are_refused) {
  auto second = std::make_shared<caf::actor>();
  auto factory = [second](caf::actor_system&) -> caf::expected<caf::actor> {
    if (!*second)
      return caf::make_error(caf::sec::runtime_error);
    return *second;
  };
  auto first = host(
    worker::supervised(factory, {.restart = schedule::constant(1ms)}),
    stack{"first"}.breaker({}));
  *second = gate(worker{first}.is_gate(), stack{"second"}.limiter({}));
  world.advance(1ms);
  auto answer = world.request(first, 1);
  EXPECT_TRUE(answer.is(errc::call_loop));
  EXPECT_EQ(context_of(answer.error())->policy, "first");
  EXPECT_FALSE(context_of(answer.error())->may_have_executed);
  EXPECT_EQ(metric_of(first, "attempts"), 1);
  EXPECT_EQ(metric_of(*second, "attempts"), 1);
  EXPECT_EQ(metric_of(first, "refused_loop"), 1);
  world.kill(first);
  *second = nullptr;
}

TEST_P(host_ends_test, hosts_that_fall_back_on_each_other_try_once_each) {
  auto fail = [](const caf::message&) {
    return caf::make_message(caf::make_error(caf::sec::runtime_error));
  };
  auto wa = make_worker(fail);
  auto wb = make_worker(fail);
  // An alternative must exist before the gate that asks it: a relay of the
  // test's stands in.
  auto a = std::make_shared<caf::actor>();
  auto proxy = gate(worker::supervised(
                      [a](caf::actor_system&) -> caf::expected<caf::actor> {
                        if (!*a)
                          return caf::make_error(caf::sec::runtime_error);
                        return *a;
                      },
                      {.restart = schedule::constant(1ms)})
                      .is_gate(),
                    stack{"proxy"});
  auto b = gate(wb.handle(), stack{"b"}.fallback({alternative::ask(proxy)}));
  *a = host(wa.handle(), stack{"a"}.fallback({alternative::ask(b)}));
  world.advance(1ms);
  auto answer = world.request(*a, 1);
  EXPECT_TRUE(answer.is(errc::call_loop));
  EXPECT_TRUE(context_of(answer.error())->may_have_executed);
  EXPECT_EQ(wa.count(), 1u);
  EXPECT_EQ(wb.count(), 1u);
  world.kill(proxy);
  world.kill(std::exchange(*a, nullptr));
}

TEST_P(host_ends_test, a_chain_of_many_is_no_loop) {
  auto w = make_worker(doubles());
  auto last = w.handle();
  for (std::size_t i = 0; i < max_path_length; ++i)
    last = gate(last, stack{});
  EXPECT_EQ(world.request(last, 4).value<int>(), 8);
  auto answer = world.request(host(last, stack{}), 4);
  EXPECT_TRUE(answer.is(errc::call_loop));
}

TEST_P(host_ends_test, a_supervised_worker_needs_a_factory) {
  try {
    spawn_host(kind(), world, worker::supervised(nullptr), stack{});
    FAIL() << "nothing was thrown";
  } catch (const config_error& e) {
    EXPECT_EQ(e.all().front().key, "worker.factory");
  }
}

// -- what only gates see ------------------------------------------------------

class ends_test : public world_test {};
CAISSON_ALL_ORDERS(ends_test);

TEST_P(ends_test, a_gate_without_handles_ends_although_its_worker_is_mute) {
  pending_answer answer;
  {
    scripted_worker w{world};
    auto g = spawn_gate(world, w.handle(), stack{});
    answer = world.request(g, 1);
  }
  EXPECT_EQ(world.actors(), 2u);
  world.advance(30s);
  EXPECT_TRUE(answer.is(errc::deadline_exceeded));
  EXPECT_EQ(world.actors(), 0u);
}

// One without references can send nothing any more.
TEST_P(ends_test, gates_of_all_kinds_may_end_with_their_last_handle) {
  auto self = world.make_probe();
  auto make = [this](caf::actor_system&) {
    return caf::expected<caf::actor>{
      scripted_worker{world, scripted_worker::always(7)}.handle()};
  };
  std::vector<stack> all{stack{}, stack{}.cache({}), stack{}.batcher({})};
  for (auto name : presets::names())
    all.push_back(presets::named(name).value());
  for (const auto& layers : all) {
    auto g = spawn_gate(world, worker::supervised(make), layers);
    self.send(g, subscribe{});
    world.run_until_idle();
    self.send(g, 1);
    world.advance(1s);
    g = {};
    world.run_until_idle();
  }
  EXPECT_EQ(world.actors(), 0u);
}

TEST_P(ends_test, a_worker_learns_nothing_of_the_gate_from_the_sender) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{});
  auto answer = world.request(g, 1);
  auto address = caf::actor_cast<caf::actor>(w.open_sender());
  ASSERT_TRUE(address);
  world.send(address, command{operator_command::force_open});
  world.send(address, drain{});
  world.send(address, 5);
  caf::anon_send_exit(address, caf::exit_reason::kill);
  world.run_until_idle();
  EXPECT_EQ(world.request(address, get_status{}).error(),
            caf::sec::request_receiver_down);
  EXPECT_EQ(look(g).state, gate_state::accepting);
  EXPECT_EQ(w.count(), 1u);
  w.answer(2);
  EXPECT_EQ(answer.value<int>(), 2);
}

// -- watches ------------------------------------------------------------------

// Takes numbers and never answers; sends a call to a gate when asked.
class mute_caller final : public caf::event_based_actor {
public:
  explicit mute_caller(caf::actor_config& cfg) : caf::event_based_actor(cfg) {}

  caf::behavior make_behavior() override {
    return {
      [this](int) -> caf::result<int> {
        taken_.push_back(make_response_promise<int>());
        return taken_.back();
      },
      [this](const caf::actor& g) {
        portable::ask(this, g, portable::no_timeout, acquire{.time_left = 1ns})
          .then([](const permit&) {}, [](const caf::error&) {});
      },
    };
  }

  void on_exit() override { taken_.clear(); }

private:
  std::vector<caf::typed_response_promise<int>> taken_;
};

TEST_P(ends_test, an_alternative_is_watched_also_when_it_was_a_caller) {
  auto primary = make_worker([](const caf::message&) {
    return caf::make_message(caf::make_error(caf::sec::runtime_error));
  });
  auto other = own(
    caf::actor_cast<caf::actor>(world.system().spawn<mute_caller>()));
  auto g = gate(primary.handle(),
                stack{}
                  .fallback({alternative::ask(other), alternative::answer(7)})
                  .semaphore({.permits = 1, .max_waiters = 1}));
  // The alternative waits here once, and then so many others do that it is
  // forgotten as a caller.
  auto holder = world.request(g, acquire{.time_left = 1h});
  world.send(other, g);
  world.advance(1ns);
  EXPECT_EQ(metric_of(g, "expired"), 1);
  for (int i = 0; i < 1100; ++i) {
    auto caller = world.make_probe();
    caller.request(g, acquire{.time_left = 1ns});
    world.advance(1ns);
  }
  world.send(g, release{holder.value<permit>().id});
  auto answer = world.request(g, 1);
  EXPECT_FALSE(answer.ready());
  world.kill(other);
  EXPECT_EQ(answer.value<int>(), 7);
}

TEST_P(ends_test, a_caller_that_waits_is_watched_however_many_came_between) {
  auto g = gate(worker{}, stack{}.semaphore({.permits = 1, .max_waiters = 9}));
  auto first = world.make_probe();
  auto holder = first.request(g, acquire{.time_left = 1h});
  world.run_until_idle();
  ASSERT_TRUE(holder.ok());
  for (int i = 0; i < 1100; ++i) {
    auto caller = world.make_probe();
    caller.request(g, acquire{.time_left = 1ns});
    world.advance(1ns);
  }
  world.kill(first.handle());
  EXPECT_EQ(metric_of(g, "leases"), 0);
}

TEST_P(ends_test, a_caller_that_unsubscribes_and_waits_is_still_watched) {
  auto g = gate(worker{}, stack{}.semaphore({.permits = 1}));
  auto subscriber = world.make_probe();
  subscriber.send(g, subscribe{});
  auto lease = subscriber.request(g, acquire{.time_left = 1h});
  subscriber.send(g, unsubscribe{});
  world.run_until_idle();
  ASSERT_TRUE(lease.ok());
  world.kill(subscriber.handle());
  EXPECT_EQ(metric_of(g, "leases"), 0);
}

// -- drains -------------------------------------------------------------------

TEST_P(ends_test, draining_again_is_reported_once) {
  auto w = make_worker();
  auto g = gate(w.handle(), stack{});
  auto user = world.make_probe();
  user.send(g, subscribe{});
  auto call = world.request(g, 1);
  std::vector<pending_answer> drains;
  for (std::size_t i = 0; i <= max_drains; ++i)
    drains.push_back(world.request(g, drain{}));
  for (int i = 0; i < 1000; ++i)
    world.send(g, drain{});
  EXPECT_TRUE(drains.back().is(errc::invalid_config));
  EXPECT_FALSE(drains.front().ready());
  w.answer(1);
  EXPECT_TRUE(drains.front().ok());
  auto reports = 0;
  for (const auto& x : user.received_as<event>())
    reports += x.kind == event_kind::state_changed ? 1 : 0;
  EXPECT_EQ(reports, 1);
}

} // namespace
} // namespace caisson::test
