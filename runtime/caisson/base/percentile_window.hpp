// Percentiles of the durations of the last `length`.
#pragma once

#include <caisson/base/histogram.hpp>
#include <caisson/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace caisson {

/// A few histograms that take turns: each holds the durations of one step of
/// time. The window is the step of the present instant and the `steps - 1`
/// before it, so it reaches back between `length` less one step and `length`.
/// Steps begin at whole multiples of their length on the clock that the caller
/// uses. Time that goes backwards moves nothing: what is recorded then belongs
/// to the newest step.
///
/// `record` takes constant time, `merged` time in proportion to the steps.
/// About 1 KiB of memory per step.
class percentile_window {
public:
  /// A window of `steps` (at least 1) steps, each `length / steps` long,
  /// rounded up to a nanosecond; `length` is positive.
  percentile_window(duration length, std::size_t steps);

  /// Adds a duration that was measured at `now`.
  void record(duration d, time_point now);

  /// Drops the steps that have left the window at `now`.
  void roll(time_point now);

  /// Makes it empty.
  void clear();

  /// When the next step leaves the window at the earliest; `never` if the
  /// window is empty.
  [[nodiscard]] time_point next_change() const noexcept;

  /// How many durations are in the window as of the last `record` or `roll`.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  /// All of them, for percentiles and the maximum.
  [[nodiscard]] histogram merged() const;

  /// The length of one step.
  [[nodiscard]] duration step() const noexcept { return step_; }

private:
  std::vector<histogram> slices_;
  duration step_;
  /// The place of the newest step's histogram.
  std::size_t newest_ = 0;
  /// When the newest step ends.
  time_point newest_end_ = time_point::min();
  std::uint64_t count_ = 0;
};

} // namespace caisson
