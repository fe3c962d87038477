// Layers of the kind throttle in the tests of stacks.
#include "support/layer_traits.hpp"

#include <caisson/policies/throttle.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// None is rejected: each gate of a chain draws from its own source.
texts throttle_settings(random_settings& r) {
  return {{"window", r.time({1'000ms, 120'000ms})},
          {"multiplier", r.word({"1", "2", "100"})},
          {"max_rejection", r.word({"0", "0.8", "1"})},
          {"min_rate", "1000000"},
          {"pass_after", r.time({1ms, unlimited})}};
}

layer_traits throttle_traits() {
  auto x = traits_for<throttle>();
  x.settings = throttle_settings;
  x.situations = {
    {.name = "let through by the throttle of its key",
     .policies =
       [](two_workers&) {
         return stack{}
           .retrier({.max_attempts = 2, .backoff = schedule::constant(1s)})
           .add<keyed<throttle>>(
             {{.multiplier = 1, .min_rate = 0, .pass_after = 1ms}})
           .deadline({.timeout = 4s});
       },
     .before = 1,
     .content = situations::with_key}};
  return x;
}

const registered_layer registered_throttle{throttle_traits()};

} // namespace
} // namespace caisson::test
