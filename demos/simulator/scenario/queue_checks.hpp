// Queues that share their turns among keys that no request has.
#pragma once

#include <simulator/scenario/call_graph.hpp>
#include <simulator/scenario/scenario.hpp>

#include <vector>

namespace caisson::sim {

/// Reports services and layers of stacks that serve in the order `fair`
/// although no load that reaches them sets keys. One such load is enough.
void check_queues(const arm_config& arm, const std::vector<call_site>& calls,
                  problems& out);

} // namespace caisson::sim
