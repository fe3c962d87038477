// What the actors of the world share.
#pragma once

#include <sim/scenario/random.hpp>
#include <sim/world/run_recorder.hpp>
#include <sim/world/world_plan.hpp>

#include <caisson/caf.hpp>
#include <caisson/virtual_time.hpp>

#include <vector>

namespace caisson::sim {

/// What an actor of the world needs to know of the rest of it.
struct world_context {
  const world_plan* plan = nullptr;
  run_recorder* recorder = nullptr;
  virtual_time* time = nullptr;
  /// The gate of each route of the plan.
  const std::vector<caf::actor>* gates = nullptr;
  draw_key key{0};
};

} // namespace caisson::sim
