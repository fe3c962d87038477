// Services, their operations and what these do.
#pragma once

namespace caisson::sim {

struct world_reading;

/// Reads the table `service`.
void read_services(world_reading& w);

} // namespace caisson::sim
