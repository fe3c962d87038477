// Layers of the kind shedder in the tests of stacks.
#include "support/layer_traits.hpp"

#include <caisson/stack/layers/shedder_layer.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// None is rejected: each gate of a chain draws from its own source. In virtual
// time nothing is known of CPU time and memory.
texts shedder_settings(random_settings& r) {
  return {{"max_cpu", r.word({"0", "0.9", "1"})},
          {"max_memory", r.word({"0", "0.95", "1"})},
          {"max_mailbox_delay", r.time({0ms, 3'600'000ms})},
          {"max_delay", r.time({0ms, 3'600'000ms})},
          {"in_flight_factor", r.word({"0", "1", "100"})},
          {"in_flight_needs_cpu", r.word({"true", "false"})},
          {"cool_off", r.time({0ms, 1'000ms})},
          {"sample", r.time({10ms, 250ms, 60'000ms})},
          {"window", r.time({10ms, 1'000ms, 60'000ms})},
          {"window_calls", r.word({"1", "10", "1000000"})},
          {"decrease", r.word({"0.001", "0.9"})},
          {"increase", r.word({"0.001", "1"})},
          {"minimum", "1000000"},
          {"history", r.time({1'000ms, 10'000ms})},
          {"baseline", r.time({60'000ms, 3'600'000ms})},
          {"retry_after", r.time({0ms, 1'000ms})},
          {"follow_for", r.time({0ms, 1'000ms, 60'000ms})}};
}

layer_traits shedder_traits() {
  return {
    .kind = std::string{shedder::kind_name},
    .add =
      [](stack& s, const layer_plan& x, const plan_actors&, problems& found) {
        s.add<shedder>(config_of(x, shedder_config{}, found));
      },
    .settings = shedder_settings,
    .situations = {{.name = "below a shedder that measures it",
                    .policies =
                      [](two_workers&) {
                        return stack{}
                          .add<shedder>({.max_delay = 1ms,
                                         .sample = 10ms,
                                         .window = 10ms,
                                         .minimum = 1'000'000})
                          .retrier({.max_attempts = 2,
                                    .backoff = schedule::constant(1s)});
                      },
                    .before = 1}}};
}

const registered_layer registered_shedder{shedder_traits()};

} // namespace
} // namespace caisson::test
