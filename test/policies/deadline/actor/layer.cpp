// Layers of the kind deadline in the tests of stacks.
#include "support/layer_traits.hpp"

#include <caisson/policies/deadline/deadline.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

texts deadline_settings(random_settings& r) {
  return {{"timeout", r.time({1ms, 50ms, 700ms, 3'000ms})},
          {"min_left", r.time({0ms, 0ms, 20ms})},
          {"share", r.word({"1", "1", "0.5", "0.001"})},
          {"least", r.word({"1us", "1ms", "20ms"})},
          {"reserve", r.time({0ms, 0ms, 5ms, 100ms})},
          {"learned.on", r.word({"false", "false", "true"})},
          {"learned.quantile", r.word({"0.5", "0.999"})},
          {"learned.factor", r.word({"1", "100"})},
          {"learned.deviations", r.word({"0", "3"})},
          {"learned.least", r.word({"20ms", "50ms"})},
          {"learned.most", r.word({"50ms", "1h"})},
          {"learned.window", r.word({"100ms", "10s", "24h"})},
          {"learned.minimum_samples", r.word({"1", "3", "1000000"})}};
}

layer_traits deadline_traits() {
  auto x = traits_for<deadline>();
  x.settings = deadline_settings;
  x.weights = {.patient = 0, .prompt = 2, .mixed_in_batch = 1};
  x.situations = {
    {.name = "under a deadline per attempt", .policies = [](two_workers&) {
       return stack{}
         .retrier({.max_attempts = 3,
                   .backoff = schedule::constant(1s),
                   .idempotent = true})
         .deadline({.timeout = 4s});
     }}};
  return x;
}

const registered_layer registered_deadline{deadline_traits()};

} // namespace
} // namespace caisson::test
