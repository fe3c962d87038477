// Faults, and when they are over.
#pragma once

#include <sim/scenario/scenario.hpp>

#include <optional>

namespace caisson::sim {

/// When recovery is looked for from: `recovery_from`, or else the end of the
/// last fault. Nothing if there is neither.
[[nodiscard]] std::optional<duration> recovery_start(const arm_config& arm);

} // namespace caisson::sim
