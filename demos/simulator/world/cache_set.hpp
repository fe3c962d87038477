// The caches of a service.
#pragma once

#include <simulator/scenario/random.hpp>
#include <simulator/world/world_plan.hpp>

#include <caisson/base/time.hpp>

#include <cstdint>
#include <vector>

namespace caisson::sim {

/// Until when each key of each cache is there. What is cached does not matter.
class cache_set {
public:
  /// Makes the caches, warm: every key is there, and keys with a time to live
  /// are of every age.
  void fill(const std::vector<planned_cache>& caches, draw_key key,
            time_point now);

  /// Empties all of them.
  void flush();

  [[nodiscard]] bool contains(std::uint32_t cache, std::uint32_t key,
                              time_point now) const {
    return until_[cache][key] > now;
  }

  void put(std::uint32_t cache, std::uint32_t key, time_point until) {
    until_[cache][key] = until;
  }

private:
  std::vector<std::vector<time_point>> until_;
};

} // namespace caisson::sim
