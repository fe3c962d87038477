// Reads the recordings of loads into their profiles or arrivals.
#pragma once

#include <simulator/scenario/scenario.hpp>

namespace caisson::sim {

/// Reads the recordings of all loads of `arm` into their profiles or arrivals.
/// Those whose table has a problem in `out` are left alone. Appends what is
/// wrong, with places in `root`.
void read_recordings(arm_config& arm, const recording_source& from,
                     const section& root, problems& out);

} // namespace caisson::sim
