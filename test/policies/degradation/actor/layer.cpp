// Layers of the kind degradation in the tests of stacks.
#include "support/layer_traits.hpp"

#include <caisson/stack/layers/degradation_layer.hpp>
#include <caisson/stack/layers/feature_layer.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

texts degradation_settings(random_settings& r) {
  texts set{{"held_off", r.word({"", "", "extras", "core"})},
            {"window", r.time({1'000ms, 10'000ms})},
            {"min_calls", r.word({"1", "3", "20"})},
            {"percentile", r.word({"0", "0.5", "1"})},
            {"check_every", r.time({10ms, 300ms})},
            {"patience", r.time({0ms, 200ms, 2'000ms})},
            {"recover_after", r.time({0ms, 500ms})},
            {"recover_after_max", r.time({1'000ms, 5'000ms})},
            {"recover_failures", r.word({"0", "0.5", "1"})},
            {"recover_latency", r.word({"0", "0.8", "1"})}};
  r.judge_without_execution(set);
  return set;
}

layer_traits degradation_traits() {
  auto x = traits_for<degradation>();
  x.settings = degradation_settings;
  x.situations = {{.name = "of a feature that is being judged",
                   .policies =
                     [](two_workers&) {
                       return stack{}
                         .add<degradation>(
                           {.min_calls = 1, .check_every = 10ms})
                         .add<feature>({.feature = "extras"});
                     },
                   .before = 1}};
  return x;
}

const registered_layer registered_degradation{degradation_traits()};

} // namespace
} // namespace caisson::test
