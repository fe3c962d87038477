// Layers of the kind limiter in the tests of stacks.
#include "support/layer_traits.hpp"

#include <caisson/policies/limiter.hpp>
#include <caisson/stack/layers/limiter_layer.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

texts limiter_settings(random_settings& r) {
  auto algorithm = r.word({"token_bucket", "token_bucket", "fixed_window",
                           "sliding_window", "leaky_bucket", "warm_up"});
  auto bucket = algorithm == "token_bucket";
  return {
    {"algorithm", algorithm},
    {"rate", r.word({"1", "20", "997"})},
    // Windows of two layers must not begin at the same instants.
    {"per", bucket ? "1s" : r.time({100ms, 1'000ms})},
    {"burst", bucket ? r.word({"1", "3", "100"}) : "10"},
    {"warm_up_time", algorithm == "warm_up" ? r.time({1ms, 3'000ms}) : "10s"},
    {"max_wait", r.prompt() ? "0s" : r.time({0ms, 100ms, 2'000ms, unlimited})},
    {"max_waiters", r.word({"0", "1", "1000"})},
    {"drain_on_rejection", r.word({"true", "false"})},
    {"retry_after_cap", r.time({0ms, 30ms, 60'000ms, unlimited})}};
}

layer_traits limiter_traits() {
  auto x = traits_for<limiter>();
  x.settings = limiter_settings;
  // It gives tokens back for calls that have not executed, so that no layer
  // below it may hold one: see `random_plan`.
  x.weights = {.mixed = 0};
  x.can_wait = true;
  x.situations = {{.name = "parked at a limiter",
                   .policies =
                     [](two_workers&) {
                       return stack{}.limiter(
                         {.rate = 1, .per = 20s, .burst = 1, .max_wait = 60s});
                     },
                   .before = 1}};
  return x;
}

const registered_layer registered_limiter{limiter_traits()};

} // namespace
} // namespace caisson::test
