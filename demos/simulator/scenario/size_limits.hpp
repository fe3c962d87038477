// Limits on the size of a world.
#pragma once

#include <simulator/scenario/call_graph.hpp>
#include <simulator/scenario/scenario.hpp>

#include <cstdint>
#include <vector>

namespace caisson::sim {

/// How many gates an arm may have; each takes some 20 kB.
inline constexpr std::uint64_t most_gates = 100'000;

/// How many replicas its services may have together.
inline constexpr std::uint64_t most_replicas = 100'000;

/// How many keys its caches, and its tables of Zipf's law, may have together;
/// each takes 8 bytes.
inline constexpr std::uint64_t most_keys = 20'000'000;

/// Reports the first service, call or load with which a world is larger than
/// that.
void check_size(const arm_config& arm, const std::vector<call_site>& calls,
                problems& out);

} // namespace caisson::sim
