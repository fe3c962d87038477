#include <simulator/report/blank_result.hpp>

#include <simulator/scenario/replicas.hpp>
#include <simulator/world/world_plan.hpp>

namespace caisson::sim {

arm_result blank_result(const arm_config& arm) {
  arm_result blank;
  blank.length = arm.length;
  blank.warmup = arm.warmup;
  for (const auto& s : arm.services) {
    auto& x = blank.services.emplace_back();
    x.name = s.name;
    for (std::uint32_t i = 0; s.replicas > 1 && i < s.replicas; ++i)
      x.replicas.emplace_back().name = replica_name(s, i);
  }
  for (const auto& route : world_plan{arm}.routes)
    if (route.is_recorded()) {
      blank.edges.push_back({.name = route.name, .zoned = route.zoned});
      if (route.edge.connections.limited())
        blank.edges.back().connections.emplace();
    }
  for (const auto& load : arm.loads) {
    blank.loads.push_back({.name = load.name, .latency = {.count = 1}});
    for (const auto& [operation, weight] : load.mix)
      blank.by_operation[operation].count = 1;
  }
  blank.latency.count = 1;
  return blank;
}

} // namespace caisson::sim
