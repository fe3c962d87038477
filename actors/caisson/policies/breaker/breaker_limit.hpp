// Limits the calls in flight while a closed breaker is about to open.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/base/time.hpp>
#include <caisson/policies/breaker/breaker_config.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace caisson::detail {

/// Counts calls in flight, and limits them while the rates come near to those
/// at which the breaker opens. The limit begins at the most that were in flight
/// lately and shrinks linearly down to `limit_floor`. `pressure` is the share
/// of the opening rate that is reached. Times passed in must not go backwards.
class breaker_limit {
public:
  /// Takes one more call if it may go.
  bool enter(double pressure, const breaker_config& c, time_point now) {
    if (!limited_)
      roll(now, c.window_time);
    auto most = limit(pressure, c);
    auto was_limited = std::exchange(limited_, most > 0);
    if (limited_) {
      // What was seen before the trouble stays known while it lasts.
      begun_ = now;
      if (in_flight_ >= most)
        return false;
      ++in_flight_;
      return true;
    }
    if (was_limited)
      roll(now, c.window_time);
    peak_ = std::max(peak_, ++in_flight_);
    return true;
  }

  /// One of them has come back.
  void leave() {
    CAISSON_ENSURE(in_flight_ > 0, "{} calls are in flight", in_flight_);
    --in_flight_;
  }

  [[nodiscard]] std::int64_t in_flight() const { return in_flight_; }

  /// How many may be in flight; 0: any number.
  [[nodiscard]] std::int64_t limit(double pressure,
                                   const breaker_config& c) const {
    // Shares of shares are not exact.
    constexpr double slack = 1e-9;
    if (c.limit_at >= 1 || pressure < c.limit_at - slack)
      return 0;
    std::int64_t least = c.limit_floor;
    auto more = std::max<std::int64_t>(std::max(earlier_, peak_) - least, 0);
    auto left = std::clamp((1 - pressure) / (1 - c.limit_at), 0.0, 1.0);
    return least
           + static_cast<std::int64_t>(static_cast<double>(more) * left
                                       + slack);
  }

private:
  void roll(time_point now, duration window) {
    if (now < time_after(begun_, window))
      return;
    CAISSON_ENSURE(peak_ >= 0 && earlier_ >= 0 && in_flight_ >= 0,
                   "{} calls in flight, {} at most", in_flight_, peak_);
    // None came during the whole period before, or it is the last one.
    earlier_ = now < time_after(begun_, 2 * window) ? peak_ : in_flight_;
    peak_ = in_flight_;
    begun_ = now;
  }

  std::int64_t in_flight_ = 0;
  /// Whether the last call that came met a limit.
  bool limited_ = false;
  /// The most at a time since `begun_`, and in the period before.
  std::int64_t peak_ = 0;
  std::int64_t earlier_ = 0;
  time_point begun_ = time_point::min();
};

} // namespace caisson::detail
