// Faults, and when they are over.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace caisson::sim {

/// Whether it begins or ends by the number of requests that arrive.
[[nodiscard]] bool counts_requests(const fault_config& f);

/// How many of the arm's faults begin and end at times that are given.
[[nodiscard]] std::size_t planned_faults(const arm_config& arm);

/// When the first of those begins; nothing without one.
[[nodiscard]] std::optional<duration>
first_planned_fault(const arm_config& arm);

/// When recovery is looked for from: `recovery_from`, or else the end of the
/// last one of those faults. Nothing if there is neither.
[[nodiscard]] std::optional<duration> recovery_start(const arm_config& arm);

/// `slow`, `partition`, …
[[nodiscard]] std::string_view fault_name(fault_kind kind);

/// What the fault hits: `db#3`, or of messages `east <-> west` or, if it is one
/// way, `east -> west`.
[[nodiscard]] std::string place_of(const fault_config& f);

} // namespace caisson::sim
