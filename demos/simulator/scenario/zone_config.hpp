// Zones: places that fail, slow down and are cut off as a whole.
#pragma once

#include <simulator/scenario/distribution.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace caisson::sim {

/// How many zones there can be.
inline constexpr std::size_t most_zones = 100;

/// The zones of a world.
struct zone_config {
  /// In the order of the file; empty if there are none.
  std::vector<std::string> names = {};
  /// What is added to the latency of each message from one zone to another.
  distribution between = {};
};

} // namespace caisson::sim
