// Defaults in the company of other defaults: what a stack does about whose
// numbers nobody has thought.
#include "support/both_hosts.hpp"

#include <algorithm>
#include <vector>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

class defaults_test : public both_hosts {};
CAISSON_BOTH_HOSTS(defaults_test, 4);

caf::error failure() {
  return caf::make_error(caf::sec::end_of_stream);
}

TEST_P(defaults_test, a_rate_opens_a_breaker_on_a_worker_that_hangs) {
  auto w = make_worker();
  auto g = host(w.handle(),
                stack{}.breaker({.trip = breaker_trip::rate_by_time}));
  for (int i = 0; i < 20; ++i) {
    world.request(g, i);
    world.advance(100ms);
  }
  EXPECT_EQ(state_of(g, "breaker"), "closed");
  world.advance(30s);
  EXPECT_EQ(state_of(g, "breaker"), "open");
}

TEST_P(defaults_test, a_worker_that_hangs_opens_a_breaker_beside_a_retrier) {
  for (auto& layers : {stack{}.breaker(), stack{}.retrier().breaker(),
                       stack{}.breaker().retrier()}) {
    auto w = make_worker();
    auto g = host(w.handle(), layers);
    for (int i = 0; i < 5; ++i)
      world.request(g, i);
    world.advance(30s);
    EXPECT_EQ(state_of(g, "breaker"), "open");
    // It is well again, and is found.
    world.advance(1min);
    while (w.open() > 0)
      w.answer(7);
    auto x = world.request(g, 1);
    ASSERT_EQ(w.open(), 1u);
    w.answer(7);
    EXPECT_EQ(x.value<int>(), 7);
    EXPECT_EQ(state_of(g, "breaker"), "closed");
  }
}

TEST_P(defaults_test, slow_calls_open_a_breaker_without_any_result) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.breaker({.slow_call = 1s}));
  for (int i = 0; i < 20; ++i)
    world.request(g, i);
  world.advance(999ms);
  EXPECT_EQ(state_of(g, "breaker"), "closed");
  world.advance(1ms);
  EXPECT_EQ(state_of(g, "breaker"), "open");
}

// However its rule counts, and whether or not a call counts as slow while it is
// still in flight.
TEST_P(defaults_test, each_rule_opens_within_a_window_when_the_worker_hangs) {
  for (auto trip : {breaker_trip::consecutive, breaker_trip::without_gap,
                    breaker_trip::rate_by_count, breaker_trip::rate_by_time,
                    breaker_trip::score})
    for (auto slow : {duration{1s}, unlimited}) {
      auto w = make_worker(doubles());
      auto g = host(w.handle(),
                    stack{}.breaker({.trip = trip, .slow_call = slow}));
      auto call = [&] {
        world.request(g, 1);
        world.advance(100ms);
      };
      for (int i = 0; i < 600; ++i)
        call();
      ASSERT_EQ(state_of(g, "breaker"), "closed");
      w.become({}); // Keeps mute.
      auto begin = world.elapsed();
      while (state_of(g, "breaker") == "closed"
             && world.elapsed() < begin + 2min)
        call();
      // The gate's default deadline, or the time from which calls are slow; and
      // the window.
      EXPECT_LE(world.elapsed() - begin, std::min<duration>(slow, 30s) + 10s)
        << enum_names<breaker_trip>::value[static_cast<std::size_t>(trip)]
        << ", slow after " << caisson::to_text(slow);
    }
}

TEST_P(defaults_test, a_state_forced_for_a_time_ends_by_itself) {
  using op = operator_command;
  auto w = make_worker(doubles());
  auto g = host(w.handle(), stack{}.deadline({.timeout = 5s}).breaker());
  EXPECT_TRUE(world.request(g, command{op::force_open, "", 5s}).ok());
  EXPECT_EQ(state_of(g, "breaker"), "forced_open");
  EXPECT_FALSE(world.request(g, 1).ok());
  world.advance(5s);
  EXPECT_EQ(state_of(g, "breaker"), "closed");
  EXPECT_EQ(world.request(g, 1).value<int>(), 2);
  // A deadline cannot be forced, other commands cannot be for a time, and no
  // time is negative.
  for (auto& x : {command{op::force_open, "deadline", 5s},
                  command{op::enable, "breaker", 5s}, command{op::off, "", 5s},
                  command{op::force_open, "breaker", -1ns}})
    EXPECT_FALSE(world.request(g, x).ok());
  EXPECT_EQ(state_of(g, "breaker"), "closed");
}

TEST_P(defaults_test, callers_come_back_to_a_worker_that_is_well_again) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}
                              .deadline({.timeout = 5s})
                              .retrier()
                              .breaker({.open = schedule::constant(1s)}));
  for (int i = 0; i < 5; ++i) {
    world.request(g, i);
    w.fail(failure());
  }
  ASSERT_EQ(state_of(g, "breaker"), "open");
  world.advance(1s);
  std::vector<pending_answer> answers;
  for (int i = 0; i < 20; ++i)
    answers.push_back(world.request(g, i));
  // The first is the probe; the worker takes 20 ms for each call.
  for (int i = 0; i < 500 && w.count() < 25; ++i) {
    world.advance(20ms);
    while (w.open() > 0)
      w.answer(7);
  }
  for (auto& x : answers) {
    ASSERT_TRUE(x.ready());
    EXPECT_EQ(x.value<int>(), 7);
    EXPECT_LE(x.at() - answers[0].at(), 250ms);
  }
}

TEST_P(defaults_test, a_value_is_there_for_every_call_of_a_burst) {
  auto w = make_worker();
  auto g = host(w.handle(), stack{}.fallback({alternative::answer(-1)}));
  std::vector<pending_answer> answers;
  for (int i = 0; i < 50; ++i)
    answers.push_back(world.request(g, i));
  w.quit();
  for (auto& x : answers)
    EXPECT_EQ(x.value<int>(), -1);
}

TEST_P(defaults_test, a_healthy_worker_with_few_calls_gets_its_breaker_closed) {
  auto w = make_worker(doubles());
  auto g = host(w.handle(), stack{}.breaker({.threshold = 1,
                                             .open = schedule::constant(1s),
                                             .probes = 5}));
  // A message that it has no handler for.
  EXPECT_FALSE(world.request(g, std::string{"what?"}).ok());
  ASSERT_EQ(state_of(g, "breaker"), "open");
  world.advance(1s);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(world.request(g, i).value<int>(), 2 * i);
    EXPECT_EQ(state_of(g, "breaker"), "half_open");
    world.advance(20s);
  }
  EXPECT_EQ(state_of(g, "breaker"), "closed");
}

} // namespace
} // namespace caisson::test
