// Judges the end of a run: whether it has recovered, and when.
#pragma once

#include <simulator/world/result.hpp>

namespace caisson::sim {

/// Sets `verdict`, `recovered_at` and `relapses`, by the rows, the totals,
/// `length` and `recovery_from`. docs/simulator-model.md has the rules.
void decide_verdict(arm_result& r);

} // namespace caisson::sim
