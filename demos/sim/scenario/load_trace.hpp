// Loads that come from a trace.
#pragma once

#include <sim/scenario/scenario.hpp>

#include <string>

namespace caisson::sim {

struct parse_context;

/// Reads `trace` of a load into its profile or its arrivals.
void read_load_trace(const setting& from, const std::string& path,
                     parse_context& w, load_config& into);

} // namespace caisson::sim
