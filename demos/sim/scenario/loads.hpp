// Loads: what is asked for, how often, and by whom.
#pragma once

namespace caisson::sim {

struct parse_context;

/// Reads the table `load`.
void read_loads(parse_context& w);

} // namespace caisson::sim
