// Checks the expectations of a run, and whether its numbers suffice.
#pragma once

#include <simulator/scenario/scenario.hpp>
#include <simulator/world/result.hpp>

#include <caisson/settings.hpp>

#include <string>
#include <vector>

namespace caisson::sim {

/// How far the two sides of Little's law may lie apart.
inline constexpr double little_tolerance = 1e-6;

/// One line for each expectation that does not hold.
[[nodiscard]] std::vector<std::string> failed_expectations(const arm_config& c,
                                                           const arm_result& r);

/// Bounds of `arm` on numbers that no run of it can have: of a service or a
/// gate that does not exist, of half a second, and so on. Throws
/// `config_error` if there are bounds on gates, and the arm cannot be built.
[[nodiscard]] problems expectation_problems(const arm_config& arm);

/// One line for each thing that cannot be unless Caisson is wrong: see
/// `violations_of`.
[[nodiscard]] std::vector<std::string> failed_checks(const arm_result& r);

} // namespace caisson::sim
