// Judges the end of a run: whether it has recovered, and when.
#pragma once

#include <simulator/world/result.hpp>

#include <optional>

namespace caisson::sim {

/// Sets `verdict`, `recovered_at` and `relapses`, by the rows, the totals,
/// `length` and `recovery_from`. docs/simulator-model.md has the rules.
void decide_verdict(arm_result& r);

/// From `recovery_from`, or the start if there was no fault, until
/// `recovered_at`; not negative. Nothing if it has not recovered.
[[nodiscard]] std::optional<duration> recovery_time(const arm_result& r);

} // namespace caisson::sim
