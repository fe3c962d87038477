// Warnings that qualify a verdict.
#pragma once

#include <simulator/scenario/scenario.hpp>
#include <simulator/world/result.hpp>

#include <string>
#include <vector>

namespace caisson::sim {

/// What makes every verdict of the arm say little: no whole window fits between
/// `recovery_from`, or the end of the last fault, and `length`.
[[nodiscard]] std::vector<std::string> recovery_warnings(const arm_config& c);

/// The same, and what makes the verdict of this run say little: trouble that no
/// fault explains, while `recovery_from` was left to its default.
[[nodiscard]] std::vector<std::string> recovery_warnings(const arm_config& c,
                                                         const arm_result& r);

/// Faults that count requests and would have come more often than they may.
[[nodiscard]] std::vector<std::string> fault_warnings(const arm_config& c,
                                                      const arm_result& r);

/// That no requests were sent, so that the result says nothing.
[[nodiscard]] std::vector<std::string> load_warnings(const arm_result& r);

} // namespace caisson::sim
