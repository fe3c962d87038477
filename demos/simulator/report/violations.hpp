// Rules that every run keeps unless Caisson is wrong.
#pragma once

#include <simulator/scenario/scenario.hpp>
#include <simulator/world/result.hpp>

#include <vector>

namespace caisson::sim {

/// A service for which Little's law does not hold, a request that was answered
/// twice, and what `arm_result::violations` has.
[[nodiscard]] std::vector<violation> violations_of(const arm_result& r);

/// Counts that do not add up: requests and how they ended, rows and totals,
/// what became of the arrivals at a service, messages of an edge, calls of a
/// gate. Holds at any time, so less is asked of a run with a warm-up, of which
/// totals leave out one end of some requests.
[[nodiscard]] std::vector<violation> count_violations(const arm_result& r);

/// What `arm` expects and does not hold for `r`; the rule is the metric with
/// its time, or `verdict`.
[[nodiscard]] std::vector<violation>
expectation_violations(const arm_config& arm, const arm_result& r);

} // namespace caisson::sim
