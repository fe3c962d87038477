#include <simulator/world/level_watch.hpp>

#include <algorithm>
#include <functional>

namespace caisson::sim {

void level_watch::add(const goal& g, std::uint64_t level, duration now) {
  auto place = std::ranges::lower_bound(open_, g.count, std::greater<>{},
                                        &goal::count);
  open_.insert(place, g);
  next_ = open_.back().count;
  risen(level, now);
}

// What comes too late is not searched any longer, either.
void level_watch::close_goals(std::uint64_t level, duration now) {
  for (; !open_.empty() && open_.back().count <= level; open_.pop_back())
    if (now < open_.back().until)
      *open_.back().at = now;
  next_ = open_.empty() ? no_level : open_.back().count;
}

} // namespace caisson::sim
