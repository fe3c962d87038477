// What is expected of a run.
#pragma once

namespace caisson::sim {

struct world_reading;

/// Reads the table `expect`.
void read_expect(world_reading& w);

} // namespace caisson::sim
