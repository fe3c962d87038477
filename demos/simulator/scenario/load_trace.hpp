// Loads that come from a trace.
#pragma once

#include <simulator/scenario/scenario.hpp>

namespace caisson::sim {

/// Reads the traces of all loads of `arm` into their profiles or arrivals.
/// Traces whose table has a problem in `out` are left alone. Appends what is
/// wrong, with places in `root`.
void read_traces(arm_config& arm, const trace_source& from, const section& root,
                 problems& out);

} // namespace caisson::sim
