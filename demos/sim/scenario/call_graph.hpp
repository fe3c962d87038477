// Which operation calls which.
#pragma once

#include <sim/scenario/scenario_reading.hpp>

namespace caisson::sim {

/// Reports calls that go in a circle, and requests that can lead to too many
/// calls. Graphs of any depth are walked without recursion, in linear time.
void check_call_graph(world_reading& w);

} // namespace caisson::sim
