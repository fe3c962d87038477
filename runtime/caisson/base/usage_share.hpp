// The share of a capacity that is in use, from a total that grows.
#pragma once

#include <caisson/base/time.hpp>

#include <chrono>
#include <optional>

namespace caisson {

/// Smooths how much of a capacity is used, exponentially: what was used a
/// `smoothing` ago counts about a third of what is used now. Uses no function
/// whose result depends on the machine. Not safe for concurrent use.
class usage_share {
public:
  /// Differences over a shorter time are too coarse: such totals are ignored.
  static constexpr duration shortest_step = std::chrono::milliseconds(10);

  /// After so many times `smoothing` without a total, the difference says
  /// nothing of the present: the next one is taken as the first.
  static constexpr int longest_gap = 10;

  /// `smoothing` is positive.
  explicit usage_share(duration smoothing = std::chrono::seconds(1)) noexcept
    : smoothing_(smoothing) {}

  /// `total` was used until `now`; `capacity` can be used each second, in the
  /// same unit. A total that falls, or a number that can be none, makes the
  /// share unknown. A `now` before an earlier one is ignored.
  void add(time_point now, double total, double capacity) noexcept;

  /// Makes the share unknown until two totals have come.
  void clear() noexcept;

  /// 0 to 1; nothing if it is unknown.
  [[nodiscard]] std::optional<double> value() const noexcept { return share_; }

private:
  void begin(time_point now, double total) noexcept;

  duration smoothing_;
  bool begun_ = false;
  time_point last_at_;
  double last_total_ = 0;
  std::optional<double> share_;
};

} // namespace caisson
