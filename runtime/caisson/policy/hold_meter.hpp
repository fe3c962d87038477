// Measures how long permits are lent.
#pragma once

#include <caisson/base/time.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace caisson::detail {

/// The mean time for which a permit is lent, by Little's law: how many are lent
/// on average, divided by how many come back per time. So it needs no time for
/// each call, and it grows as soon as calls take longer than usual, not only
/// when they come back. The law holds for times in which many more permits come
/// back than are lent at once: so the last ones count, about four times as many
/// as are lent, and at least 100.
class hold_meter {
public:
  /// So many permits were lent until `now`.
  void advance(time_point now, std::int64_t lent) noexcept {
    area_ += static_cast<double>(time_until(now, at_).count())
             * static_cast<double>(lent);
    at_ = now;
  }

  /// So many permits came back, of those that were lent.
  void returned(std::uint32_t permits, std::int64_t lent) noexcept {
    returned_ += permits;
    auto memory = std::max(100.0, 4 * static_cast<double>(lent));
    if (returned_ <= 2 * memory)
      return;
    area_ *= memory / returned_;
    returned_ = memory;
  }

  /// The mean time at `now`, if so many permits have been lent since the last
  /// change. Unknown until 10 permits have come back, and twice as many as are
  /// lent.
  [[nodiscard]] std::optional<duration> mean(time_point now,
                                             std::int64_t lent) const noexcept {
    auto enough = std::max(10.0, 2 * static_cast<double>(lent));
    if (returned_ < enough)
      return std::nullopt;
    auto all = *this;
    all.advance(now, lent);
    return duration_times(duration{1}, all.area_ / returned_);
  }

  /// Begins anew.
  void restart(time_point now) noexcept { *this = hold_meter{now}; }

  hold_meter() = default;

private:
  explicit hold_meter(time_point now) noexcept : at_(now) {}

  // In nanoseconds times permits.
  double area_ = 0;
  double returned_ = 0;
  time_point at_ = {};
};

} // namespace caisson::detail
