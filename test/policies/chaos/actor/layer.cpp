// Layers of the kind chaos in the tests of stacks.
#include "support/layer_traits.hpp"
#include "support/situation_configs.hpp"

#include <caisson/policies/chaos.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// All calls or none: each gate of a chain draws from a source of its own.
texts chaos_settings(random_settings& r) {
  texts set{{"enabled", r.word({"true", "true", "false"})},
            {"error_rate", "0"},
            {"latency_rate", "0"},
            {"latency", r.time({0ms, 30ms, 2'000ms})},
            {"outcome_rate", "0"},
            {"silence_rate", "0"},
            {"silence", r.time({1ms, 400ms, 60'000ms})}};
  set[r.prompt() ? r.word({"error_rate", "outcome_rate"})
                 : r.word({"error_rate", "latency_rate", "latency_rate",
                           "outcome_rate", "silence_rate"})]
    = "1";
  return set;
}

layer_traits chaos_traits() {
  auto x = traits_for<chaos>();
  x.settings = chaos_settings;
  x.can_wait = true;
  // A call that has not executed gives its token back: the silence of one call
  // would end at the instant at which there is a token for another.
  x.fit = [](layer_plan& own, const std::vector<layer_plan>& above, auto&) {
    for (const auto& y : above)
      if (y.kind == "limiter")
        own.set["silence_rate"] = "0";
  };
  auto with = [](double chaos_config::*rate) {
    return
      [=](two_workers&) { return stack{}.add<chaos>(situations::only(rate)); };
  };
  x.situations = {{.name = "between two attempts that chaos fails",
                   .policies =
                     [](two_workers&) {
                       return stack{}
                         .retrier({.backoff = schedule::constant(20s)})
                         .add<chaos>(
                           situations::only(&chaos_config::error_rate));
                     },
                   .before = 1},
                  {.name = "delayed by chaos",
                   .policies = with(&chaos_config::latency_rate),
                   .before = 1},
                  {.name = "about to lose its answer to chaos",
                   .policies = with(&chaos_config::outcome_rate)},
                  {.name = "met by silence",
                   .policies = with(&chaos_config::silence_rate),
                   .before = 1},
                  {.name = "met by the silence of its key",
                   .policies =
                     [](two_workers&) {
                       return stack{}.add<keyed<chaos>>(
                         {situations::only(&chaos_config::silence_rate)});
                     },
                   .content = situations::with_key}};
  return x;
}

const registered_layer registered_chaos{chaos_traits()};

} // namespace
} // namespace caisson::test
