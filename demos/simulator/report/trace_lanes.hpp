// Puts spans of time on lanes, as a viewer shows them below one another.
#pragma once

#include <caisson/base/time.hpp>

#include <cstddef>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace caisson::sim {

/// No two spans on a lane overlap, and no lane is added while another is free.
class trace_lanes {
public:
  /// The lane, from 0 on, of what lasts from `start` to `end`. Spans must come
  /// in the order of their starts.
  std::size_t place(duration start, duration end) {
    while (!busy_.empty() && busy_.top().first <= start) {
      free_.push(busy_.top().second);
      busy_.pop();
    }
    auto lane = count_;
    if (free_.empty()) {
      ++count_;
    } else {
      lane = free_.top();
      free_.pop();
    }
    busy_.emplace(end, lane);
    return lane;
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

private:
  template <class T>
  using smallest_first = std::priority_queue<T, std::vector<T>, std::greater<>>;

  smallest_first<std::pair<duration, std::size_t>> busy_;
  smallest_first<std::size_t> free_;
  std::size_t count_ = 0;
};

} // namespace caisson::sim
