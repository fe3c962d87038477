// Times of faults, as reports show them.
#pragma once

#include <simulator/scenario/fault_times.hpp>
#include <simulator/world/result.hpp>

#include <cstddef>
#include <vector>

namespace caisson::sim {

/// When the fault `index` of the arm struck in the run `r`, in order, at most
/// `most_fault_times` of them. Those that count requests are only known once
/// they have been run.
[[nodiscard]] std::vector<fault_time> shown_fault_times(const arm_config& arm,
                                                        std::size_t index,
                                                        const arm_result& r);

} // namespace caisson::sim
