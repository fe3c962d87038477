// Loads: what is asked for, how often, and by whom.
#pragma once

namespace caisson::sim {

struct world_reading;

/// Reads the table `load`.
void read_loads(world_reading& w);

} // namespace caisson::sim
