#include <caisson/policies/batcher/batch_target.hpp>

#include <algorithm>
#include <cmath>

namespace caisson::detail {

batch_target target_of(const batcher_config& c,
                       std::optional<double> rate) noexcept {
  if (!c.adaptive || !rate)
    return {c.max_items, c.max_delay};
  auto n = *rate * to_seconds(c.max_delay);
  // An item that is to wait for company is not sent for its number alone.
  auto least = c.min_delay > duration::zero() ? std::max(c.min_items, 2u)
                                              : c.min_items;
  auto items = std::min<double>(std::max<double>(std::round(n), least),
                                c.max_items);
  auto share = n > 1 ? 1 - 1 / n : 0;
  auto delay = c.min_delay + duration_times(c.max_delay - c.min_delay, share);
  return {static_cast<std::size_t>(items), std::min(delay, c.max_delay)};
}

} // namespace caisson::detail
