// Calls that a canary still has when it is given up, in gates and local gates.
#include <caisson/caf/error.hpp>
#include <caisson/policies.hpp>

#include <support/canary_world.hpp>

#include <gmock/gmock.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using namespace canaries;
using testing::HasSubstr;

/// It gets all calls, may take a second for each, and is given up with ten that
/// take longer.
canary_config impatient(duration hand_over_after) {
  return {.stages = {{1.0, {.dwell = unlimited, .max_p99 = 1s}}},
          .min_calls = 10,
          .hand_over_after = hand_over_after};
}

class canary_hand_over_test : public canary_world {
protected:
  canary_hand_over_test() { second.become({}); }

  /// Half of them may be repeated.
  void ask_many(const caf::actor& g, int n) {
    for (int i = 0; i < n; ++i) {
      safe.push_back(ask(g, i));
      unsafe.push_back(world.request(g, i));
    }
  }

  void expect_one_answer_each() {
    for (auto* part : {&safe, &unsafe})
      for (auto& x : *part)
        EXPECT_EQ(x.count(), 1u);
  }

  void expect_all_from_baseline() {
    for (std::size_t i = 0; i < safe.size(); ++i)
      EXPECT_EQ(safe[i].value<int>(), 2 * static_cast<int>(i));
  }

  std::vector<pending_answer> safe;
  std::vector<pending_answer> unsafe;
};

CAISSON_BOTH_HOSTS(canary_hand_over_test, 3);

// -- who gets what ------------------------------------------------------------

TEST_P(canary_hand_over_test, takes_calls_from_a_canary_that_hangs) {
  auto g = host(stack{}
                  .deadline({.timeout = 10s})
                  .add<canary>(impatient(500ms), second.handle()));
  ask_many(g, 10);
  world.advance(1s);
  EXPECT_EQ(state(g), "stage_1");
  world.advance(1ms);
  EXPECT_EQ(state(g), "rolled_back");
  EXPECT_FALSE(safe[0].ready());
  world.advance(500ms);
  expect_all_from_baseline();
  EXPECT_EQ(count(g, "handed_over"), 10);
  EXPECT_EQ(count(g, "with_canary"), 10);
  EXPECT_EQ(baseline.count(), 10u);
  // The others must not be carried out twice: they have until their deadline.
  second.answer(77);
  world.advance(9s);
  while (second.open() > 0)
    second.answer(78);
  expect_one_answer_each();
  int answered = 0;
  for (auto& x : unsafe) {
    EXPECT_TRUE(x.ok() || x.is(errc::deadline_exceeded));
    answered += x.ok();
  }
  EXPECT_LE(answered, 1);
  EXPECT_EQ(look(g).metric("in_progress"), 0);
}

TEST_P(canary_hand_over_test, does_not_concern_what_is_answered_in_time) {
  auto g = host(impatient(2s));
  ask_many(g, 10);
  world.advance(1s + 1ms);
  ASSERT_EQ(state(g), "rolled_back");
  while (second.open() > 0)
    second.answer(5);
  world.advance(1min);
  expect_one_answer_each();
  EXPECT_EQ(safe[3].value<int>(), 5);
  EXPECT_EQ(baseline.count(), 0u);
  EXPECT_EQ(count(g, "handed_over"), 0);
}

TEST_P(canary_hand_over_test, says_that_the_canary_may_have_done_the_work) {
  baseline.become({});
  auto g = host(stack{}
                  .add<canary>(impatient(0s), second.handle())
                  .semaphore({.permits = 1, .max_waiters = 0}));
  ask_many(g, 10);
  world.advance(1s + 1ms);
  ASSERT_EQ(state(g), "rolled_back");
  // One is with the baseline, and the others never came there.
  EXPECT_EQ(baseline.count(), 1u);
  int rejected = 0;
  for (auto& x : safe)
    if (x.ready()) {
      ++rejected;
      ASSERT_TRUE(x.is(errc::queue_full));
      EXPECT_TRUE(context_of(x.error())->may_have_executed);
    }
  EXPECT_EQ(rejected, 9);
}

TEST_P(canary_hand_over_test, goes_on_although_the_canary_dies_meanwhile) {
  auto g = host(impatient(1s));
  ask_many(g, 10);
  world.advance(1s + 1ms);
  ASSERT_EQ(state(g), "rolled_back");
  world.kill(second.handle());
  world.advance(2s);
  expect_all_from_baseline();
  expect_one_answer_each();
  EXPECT_EQ(count(g, "handed_over"), 0);
  EXPECT_EQ(count(g, "given_to_baseline"), 10);
}

TEST_P(canary_hand_over_test, leaves_nobody_waiting_if_the_baseline_is_dead) {
  auto g = host(impatient(1s));
  ask_many(g, 10);
  world.advance(1s + 1ms);
  world.kill(baseline.handle());
  world.advance(1s);
  for (auto& x : safe) {
    ASSERT_TRUE(x.is(errc::worker_down));
    EXPECT_TRUE(context_of(x.error())->may_have_executed);
  }
  world.advance(1min);
  expect_one_answer_each();
}

// -- operation ----------------------------------------------------------------

TEST_P(canary_hand_over_test, goes_on_while_the_gate_drains) {
  auto g = host(impatient(500ms));
  for (int i = 0; i < 10; ++i)
    safe.push_back(ask(g, i));
  world.advance(1s + 1ms);
  auto end = world.request(g, drain{});
  EXPECT_FALSE(end.ready());
  world.advance(500ms);
  expect_all_from_baseline();
  EXPECT_TRUE(end.ok());
}

TEST_P(canary_hand_over_test, is_over_when_its_gate_is) {
  baseline.become({});
  auto g = host(impatient(500ms));
  ask_many(g, 10);
  world.advance(1s + 1ms);
  ask_many(g, 1);
  world.advance(500ms);
  EXPECT_EQ(baseline.count(), 12u);
  world.kill(g);
  expect_one_answer_each();
}

TEST_P(canary_hand_over_test,
       does_not_happen_while_the_layer_observes_or_is_off) {
  for (auto what : {operator_command::observe, operator_command::off}) {
    auto g = host(impatient(500ms));
    auto a = ask(g, 1);
    for (int i = 0; i < 9; ++i)
      ask(g, i);
    world.advance(1s + 1ms);
    ASSERT_EQ(state(g), "rolled_back");
    world.request(g, command{what, "canary"});
    world.advance(1s);
    EXPECT_FALSE(a.ready());
    EXPECT_EQ(count(g, "handed_over"), 0);
    second.answer(6);
    EXPECT_EQ(a.value<int>(), 6);
    while (second.open() > 0)
      second.answer(6);
  }
}

TEST_P(canary_hand_over_test, follows_new_settings_of_a_gate_at_work) {
  auto g = host(impatient(unlimited));
  ask_many(g, 10);
  world.advance(1s + 1ms);
  ASSERT_EQ(state(g), "rolled_back");
  world.advance(5s);
  EXPECT_FALSE(safe[0].ready());
  ASSERT_TRUE(
    world.request(g, reconfigure{"canary", {{"hand_over_after", "5s"}}}).ok());
  world.run_until_idle();
  expect_all_from_baseline();
}

TEST_P(canary_hand_over_test, obeys_limits_of_a_stage_that_change_at_work) {
  auto g = host(impatient(0s));
  ask_many(g, 5);
  ASSERT_TRUE(world
                .request(g, reconfigure{"canary",
                                        {{"stages", "[{ share = 1, max_p99 = "
                                                    "\"3s\", dwell = \"1h\" }"
                                                    "]"}}})
                .ok());
  auto layer = look(g).layer("canary");
  EXPECT_EQ(layer.config.at("stages"),
            "[{ share = 1, dwell = \"1h\", max_p99 = \"3s\" }]");
  EXPECT_THAT(layer.notes.at("limits"),
              HasSubstr("dwell = 1h, min_calls = 10"));
  world.advance(2s);
  EXPECT_EQ(state(g), "stage_1");
  world.advance(2s);
  EXPECT_EQ(state(g), "rolled_back");
}

// -- with other layers --------------------------------------------------------

TEST_P(canary_hand_over_test, works_below_other_layers) {
  baseline.become([n = std::make_shared<int>()](const caf::message&) {
    using reply = scripted_worker::reply;
    return ++*n <= 2 ? reply::error(caf::sec::runtime_error) : reply::value(*n);
  });
  auto g = host(
    stack{}
      .cache({.cacheable = cacheable_calls::idempotent, .unsafe = true})
      .add<keyed<semaphore>>({{.permits = 12, .max_waiters = 0}})
      .breaker()
      .retrier({.max_attempts = 3, .backoff = schedule::constant(10ms)})
      .add<canary>(impatient(1s), second.handle()));
  for (int i = 0; i < 12; ++i)
    safe.push_back(ask(g, i));
  EXPECT_EQ(look(g).metric("semaphore", "in_use"), 12);
  world.advance(1s + 1ms);
  ASSERT_EQ(state(g), "rolled_back");
  world.advance(1s);
  world.advance(100ms);
  // The retrier has seen to the two that the baseline failed, once each.
  for (auto& x : safe)
    EXPECT_TRUE(x.ok());
  expect_one_answer_each();
  EXPECT_EQ(baseline.count(), 14u);
  EXPECT_EQ(second.count(), 12u);
  EXPECT_EQ(look(g).metric("semaphore", "in_use"), 0);
  EXPECT_EQ(look(g).metric("in_progress"), 0);
}

TEST_P(canary_hand_over_test, is_linear_in_the_calls_in_progress) {
  // Large in one order of messages only, as each takes seconds.
  auto n = std::get<1>(GetParam()) == 0 ? 50'000 : 50;
  auto g = host(impatient(1s));
  ask_many(g, n);
  world.advance(1s + 1ms);
  ASSERT_EQ(state(g), "rolled_back");
  EXPECT_EQ(count(g, "with_canary"), 2 * n);
  world.advance(1s);
  EXPECT_EQ(count(g, "handed_over"), n);
  EXPECT_EQ(count(g, "with_canary"), n);
  for (int i = 0; i < n; ++i)
    ASSERT_EQ(safe[static_cast<std::size_t>(i)].value<int>(), 2 * i);
}

} // namespace
} // namespace caisson::test
