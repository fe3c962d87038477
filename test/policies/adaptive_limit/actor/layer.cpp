// Layers of the kind adaptive_limit in the tests of stacks.
#include "support/layer_traits.hpp"

#include <caisson/policies/adaptive_limit/adaptive_limit.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// Without jitter, for which each gate of a chain would draw from its own
// source.
texts adaptive_limit_settings(random_settings& r) {
  texts out{{"min_limit", "1"},
            {"initial_limit", r.word({"1", "2", "50"})},
            {"max_limit", r.word({"50", "1000000"})},
            {"max_waiters", r.prompt() ? "0" : r.word({"0", "1", "20"})},
            {"max_wait", r.time({0ms, 20ms, 1'000ms, unlimited})},
            {"window", r.time({1ms, 50ms})},
            {"min_samples", r.word({"1", "5"})},
            {"drop_share", r.word({"0", "0.5", "1"})}};
  auto algorithm = r.word({"gradient", "vegas", "aimd"});
  out["algorithm"] = algorithm;
  if (algorithm != "aimd")
    out["jitter"] = "0";
  if (algorithm == "aimd")
    out["timeout"] = r.time({1ms, 50ms, unlimited});
  if (algorithm == "vegas")
    out["probe"] = r.word({"1", "30"});
  if (algorithm == "gradient") {
    out["measure_limit"] = r.word({"1", "3"});
    out["measure_samples"] = r.word({"1", "5"});
    out["measure_every"] = r.time({1'000ms, unlimited});
    out["measure_at_most"] = r.time({1ms, 500ms});
  }
  r.order_of_queue(out);
  r.judge_without_execution(out);
  return out;
}

layer_traits adaptive_limit_traits() {
  auto x = traits_for<adaptive_limit>();
  x.settings = adaptive_limit_settings;
  x.can_wait = true;
  x.situations = {{.name = "parked at an adaptive limit",
                   .policies =
                     [](two_workers&) {
                       return stack{}.add<adaptive_limit>(
                         {.algorithm = limit_algorithm::aimd,
                          .initial_limit = 1,
                          .min_limit = 1,
                          .max_waiters = 9});
                     },
                   .before = 1},
                  {.name = "waiting while the baseline of its key is measured",
                   .policies =
                     [](two_workers&) {
                       return stack{}.add<keyed<adaptive_limit>>(
                         {{.max_waiters = 9, .measure_limit = 1}});
                     },
                   .before = 1,
                   .content = situations::with_key}};
  return x;
}

const registered_layer registered_adaptive_limit{adaptive_limit_traits()};

} // namespace
} // namespace caisson::test
