#include <caisson/policies/shedder/callee_threshold.hpp>

#include <algorithm>

namespace caisson::detail {

void callee_threshold::hear(std::uint32_t threshold,
                            time_point until) noexcept {
  threshold_ = threshold;
  until_ = until;
}

void callee_threshold::shorten(time_point latest) noexcept {
  until_ = std::min(until_, latest);
}

callee_threshold::verdict callee_threshold::judge(std::uint32_t level,
                                                  time_point now) noexcept {
  if (level >= threshold_)
    return {};
  ++kept_;
  auto is_over = now >= until_;
  if (!is_over && kept_ < most_stood_for)
    return {.goes = false};
  if (is_over)
    threshold_ = 0;
  auto n = kept_;
  kept_ = 0;
  return {.goes = true, .stands_for = n};
}

} // namespace caisson::detail
