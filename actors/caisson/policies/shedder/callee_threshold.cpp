#include <caisson/policies/shedder/callee_threshold.hpp>

#include <algorithm>

namespace caisson::detail {

void callee_threshold::on_threshold(std::uint32_t threshold,
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
  auto n = static_cast<std::uint16_t>(kept_ + 1);
  auto is_over = now >= until_;
  if (is_over || n == most_stood_for)
    return {.goes = true, .stands_for = n};
  kept_ = n;
  return {.goes = false};
}

void callee_threshold::sent(time_point now) noexcept {
  kept_ = 0;
  if (now >= until_)
    threshold_ = 0;
}

} // namespace caisson::detail
