// Layers of the kind canary in the tests of stacks.
#include "support/layer_traits.hpp"
#include "support/situation_configs.hpp"

#include <caisson/stack/layers/canary_layer.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// All calls or none, as above.
texts canary_settings(random_settings& r) {
  return {{"enabled", r.word({"true", "true", "false"})},
          {"stages", r.word({"1", "1", "0.000001", "0.000001, 1",
                             "[{ share = 1, dwell = \"5ms\", min_calls = 2 }]",
                             "[0.000001, { share = 1, max_p99 = \"20ms\" }]"})},
          {"dwell", r.time({1ms, 700ms, unlimited})},
          {"min_calls", r.word({"1", "3", "100"})},
          {"window", r.time({10ms, 60'000ms})},
          {"max_error_excess", r.word({"0", "0.5", "1"})},
          {"max_latency_ratio", r.word({"1", "1.5", "1000"})},
          {"min_latency_excess", r.time({0ms, 5ms})},
          {"significance_level", r.word({"0.0001", "0.1", "1"})},
          {"max_p99", r.time({1ms, 300ms, unlimited})},
          {"hand_over_after", r.time({0ms, 200ms, unlimited})},
          {"max_failures_in_a_row", r.word({"0", "1", "3"})},
          {"on_failure", r.word({"baseline", "baseline", "pass"})},
          {"retry_after", r.time({10ms, 1'000ms, unlimited})},
          {"mirror_rate", r.word({"0", "1"})},
          // Which of those that end at the same instant has the last place
          // is not the same.
          {"max_mirrored", "10000"},
          {"mirror_timeout", r.time({1ms, 1'000ms})},
          {"max_difference_rate", r.word({"0", "0.5", "1"})},
          {"max_described", r.word({"0", "1", "100"})}};
}

layer_traits canary_traits() {
  layer_traits x{.kind = "canary"};
  x.add = [](stack& s, const layer_plan& x, const plan_actors& actors,
             problems& found) {
    s.add<canary>(config_of(x, canary_config{}, found), actors.alternative);
  };
  x.settings = canary_settings;
  auto with_canary = [](canary_config c) {
    return [=](two_workers& y) {
      return stack{}.seed(5).add<canary>(c, y.second.handle());
    };
  };
  x.situations = {
    {.name = "with the canary",
     .policies = with_canary(situations::all_calls()),
     .content = situations::may_be_repeated,
     .has_second = true},
    {.name = "with the baseline after the canary",
     .policies = with_canary(situations::all_calls()),
     .content = situations::may_be_repeated,
     .prepare =
       [](two_workers& x) {
         x.second.become(scripted_worker::always(caf::sec::runtime_error));
       },
     .has_second = true},
    {.name = "answered and mirrored",
     .policies = with_canary(
       {.stages = {0.000001}, .mirror_rate = 1, .max_difference_rate = 1}),
     .before = 1,
     .content = situations::may_be_repeated,
     .prepare =
       [](two_workers& x) { x.worker.become(scripted_worker::always(1)); },
     .has_second = true}};
  return x;
}

const registered_layer registered_canary{canary_traits()};

} // namespace
} // namespace caisson::test
