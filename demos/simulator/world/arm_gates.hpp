// The gates that a world has before anything has happened in it.
#pragma once

#include <simulator/scenario/scenario.hpp>
#include <simulator/world/result.hpp>

#include <vector>

namespace caisson::sim {

/// The gates of the arm, with the names of their metrics and layers; what they
/// count is still zero. Throws `config_error` if a stack cannot be built.
[[nodiscard]] std::vector<gate_summary> gates_of(const arm_config& arm);

} // namespace caisson::sim
