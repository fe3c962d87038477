// Configurations with which a call comes into a certain situation.
#pragma once

#include <caisson/policies/chaos.hpp>
#include <caisson/stack/layers/canary_layer.hpp>
#include <caisson/stack/layers/retrier_layer.hpp>

#include "support/situation.hpp"

namespace caisson::test::situations {

inline canary_config all_calls() {
  return {.stages = {1.0}, .dwell = unlimited};
}

inline retrier_config verifying_config() {
  return {.backoff = schedule::constant(1s),
          .verify_timeout = 20s,
          .verify_pause = 10s};
}

inline chaos_config only(double chaos_config::*rate) {
  chaos_config c{.enabled = true,
                 .error_rate = 0,
                 .latency_rate = 0,
                 .latency = schedule::constant(20s),
                 .outcome_rate = 0,
                 .silence_rate = 0,
                 .silence = 24h};
  c.*rate = 1;
  return c;
}

} // namespace caisson::test::situations
