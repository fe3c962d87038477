// What can only be told of a world as a whole.
#pragma once

namespace caisson::sim {

struct world_reading;

/// Reports what can only be known when all has been read: names that there are
/// not, circles of calls, and so on.
void check_world(world_reading& w);

} // namespace caisson::sim
