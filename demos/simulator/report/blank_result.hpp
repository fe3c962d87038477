// Empty result of an arm, before its first run.
#pragma once

#include <simulator/scenario/scenario.hpp>
#include <simulator/world/result.hpp>

namespace caisson::sim {

/// A result in which nothing has happened, with the names of all that is kept:
/// services, replicas, edges and operations, but no gates. Latencies are there
/// as if something had been answered: whether there are any is only known after
/// the run.
[[nodiscard]] arm_result blank_result(const arm_config& arm);

} // namespace caisson::sim
