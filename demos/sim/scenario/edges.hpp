// Edges: what lies between callers and services.
#pragma once

#include <sim/scenario/scenario.hpp>

#include <string_view>

namespace caisson::sim {

struct parse_context;

/// Reads the list `edge`.
void read_edges(parse_context& w);

/// The edge from a caller to an operation (`service.operation` or `service`):
/// every rule that matches, a later one over an earlier one.
[[nodiscard]] edge_config
edge_between(const arm_config& arm, std::string_view from, std::string_view to);

} // namespace caisson::sim
