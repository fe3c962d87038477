// Operations that are among their own callers, distinguished by how often.
#pragma once

#include <simulator/import/visits.hpp>

namespace caisson::sim {

/// A scenario has no cycles of calls: an operation that can be among its own
/// callers becomes one for each level. Calls deeper than `most_recursion` are
/// taken out.
void unroll_recursion(visit_graph& g);

} // namespace caisson::sim
