// Context that the actors of a world share.
#pragma once

#include <simulator/scenario/random.hpp>
#include <simulator/world/busy_servers.hpp>
#include <simulator/world/run_recorder.hpp>
#include <simulator/world/world_plan.hpp>

#include <caisson/caf/caf.hpp>
#include <caisson/testing/virtual_time.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace caisson::sim {

/// What an actor of the world needs to know of the rest of it.
struct world_context {
  const world_plan* plan = nullptr;
  run_recorder* recorder = nullptr;
  virtual_time* time = nullptr;
  /// The gates of all routes of the plan.
  const std::vector<caf::actor>* gates = nullptr;
  draw_key key{0};
  /// By service: the links to it whose connections are limited.
  const std::vector<std::vector<caf::actor>>* pooled_links = nullptr;
  /// By instance of the plan.
  const std::vector<std::shared_ptr<busy_servers>>* loads = nullptr;

  /// The gate of a route; `caller`: which replica of the caller uses it.
  [[nodiscard]] const caf::actor& gate(std::uint32_t route,
                                       std::uint32_t caller = 0) const {
    return (*gates)[plan->routes[route].first_gate + caller];
  }
};

} // namespace caisson::sim
