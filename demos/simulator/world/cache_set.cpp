#include <simulator/world/cache_set.hpp>

#include <algorithm>

namespace caisson::sim {

void cache_set::fill(const std::vector<planned_cache>& caches, draw_key key,
                     time_point now) {
  for (const auto& c : caches) {
    auto& keys = until_.emplace_back(c.keys, never);
    if (c.ttl == unlimited)
      continue;
    keyed_random random{key.with(until_.size())};
    for (auto& x : keys)
      x = time_after(now, duration_times(c.ttl, random.uniform()));
  }
}

void cache_set::flush() {
  for (auto& c : until_)
    std::fill(c.begin(), c.end(), time_point::min());
}

} // namespace caisson::sim
