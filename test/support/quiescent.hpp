// Checks that a status shows nothing in progress.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace caisson::test {

/// Gauges of gates and layers that are 0 when nothing is in progress.
inline const std::set<std::string> occupied = {
  "in_progress",
  "held",
  "in_flight",
  "leases",
  "timers",
  "in_use",
  "waiting",
  "running",
  "outstanding",
  "verifying",
  "waiting_for_worker",
  "probes_in_flight",
  "loading",
  "flushing",
  "unwritten",
  "with_canary",
  "mirroring",
};

/// `metrics` are pairs of names and numbers.
template <class Metrics>
void expect_idle(const std::string& where, const Metrics& metrics) {
  for (const auto& [name, value] : metrics)
    if (occupied.contains(name)) {
      EXPECT_EQ(value, 0) << where << " " << name;
    }
}

/// `gate` is a `status`, or has the same parts.
template <class Gate>
void expect_quiescent(const Gate& gate, const std::string& where = {}) {
  auto name = where + gate.name;
  expect_idle(name, gate.metrics);
  for (const auto& layer : gate.layers)
    expect_idle(name + "/" + layer.name, layer.metrics);
}

} // namespace caisson::test
