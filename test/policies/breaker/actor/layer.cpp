// Layers of the kind breaker in the tests of stacks.
#include "support/layer_traits.hpp"

#include <caisson/policies/breaker/breaker.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

texts breaker_settings(random_settings& r) {
  texts set{
    {"trip",
     r.word({"consecutive", "without_gap", "rate_by_count", "rate_by_time",
             "score", "consecutive,rate_by_time", "without_gap,score"})},
    {"trip_if", r.word({"any", "all"})},
    {"slow_call", r.time({1ms, 20ms, 500ms, unlimited, unlimited})},
    {"slow_rate", r.word({"0.001", "0.5", "1"})},
    {"score.limit", r.word({"0.001", "0.5", "1.2"})},
    {"score.latency", r.time({1ms, 800ms})},
    {"score.window", r.time({100ms, 10'000ms})},
    {"score.baseline_window", r.time({3'000ms, 300'000ms})},
    {"score.baseline_step", r.time({1'000ms, 2'000ms})},
    {"threshold", r.word({"1", "3"})},
    {"quiet_period", r.time({10ms, 10'000ms, unlimited})},
    {"failure_rate", r.word({"0.001", "0.5", "1"})},
    {"window_calls", r.word({"5", "100"})},
    {"minimum_calls", r.word({"1", "5"})},
    {"slow_minimum_calls", r.word({"0", "0", "3"})},
    {"window_time", r.time({100ms, 10'000ms})},
    {"open", r.time({10ms, 400ms, 2'000ms})},
    {"eager_half_open", r.word({"true", "false"})},
    {"probes", r.word({"1", "3"})},
    {"successes_to_close", r.word({"0", "1"})},
    {"probe_timeout", r.time({100ms, 10'000ms})},
    {"half_open_max", r.time({50ms, 60'000ms, unlimited})},
    {"after_half_open_max", r.word({"open", "closed"})},
    {"initial", r.word({"closed", "closed", "half_open"})},
    // All calls pass the ramp: each gate of a chain draws from a source of
    // its own.
    {"ramp", r.time({0ms, 0ms, 300ms})},
    {"ramp_from", "1"},
    // An attempt that times out above a breaker is known to it only within
    // the same gate: gates in a chain do not see into each other.
    {"count_attempt_timeouts", "false"},
  };
  r.judge_without_execution(set);
  return set;
}

layer_traits breaker_traits() {
  auto x = traits_for<breaker>({.open = schedule::constant(1s)});
  x.settings = breaker_settings;
  x.situations = {{.name = "the probe of its key",
                   .policies =
                     [](two_workers&) {
                       return stack{}.add<keyed<breaker>>(
                         {{.initial = breaker_start::half_open}});
                     },
                   .before = 1,
                   .content = situations::with_key}};
  return x;
}

const registered_layer registered_breaker{breaker_traits()};

} // namespace
} // namespace caisson::test
