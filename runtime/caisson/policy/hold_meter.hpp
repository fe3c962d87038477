// Measures how long permits are lent.
#pragma once

#include <caisson/base/time.hpp>

#include <cstdint>
#include <optional>

namespace caisson::detail {

/// The mean time for which a permit is lent, by Little's law: how many are lent
/// on average, divided by how many come back per time. So it needs no time for
/// each call, and it grows as soon as calls take longer than usual, not only
/// when they come back. It forgets slowly: about `memory` permits count.
class hold_meter {
public:
  static constexpr double memory = 100;

  /// So many permits were lent until `now`.
  void advance(time_point now, std::int64_t lent) noexcept {
    area_ += static_cast<double>(time_until(now, at_).count())
             * static_cast<double>(lent);
    at_ = now;
  }

  /// So many permits came back.
  void returned(std::uint32_t permits) noexcept {
    returned_ += permits;
    if (returned_ <= 2 * memory)
      return;
    auto kept = memory / returned_;
    area_ *= kept;
    returned_ = memory;
  }

  /// The mean time at `now`, if so many permits have been lent since the last
  /// change. Unknown until 10 permits have come back.
  [[nodiscard]] std::optional<duration> mean(time_point now,
                                             std::int64_t lent) const noexcept {
    constexpr auto enough = 10;
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
