// One arm's part of a trace.
#pragma once

#include <simulator/report/trace_events.hpp>
#include <simulator/scenario/scenario.hpp>
#include <simulator/world/result.hpp>

#include <string_view>

namespace caisson::sim {

/// Adds what `r.details->trace` has, which must be there, and the rows of its
/// seconds: a group of tracks for each load, gate and service, and one for the
/// faults. Their names begin with `prefix`.
void add_arm_trace(trace_events& out, const arm_config& arm,
                   const arm_result& r, std::string_view prefix);

} // namespace caisson::sim
