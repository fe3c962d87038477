// Layers of the kind feature in the tests of stacks.
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

texts feature_settings(random_settings& r) {
  return {{"feature", r.word({"core", "checks", "extras", "no such"})},
          {"retry_after", r.time({0ms, 10ms})}};
}

layer_traits feature_traits() {
  auto x = traits_for<feature>();
  x.settings = feature_settings;
  x.situations = {{.name = "of a feature that is off",
                   .policies =
                     [](two_workers&) {
                       return stack{}
                         .add<degradation>({.held_off = {"extras"}})
                         .fallback({alternative::answer(-1)})
                         .add<feature>({.feature = "extras"});
                     },
                   .before = 1}};
  return x;
}

const registered_layer registered_feature{feature_traits()};

} // namespace
} // namespace caisson::test
