// Settings of a chaos layer, and its host, for tests of it.
#pragma once

#include <caisson/policies/chaos.hpp>

#include <support/rig.hpp>

#include <string>
#include <utility>
#include <vector>

namespace caisson::test::chaotic {

/// The shares of the calls that meet each fault.
struct rates {
  double error = 0;
  double latency = 0;
  double outcome = 0;
  double silence = 0;
};

/// Enabled, with these rates.
inline chaos_config chaos_with(rates x) {
  chaos_config c;
  c.enabled = true;
  c.error_rate = x.error;
  c.latency_rate = x.latency;
  c.outcome_rate = x.outcome;
  c.silence_rate = x.silence;
  return c;
}

/// Every call has to wait.
inline chaos_config slow(schedule latency) {
  auto c = chaos_with({.latency = 1});
  c.latency = std::move(latency);
  return c;
}

/// Every call meets with silence.
inline chaos_config silent(duration d) {
  auto c = chaos_with({.silence = 1});
  c.silence = d;
  return c;
}

/// Hosts one layer.
class chaos_rig : public rig<chaos> {
public:
  explicit chaos_rig(chaos_config c) : rig(std::move(c)) {}

  // All counters and gauges that are not zero.
  std::vector<std::string> counts() const {
    std::vector<metric> all;
    policy.list_metrics(all);
    std::vector<std::string> out;
    for (const auto& m : all)
      if (m.value != 0)
        out.push_back(std::string{m.name} + " " + std::to_string(m.value));
    return out;
  }
};

} // namespace caisson::test::chaotic
