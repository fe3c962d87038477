// The arms of a report whose requests were traced.
#pragma once

#include <simulator/report/report.hpp>
#include <simulator/world/run_details.hpp>

#include <algorithm>
#include <cstddef>

namespace caisson::sim {

/// Calls `f(arm_config, arm_result, trace_details)` for each arm of the first
/// seed whose trace is there.
template <class F>
void each_traced(const report& r, F f) {
  if (r.runs.empty())
    return;
  const auto& results = r.runs.front().arms;
  for (std::size_t i = 0; i < std::min(results.size(), r.arms.size()); ++i)
    if (results[i].details && results[i].details->trace)
      f(r.arms[i], results[i], *results[i].details->trace);
}

} // namespace caisson::sim
