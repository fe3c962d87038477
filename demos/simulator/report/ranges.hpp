// Sums over ranges of seconds, which are exact however long rows are.
#pragma once

#include <simulator/scenario/scenario.hpp>
#include <simulator/world/result.hpp>

#include <optional>
#include <vector>

namespace caisson::sim {

/// The whole seconds in [from, to); from and to are equal if there are none.
[[nodiscard]] second_range seconds_between(duration from, duration to);

/// The end of a load: its last tenth, of 5 to 30 seconds, after the warm-up and
/// after the search for recovery has begun.
[[nodiscard]] second_range last_seconds(duration length, duration warmup,
                                        std::optional<duration> recovery_from);

/// Before the first fault that comes at a time of its own; nothing without one.
[[nodiscard]] std::optional<second_range>
healthy_seconds(const arm_config& arm);

/// The ranges that will be asked for when the arm has been run, each once:
/// by its expectations, and to say in a sentence what happened.
[[nodiscard]] std::vector<second_range> watched_ranges(const arm_config& arm);

/// What happened in `range`: what was kept of it, or the sum of the rows that
/// it consists of. Throws `std::invalid_argument` if there is neither.
[[nodiscard]] range_sums sums_in(const arm_result& r, second_range range);

} // namespace caisson::sim
