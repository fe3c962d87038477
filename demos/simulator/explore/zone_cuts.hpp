// Zones that can be cut off from the others.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <string>
#include <vector>

namespace caisson::sim {

/// A zone, and all others with which it has messages to exchange.
struct zone_cut {
  std::string zone;
  /// In the order of the file; at least one.
  std::vector<std::string> other_zones;
};

/// For each zone in the order of the file; none for those that exchange
/// nothing with another zone, and only one for two zones that have only each
/// other.
[[nodiscard]] std::vector<zone_cut> zone_cuts(const arm_config& arm);

} // namespace caisson::sim
