#include <simulator/world/arm_gates.hpp>

#include <simulator/world/world.hpp>

namespace caisson::sim {

std::vector<gate_summary> gates_of(const arm_config& arm) {
  constexpr std::uint64_t any_seed = 1;
  return world{arm, any_seed, {}}.gates();
}

} // namespace caisson::sim
