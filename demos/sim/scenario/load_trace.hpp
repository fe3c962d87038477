// Loads that come from a trace.
#pragma once

#include <sim/scenario/scenario.hpp>

#include <string>

namespace caisson::sim {

struct world_reading;

/// Reads `trace` of a load into its profile or its arrivals.
void read_load_trace(const setting& from, const std::string& path,
                     world_reading& w, load_config& into);

} // namespace caisson::sim
