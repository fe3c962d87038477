// Settings of the expectations of a run.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <caisson/settings/section.hpp>

namespace caisson::sim {

/// Puts the bounds that have keys of their own before the others, and gives
/// each its place and its key in the table `at`.
void resolve_bounds(expectation& c, const section& at);

} // namespace caisson::sim
