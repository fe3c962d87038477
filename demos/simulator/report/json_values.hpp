// The values of results, for all that is written as JSON.
#pragma once

#include <simulator/report/report.hpp>

#include <nlohmann/json.hpp>

namespace caisson::sim {

/// Everything of a result but its rows.
[[nodiscard]] nlohmann::ordered_json arm_values(const arm_result& r);

[[nodiscard]] nlohmann::ordered_json summary_values(const arm_summary& s);

} // namespace caisson::sim
