// The numbers of a result by name.
#pragma once

#include <simulator/world/result.hpp>

#include <optional>
#include <string_view>

namespace caisson::sim {

/// The value of a number of the result, by name, over the seconds [from, to)
/// where it is kept per second, or over the whole load without its warm-up.
/// `metric_names` has the names. Throws `std::invalid_argument` with what is
/// wrong if there is no such number, or not for a part of the run.
[[nodiscard]] double metric_of(const arm_result& r, std::string_view name,
                               std::optional<duration> from = {},
                               duration to = unlimited);

} // namespace caisson::sim
