// Chooses the replica for a call, where there are zones.
#pragma once

#include <simulator/scenario/edge_config.hpp>
#include <simulator/scenario/random.hpp>
#include <simulator/scenario/zones.hpp>
#include <simulator/world/balancer.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace caisson::sim {

/// Where a caller, others like it, and the replicas of a service are.
struct zone_layout {
  /// The zone of the caller, or `zone_map::nowhere`.
  std::uint32_t home = zone_map::nowhere;
  /// The zone of each replica, or `zone_map::nowhere` for all of them.
  std::vector<std::uint32_t> replicas;
  /// By zone: how many callers are there, for `zone_routing::proportional`.
  std::vector<std::uint32_t> callers = {};
};

/// A caller's choice of a zone, and in it of a replica. Replicas of other zones
/// than those that it may choose are none to its balancers.
class zone_balancer {
public:
  zone_balancer(const edge_config& edge, const zone_layout& where);

  /// The replica for the call with this key, counted from 0 on. The call is
  /// in flight from now on.
  std::size_t choose(draw_key key);

  /// A call to this replica, which was chosen, is over.
  void over(std::size_t replica);

private:
  struct group {
    balancer choice;
    std::vector<std::size_t> replicas;
    /// The probability of this group and those before it.
    double upto = 1;
  };

  struct place {
    std::size_t group = 0;
    std::size_t index = 0;
  };

  void add(balancing kind, std::vector<std::size_t> replicas, double upto);
  void add_in_proportion(balancing kind, const zone_layout& where);

  std::vector<group> groups_;
  /// By replica.
  std::vector<place> places_;
};

} // namespace caisson::sim
