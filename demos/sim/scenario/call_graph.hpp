// Which operation calls which.
#pragma once

#include <sim/scenario/parse_context.hpp>

namespace caisson::sim {

/// Reports calls that go in a circle, and requests that can lead to too many
/// calls. Graphs of any depth are walked without recursion, in linear time.
void check_call_graph(parse_context& w);

} // namespace caisson::sim
