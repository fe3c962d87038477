// Measures the load for the composite score of a breaker.
#pragma once

#include <caisson/base/percentile_window.hpp>
#include <caisson/base/time.hpp>
#include <caisson/base/window.hpp>
#include <caisson/policies/breaker/breaker_score.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace caisson::detail {

/// The normal load: the median of the calls per second in intervals of the same
/// length. Intervals without calls do not count. Times passed in must not go
/// backwards.
class load_baseline {
public:
  /// The last intervals of `step` that begin within `window`.
  load_baseline(duration window, duration step)
    : window_(window), step_(step) {}

  /// A call arrived at `now`. The first one begins the first interval.
  void arrive(time_point now) {
    roll(now);
    if (end_ == never) [[unlikely]] {
      end_ = time_after(now, step_);
      calls_ = 0;
    }
    ++calls_;
  }

  /// Ends the intervals that are over at `now`. If there are any, computes the
  /// median anew.
  void roll(time_point now) {
    if (end_ != never && now >= end_) [[unlikely]]
      end_intervals(now);
  }

  /// Drops the interval that has begun: no calls are expected for a while.
  void pause() { end_ = never; }

  /// Calls per second; nothing before the end of the first interval, or if the
  /// last ones had no calls.
  [[nodiscard]] std::optional<double> rate() const { return median_; }

private:
  struct interval {
    time_point end;
    std::int64_t calls;
  };

  void end_intervals(time_point now);
  void refresh(time_point now);

  duration window_;
  duration step_;
  std::deque<interval> past_;
  /// When the current interval ends; `never` if there is none.
  time_point end_ = never;
  std::int64_t calls_ = 0;
  std::optional<double> median_;
};

/// The composite score of a closed breaker, computed at the end of each tenth
/// of its window. Times passed in must not go backwards, and `look` must be
/// called at each instant that `next_update` gives.
class load_score {
public:
  static constexpr std::size_t steps = 10;

  explicit load_score(const breaker_score& c);

  /// A call was admitted.
  void arrive(time_point now) {
    if (begun_ == never)
      begun_ = now;
    baseline_.arrive(now);
    arrivals_.add(false, now);
  }

  /// A result arrived that is a success or a failure; the call took `took`.
  void add(bool failed, std::optional<duration> took, time_point now);

  /// The end of the current step; `never` while there is nothing to count.
  [[nodiscard]] time_point next_update() const {
    auto t = std::min(arrivals_.next_change(), results_.next_change());
    // The last calls have left the window, but are still in the score.
    if (t == never && score_) [[unlikely]]
      return time_after(updated_at_, results_.bucket_length());
    return t;
  }

  /// Computes the score as of `now`, which ends a step. With fewer than
  /// `minimum` results in the window it is unknown.
  void look(time_point now, std::int64_t minimum);

  /// The score at the end of the last step; nothing if it is unknown.
  [[nodiscard]] std::optional<double> score() const { return score_; }

  /// Whether the last score is above the limit.
  [[nodiscard]] bool exceeded() const { return score_ && *score_ > c_.limit; }

  /// Continues with other weights, scales and limits, and keeps what it has
  /// counted if the windows are the same.
  void adopt(const breaker_score& c);

  /// Forgets all but the baseline.
  void restart();

private:
  [[nodiscard]] double load(time_point now) const;

  breaker_score c_;
  load_baseline baseline_;
  time_window arrivals_;
  time_window results_;
  percentile_window latencies_;
  /// When the first call arrived.
  time_point begun_ = never;
  /// The end of the last step.
  time_point updated_at_ = never;
  std::optional<double> score_;
};

} // namespace caisson::detail
