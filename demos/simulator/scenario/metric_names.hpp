// The names of the numbers of a result.
#pragma once

#include <simulator/results/column.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// All names of numbers of any arm, those with a `*` standing for a name or an
/// error's kind.
[[nodiscard]] std::vector<std::string> metric_names();

/// What is called `p99` for short is `latency.p99`.
[[nodiscard]] std::string full_metric_name(std::string_view name);

[[nodiscard]] metric_unit unit_of(std::string_view metric);

/// Which way a metric is better, if that goes without saying.
[[nodiscard]] std::optional<tune_sense> usual_sense(std::string_view metric);

} // namespace caisson::sim
