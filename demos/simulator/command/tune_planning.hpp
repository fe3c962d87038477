// Plans a search from the command line.
#pragma once

#include <simulator/command/tune_command.hpp>
#include <simulator/tune/tune_plan.hpp>

namespace caisson::sim {

/// Reads the file and checks everything that can be checked without running:
/// names of metrics, paths, the ends of all ranges, sizes. Throws
/// `config_error`.
[[nodiscard]] tune_plan tune_plan_of(const tune_arguments& args);

} // namespace caisson::sim
