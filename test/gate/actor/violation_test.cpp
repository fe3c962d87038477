// A violated invariant, or a policy that breaks its word: the gate ends, each
// of its calls is answered once, and all others go on.
#include <support/both_hosts.hpp>
#include <support/rogue.hpp>
#include <support/violations.hpp>

#include <caisson/policies.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

call asking_for(std::string what) {
  call_options o;
  o.key = std::move(what);
  o.time_left = 10min;
  o.idempotent = idempotence::yes;
  return {caf::make_message(1), std::move(o)};
}

void expect_failed(const pending_answer& a, bool may_have_executed) {
  ASSERT_TRUE(a.is(errc::internal_error)) << to_string(a.content());
  EXPECT_EQ(a.count(), 1u);
  auto* context = context_of(a.error());
  ASSERT_TRUE(context);
  EXPECT_EQ(context->policy, "gate");
  EXPECT_EQ(context->may_have_executed, may_have_executed);
  EXPECT_FALSE(context->text.empty());
}

// Why an actor has ended, sent to one that monitors it and is put into `owned`.
std::shared_ptr<caf::error> end_of(virtual_time& world, const caf::actor& x,
                                   std::vector<caf::actor>& owned) {
  auto why = std::make_shared<caf::error>();
  owned.push_back(world.system().spawn([x, why](caf::event_based_actor* self) {
    self->set_down_handler([why](caf::down_msg& m) { *why = m.reason; });
    self->monitor(x);
    return caf::behavior{[](int) {}};
  }));
  world.run_until_idle();
  return why;
}

class violation_test : public both_hosts {
protected:
  violations_throw guard;
};
CAISSON_BOTH_HOSTS(violation_test, 3);

TEST_P(violation_test, each_call_of_the_gate_is_answered_once) {
  for (const auto& what : rogue::misdeeds()) {
    SCOPED_TRACE(what);
    auto w = make_worker(
      [](const caf::message&) { return scripted_worker::reply::silence(); });
    auto g = host(w.handle(), stack{}.add<rogue>());
    auto sent = world.request(g, asking_for("pass"));
    auto held = world.request(g, asking_for("hold"));
    auto bad = world.request(g, asking_for(what));
    expect_failed(sent, true);
    expect_failed(held, false);
    ASSERT_TRUE(bad.is(errc::internal_error)) << to_string(bad.content());
    EXPECT_EQ(bad.count(), 1u);
    // What comes later is not lost, either.
    auto late = world.request(g, 1);
    EXPECT_TRUE(late.ready());
    EXPECT_FALSE(late.ok());
    world.advance(1h);
    EXPECT_EQ(sent.count() + held.count() + bad.count() + late.count(), 4u);
  }
}

TEST_P(violation_test, other_gates_go_on) {
  auto w = make_worker(doubles());
  auto g = host(w.handle(), stack{}.add<rogue>());
  auto other = host(w.handle(), stack{}.add<rogue>());
  EXPECT_TRUE(world.request(g, asking_for("throw")).is(errc::internal_error));
  EXPECT_EQ(world.request(other, 4).value<int>(), 8);
}

TEST_P(violation_test, its_last_event_names_the_violation) {
  auto w = make_worker(doubles());
  auto g = host(w.handle(), stack{}.add<rogue>());
  auto user = world.make_probe();
  user.send(g, subscribe{});
  world.run_until_idle();
  world.request(g, asking_for("ensure"));
  auto events = user.received_as<event>();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().kind, event_kind::gate_failed);
  EXPECT_TRUE(events.back().detail.starts_with(
    "invariant violated: what != \"ensure\" at "))
    << events.back().detail;
  EXPECT_TRUE(events.back().detail.ends_with(
    ": in call 1; call 1: moving, attempts: 0, time left: 10 min, layers: "
    "none"))
    << events.back().detail;
}

TEST_P(violation_test, a_worker_that_takes_cancelled_is_notified) {
  auto w = make_worker(
    [](const caf::message&) { return scripted_worker::reply::silence(); });
  auto inner = gate(w.handle(), stack{"inner"}.semaphore({.permits = 1}));
  auto g = host(inner, stack{}.add<rogue>());
  auto sent = world.request(g, asking_for("pass"));
  EXPECT_EQ(metric_of(inner, "semaphore", "in_use"), 1);
  auto bad = world.request(g, asking_for("stranger"));
  expect_failed(sent, true);
  EXPECT_EQ(metric_of(inner, "semaphore", "in_use"), 0);
  EXPECT_EQ(metric_of(inner, "in_progress"), 0);
}

TEST_P(violation_test, a_policy_of_one_key_ends_the_whole_gate) {
  auto w = make_worker(doubles());
  auto g = host(w.handle(), stack{}.add<keyed<rogue>>());
  EXPECT_EQ(world.request(g, asking_for("pass")).value<int>(), 2);
  auto held = world.request(g, asking_for("hold"));
  EXPECT_TRUE(world.request(g, asking_for("throw")).is(errc::internal_error));
  expect_failed(held, false);
}

TEST_P(violation_test, a_policy_that_throws_also_ends_a_gate_in_tests) {
  abort_on_violation(true);
  auto w = make_worker(doubles());
  auto g = host(w.handle(), stack{}.add<rogue>());
  EXPECT_TRUE(world.request(g, asking_for("throw")).is(errc::internal_error));
}

// -- a gate's own actor -------------------------------------------------------

class failed_gate_test : public world_test {
protected:
  violations_throw guard;
};
CAISSON_ALL_ORDERS(failed_gate_test);

TEST_P(failed_gate_test, monitors_and_links_get_the_reason) {
  auto w = make_worker(doubles());
  auto g = gate(w.handle(), stack{}.add<rogue>());
  auto why = end_of(world, g, owned);
  EXPECT_FALSE(*why);
  world.request(g, asking_for("odd code"));
  EXPECT_EQ(*why, errc::internal_error);
  ASSERT_TRUE(context_of(*why));
  EXPECT_NE(context_of(*why)->text.find("a policy rejects with code 99"),
            std::string::npos)
    << context_of(*why)->text;
}

TEST_P(failed_gate_test, a_supervised_gate_is_made_again) {
  auto w = make_worker(doubles());
  auto worker_count = 0;
  auto g = gate(worker::supervised(
                  [&](caf::actor_system& sys) -> caf::expected<caf::actor> {
                    ++worker_count;
                    return caf::actor{
                      spawn_gate(sys, w.handle(), stack{"gate"}.add<rogue>())};
                  },
                  {.restart = schedule::constant(1s)}),
                stack{"outer"});
  auto held = world.request(g, asking_for("hold"));
  auto bad = world.request(g, asking_for("negative"));
  expect_failed(held, false);
  EXPECT_TRUE(bad.is(errc::internal_error));
  world.advance(1s);
  EXPECT_EQ(worker_count, 2);
  EXPECT_EQ(world.request(g, 4).value<int>(), 8);
}

TEST_P(failed_gate_test, a_retrier_further_out_outlives_it) {
  auto w = make_worker(doubles());
  auto g = gate(worker::supervised(
                  [&](caf::actor_system& sys) -> caf::expected<caf::actor> {
                    return caf::actor{
                      spawn_gate(sys, w.handle(), stack{"gate"}.add<rogue>())};
                  },
                  {.restart = schedule::constant(1s)}),
                stack{"outer"}.retrier({.max_attempts = 3}));
  auto held = world.request(g, asking_for("hold"));
  auto bad = world.request(g, asking_for("throw"));
  EXPECT_FALSE(held.ready());
  EXPECT_FALSE(bad.ready());
  world.advance(5min);
  EXPECT_EQ(held.count(), 1u);
  EXPECT_EQ(bad.count(), 1u);
}

TEST_P(failed_gate_test, waiters_for_permits_are_answered) {
  auto g = gate(worker{}, stack{"gate"}.add<rogue>().semaphore(
                            {.permits = 1, .max_waiters = 5}));
  auto why = end_of(world, g, owned);
  auto lent = world.request(g, acquire{});
  EXPECT_TRUE(lent.ok());
  auto waits = world.request(g, acquire{});
  EXPECT_FALSE(waits.ready());
  auto bad = world.request(g, acquire{.time_left = 1min, .key = "more time"});
  EXPECT_TRUE(bad.is(errc::internal_error));
  expect_failed(waits, false);
  EXPECT_EQ(lent.count(), 1u);
  EXPECT_EQ(*why, errc::internal_error);
}

// -- a gate in an actor -------------------------------------------------------

class failed_local_gate_test : public world_test {
protected:
  violations_throw guard;
};
CAISSON_ALL_ORDERS(failed_local_gate_test);

TEST_P(failed_local_gate_test, its_actor_goes_on_and_gets_errors) {
  auto w = make_worker(doubles());
  auto g = own(local_proxy::spawn(world, w.handle(), stack{}.add<rogue>()));
  auto why = end_of(world, g, owned);
  expect_failed(world.request(g, asking_for("stranger")), true);
  expect_failed(world.request(g, asking_for("pass")), false);
  expect_failed(world.request(g, 1), false);
  EXPECT_FALSE(*why);
  EXPECT_TRUE(world.request(g, command{operator_command::reset, "rogue"})
                .is(errc::internal_error));
  EXPECT_TRUE(world.request(g, drain{}).ok());
}

} // namespace
} // namespace caisson::test
