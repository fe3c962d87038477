// Canaries in gates and in local gates.
#include <support/canary_world.hpp>

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using namespace canaries;
using testing::HasSubstr;

class canary_test : public canary_world {};

CAISSON_BOTH_HOSTS(canary_test, 3);

// -- on and back --------------------------------------------------------------

TEST_P(canary_test, gets_all_calls_if_it_is_well) {
  auto g = host({.dwell = 10s, .min_calls = 10});
  EXPECT_LT(calls_until(g, "promoted", 5000), 5000);
  EXPECT_EQ(count(g, "went_on"), 3);
  EXPECT_EQ(count(g, "rollbacks"), 0);
  auto before = baseline.count();
  ask(g, 1);
  EXPECT_EQ(baseline.count(), before);
}

TEST_P(canary_test, gets_no_calls_any_more_if_it_fails) {
  second.become(fails());
  auto g = host({.stages = {0.3, 1.0}});
  EXPECT_LT(calls_until(g, "rolled_back", 200), 200);
  EXPECT_EQ(second.count(), 10u);
  // Nobody has noticed.
  EXPECT_EQ(look(g).metric("failed"), 0);
  EXPECT_EQ(count(g, "given_to_baseline"), 10);
}

TEST_P(canary_test, is_found_out_within_so_many_calls_if_it_fails_at_times) {
  second.become([n = std::make_shared<int>()](const caf::message&) {
    using reply = scripted_worker::reply;
    return ++*n % 3 == 0 ? reply::error(caf::sec::runtime_error)
                         : reply::value(*n);
  });
  auto g = host({.stages = {0.5}, .min_calls = 30, .significance_level = 1});
  for (int i = 0; i < 200; ++i)
    ask(g, i);
  EXPECT_EQ(state(g), "rolled_back");
  EXPECT_EQ(second.count(), 30u);
}

TEST_P(canary_test, gets_no_calls_any_more_if_it_is_slow) {
  auto after = [](duration d) {
    return scripted_worker::on<int>(
      [d](int x) { return scripted_worker::reply::value(2 * x).after(d); });
  };
  baseline.become(after(10ms));
  second.become(after(40ms));
  auto g = host({.stages = {0.3, 1.0}, .min_calls = 20});
  EXPECT_LT(calls_until(g, "rolled_back", 400), 400);
  EXPECT_EQ(second.count(), 20u);
}

TEST_P(canary_test, that_never_answers_is_found_out_by_deadlines) {
  second.become({});
  auto g = host(stack{}
                  .deadline({.timeout = 1s})
                  .add<canary>({.stages = {0.5}}, second.handle()));
  std::vector<pending_answer> all;
  for (int i = 0; i < 60; ++i)
    all.push_back(ask(g, i));
  auto sent = second.count();
  world.advance(1s);
  EXPECT_EQ(state(g), "rolled_back");
  EXPECT_EQ(count(g, "canary_failed"), static_cast<std::int64_t>(sent));
  for (auto& x : all)
    EXPECT_EQ(x.count(), 1u);
  // Too late.
  while (second.open() > 0)
    second.answer(0);
  EXPECT_EQ(look(g).metric("in_progress"), 0);
  for (auto& x : all)
    EXPECT_EQ(x.count(), 1u);
}

// -- deaths -------------------------------------------------------------------

TEST_P(canary_test, that_is_dead_costs_nobody_an_answer) {
  world.kill(second.handle());
  auto g = host(all_calls());
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(world.request(g, i).value<int>(), 2 * i);
  EXPECT_EQ(state(g), "rolled_back");
  EXPECT_EQ(count(g, "to_canary"), 10);
}

TEST_P(canary_test, that_dies_leaves_its_calls_to_the_baseline) {
  second.become({});
  auto g = host(all_calls());
  std::vector<pending_answer> safe;
  std::vector<pending_answer> unsafe;
  for (int i = 0; i < 20; ++i) {
    safe.push_back(ask(g, i));
    unsafe.push_back(world.request(g, i));
  }
  EXPECT_EQ(count(g, "with_canary"), 40);
  world.kill(second.handle());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(safe[static_cast<std::size_t>(i)].value<int>(), 2 * i);
    EXPECT_TRUE(unsafe[static_cast<std::size_t>(i)].is(errc::worker_down));
    EXPECT_EQ(safe[static_cast<std::size_t>(i)].count(), 1u);
    EXPECT_EQ(unsafe[static_cast<std::size_t>(i)].count(), 1u);
  }
  EXPECT_EQ(state(g), "rolled_back");
  EXPECT_EQ(count(g, "with_canary"), 0);
  EXPECT_EQ(count(g, "late_results"), 30);
}

TEST_P(canary_test, outlives_the_baseline) {
  baseline.become({});
  second.become({});
  auto g = host({.stages = {0.5}, .dwell = unlimited});
  std::vector<pending_answer> all;
  for (int i = 0; i < 40; ++i)
    all.push_back(ask(g, i));
  auto with_canary = second.count();
  ASSERT_GT(with_canary, 0u);
  world.kill(baseline.handle());
  while (second.open() > 0)
    second.answer(7);
  std::size_t answered = 0;
  for (auto& x : all) {
    ASSERT_EQ(x.count(), 1u);
    answered += x.ok();
    EXPECT_TRUE(x.ok() || x.is(errc::worker_down));
  }
  EXPECT_EQ(answered, with_canary);
  EXPECT_EQ(look(g).metric("in_progress"), 0);
}

TEST_P(canary_test, answers_all_callers_if_canary_and_baseline_die) {
  second.become({});
  auto g = host(all_calls());
  auto a = ask(g, 1);
  auto b = world.request(g, 1);
  world.kill(baseline.handle());
  world.kill(second.handle());
  EXPECT_TRUE(a.is(errc::worker_down));
  EXPECT_TRUE(b.is(errc::worker_down));
  EXPECT_EQ(look(g).metric("in_progress"), 0);
}

TEST_P(canary_test, can_be_configured_to_pass_failures_up) {
  second.become(fails());
  auto c = all_calls();
  c.on_failure = on_canary_failure::pass;
  auto g = host(c);
  EXPECT_EQ(ask(g, 1).error(), caf::sec::runtime_error);
  EXPECT_EQ(baseline.count(), 0u);
}

TEST_P(canary_test, that_dies_under_many_calls_loses_none) {
  // Large in one order of messages only, as each takes seconds.
  auto n = std::get<1>(GetParam()) == 0 ? 10'000 : 100;
  second.become({});
  auto g = host(all_calls());
  std::vector<pending_answer> all;
  for (int i = 0; i < n; ++i)
    all.push_back(ask(g, i));
  world.kill(second.handle());
  for (int i = 0; i < n; ++i)
    ASSERT_EQ(all[static_cast<std::size_t>(i)].value<int>(), 2 * i);
  EXPECT_EQ(look(g).metric("in_progress"), 0);
}

// -- other ends ---------------------------------------------------------------

TEST_P(canary_test, is_notified_when_callers_die) {
  second.become({});
  auto g = host(all_calls());
  auto caller = world.make_probe();
  auto answer = caller.request(g, 1);
  world.run_until_idle();
  ASSERT_EQ(count(g, "with_canary"), 1);
  if (std::get<0>(GetParam()) == host_kind::local)
    return; // There the caller is the host.
  world.kill(caller.handle());
  EXPECT_EQ(count(g, "with_canary"), 0);
  EXPECT_EQ(count(g, "canary_neutral"), 1);
  EXPECT_EQ(look(g).metric("in_progress"), 0);
}

TEST_P(canary_test, finishes_its_calls_before_a_drain_ends) {
  second.become({});
  auto g = host(all_calls());
  auto a = ask(g, 1);
  auto end = world.request(g, drain{});
  EXPECT_FALSE(end.ready());
  second.answer(5);
  EXPECT_EQ(a.value<int>(), 5);
  EXPECT_TRUE(end.ok());
}

TEST_P(canary_test, does_not_hold_up_a_drain_by_what_is_mirrored) {
  second.become({});
  auto g = host(all_mirrored());
  EXPECT_EQ(ask(g, 1).value<int>(), 2);
  ASSERT_EQ(second.open(), 1u);
  EXPECT_TRUE(world.request(g, drain{}).ok());
}

TEST_P(canary_test, leaves_nobody_waiting_if_its_gate_is_killed) {
  second.become({});
  auto g = host(all_calls());
  auto a = ask(g, 1);
  world.kill(g);
  EXPECT_EQ(a.count(), 1u);
  EXPECT_TRUE(a.error());
}

// -- operation ----------------------------------------------------------------

TEST_P(canary_test, obeys_its_operator) {
  auto g = host(all_calls());
  ask(g, 1);
  EXPECT_EQ(second.count(), 1u);
  world.request(g, command{operator_command::off, "canary"});
  ask(g, 1);
  EXPECT_EQ(second.count(), 1u);
  world.request(g, command{operator_command::observe, "canary"});
  ask(g, 1);
  EXPECT_EQ(second.count(), 1u);
  EXPECT_EQ(count(g, "observed"), 1);
  world.request(g, command{operator_command::enable, "canary"});
  ask(g, 1);
  EXPECT_EQ(second.count(), 2u);
  EXPECT_FALSE(
    world.request(g, command{operator_command::force_closed, "canary"}).ok());
}

TEST_P(canary_test, mirrors_nothing_while_it_observes) {
  auto c = all_mirrored();
  c.mode = mode::observe;
  auto g = host(c);
  EXPECT_EQ(ask(g, 1).value<int>(), 2);
  EXPECT_EQ(second.count(), 0u);
}

TEST_P(canary_test, gives_no_call_away_while_it_observes) {
  second.become({});
  auto g = host(all_calls());
  auto a = ask(g, 1);
  world.request(g, command{operator_command::observe, "canary"});
  second.fail(caf::make_error(caf::sec::runtime_error));
  EXPECT_EQ(a.error(), caf::sec::runtime_error);
  EXPECT_EQ(baseline.count(), 0u);
  EXPECT_EQ(look(g).metric("in_progress"), 0);
}

TEST_P(canary_test, starts_anew_after_a_reset) {
  second.become(fails());
  auto g = host(all_calls());
  for (int i = 0; i < 10; ++i)
    ask(g, i);
  ASSERT_EQ(state(g), "rolled_back");
  second.become(doubles());
  world.request(g, command{operator_command::reset, "canary"});
  EXPECT_EQ(state(g), "waiting");
  EXPECT_EQ(ask(g, 1).value<int>(), 2);
  EXPECT_EQ(state(g), "stage_1");
  EXPECT_EQ(second.count(), 11u);
}

TEST_P(canary_test, is_reconfigured_while_it_has_calls) {
  second.become({});
  auto g = host(all_calls());
  auto a = ask(g, 1);
  auto done = world.request(
    g, reconfigure{"canary", {{"stages", "0.25, 0.5"}, {"enabled", "false"}}});
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(look(g).layer("canary").config.at("stages"), "[0.25, 0.5]");
  EXPECT_EQ(ask(g, 2).value<int>(), 4);
  second.answer(9);
  EXPECT_EQ(a.value<int>(), 9);
  auto refused = world.request(g,
                               reconfigure{"canary", {{"stages", "0.5, 0"}}});
  ASSERT_TRUE(refused.is(errc::invalid_config));
  EXPECT_THAT(context_of(refused.error())->text, HasSubstr("stages"));
}

// -- with other layers --------------------------------------------------------

TEST_P(canary_test, holds_the_permits_of_its_calls_once) {
  second.become({});
  auto g = host(stack{}
                  .semaphore({.permits = 3, .max_waiters = 0})
                  .add<canary>(all_calls(), second.handle()));
  auto a = ask(g, 1);
  EXPECT_EQ(look(g).metric("semaphore", "in_use"), 1);
  world.kill(second.handle());
  EXPECT_EQ(a.value<int>(), 2);
  EXPECT_EQ(look(g).metric("semaphore", "in_use"), 0);
}

TEST_P(canary_test, has_failures_repeated_by_a_retrier_outside) {
  second.become(fails());
  auto c = all_calls();
  c.on_failure = on_canary_failure::pass;
  auto g = host(
    stack{}
      .retrier({.max_attempts = 3, .backoff = schedule::constant(1ms)})
      .add<canary>(c, second.handle()));
  auto a = ask(g, 1);
  world.advance(10ms);
  EXPECT_EQ(a.error(), caf::sec::runtime_error);
  EXPECT_EQ(second.count(), 3u);
}

TEST_P(canary_test,
       reports_to_an_outer_retrier_whether_the_call_may_have_executed) {
  second.become(fails());
  auto g = host(
    stack{}
      .retrier({.max_attempts = 3, .backoff = schedule::constant(1ms)})
      .add<canary>(all_calls(), second.handle()));
  auto a = world.request(g, 1);
  world.advance(10ms);
  // It may have been carried out: neither of the two repeats it.
  EXPECT_EQ(a.error(), caf::sec::runtime_error);
  EXPECT_EQ(second.count() + baseline.count(), 1u);
}

TEST_P(canary_test, is_not_seen_by_layers_further_in) {
  auto g = host(stack{}
                  .add<canary>(all_calls(), second.handle())
                  .limiter({.rate = 1, .burst = 1}));
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(ask(g, i).value<int>(), 2 * i);
  EXPECT_EQ(baseline.count(), 0u);
}

// -- forms --------------------------------------------------------------------

TEST(canary_forms, need_an_actor_in_code) {
  auto found = stack{}.add<canary>({}, caf::actor{}).check();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(to_text(found[0].key), "canary.canary");
  found = stack{}.add<canary>({}, caf::actor{}, compares_values<int>()).check();
  EXPECT_EQ(found.size(), 1u);
}

} // namespace
} // namespace caisson::test
