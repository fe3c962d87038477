// One sentence that sums up an arm.
#pragma once

#include <simulator/scenario/scenario.hpp>
#include <simulator/world/result.hpp>

#include <string>

namespace caisson::sim {

/// Such as `retries hold catalog at 3.1 times its capacity after the fault is
/// gone; at the end 12 % of the requests succeed in time`. Of the numbers of
/// the run alone: the capacity of a service whose servers are all busy is what
/// it answers. `r` is a result of `arm`.
[[nodiscard]] std::string headline(const arm_config& arm, const arm_result& r);

} // namespace caisson::sim
