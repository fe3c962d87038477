#include <caisson/policies/batcher/item_rate.hpp>

#include <cmath>
#include <cstdint>
#include <utility>

namespace caisson::detail {

namespace {

// Also if the difference does not fit into a duration.
double elapsed_seconds(time_point from, time_point to) noexcept {
  if (to <= from)
    return 0;
  auto ns = [](time_point t) {
    return static_cast<std::uint64_t>(t.time_since_epoch().count());
  };
  return static_cast<double>(ns(to) - ns(from)) * 1e-9;
}

} // namespace

std::optional<double> item_rate::next(time_point now,
                                      duration window) noexcept {
  auto before = std::exchange(last_, now);
  if (!before)
    return std::nullopt;
  auto length = to_seconds(window);
  // exp(x) - 1: exact for the short times between many items.
  auto lost = -std::expm1(-elapsed_seconds(*before, now) / length);
  items_ -= items_ * lost;
  seconds_ += (length - seconds_) * lost;
  std::optional<double> rate;
  if (seconds_ > 0)
    rate = items_ / seconds_;
  ++items_;
  return rate;
}

} // namespace caisson::detail
