// The numbers of edges by their names.
#pragma once

#include <simulator/report/metric_parts.hpp>

#include <string_view>

namespace caisson::sim {

/// `name`: what follows `edge.`, as in docs/simulator-model.md. Throws
/// `std::invalid_argument` if there is no such number.
[[nodiscard]] double edge_metric_of(const arm_result& r, std::string_view name,
                                    const span_of_time& span);

} // namespace caisson::sim
