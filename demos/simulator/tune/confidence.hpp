// Estimates how likely a difference is due to chance.
#pragma once

#include <simulator/scenario/random.hpp>
#include <simulator/tune/tune_targets.hpp>

#include <cstddef>
#include <limits>
#include <vector>

namespace caisson::sim {

/// Where a mean is expected to lie, of 95 % of repetitions. NaN if there is no
/// such number.
struct confidence_interval {
  double from = std::numeric_limits<double>::quiet_NaN();
  double to = std::numeric_limits<double>::quiet_NaN();
};

/// What one has over the other, of the same trials.
struct paired_difference {
  /// Mean of the numbers of the first minus the mean of those of the second.
  double mean = std::numeric_limits<double>::quiet_NaN();
  confidence_interval interval = {};
  /// Share of the resamples in which the first one is better, those in which
  /// they are equal counted as half.
  double sure = 0.5;
};

/// Trials drawn again from those that there are, with replacement, many times
/// (the bootstrap: B. Efron, 1979). Whoever asks about the same trials gets the
/// same resamples, so that differences are paired.
class bootstrap {
public:
  static constexpr std::size_t resamples = 2000;

  bootstrap(std::size_t trials, draw_key key);

  [[nodiscard]] std::size_t trials() const noexcept { return trials_; }

  /// Of the mean of a column. Rows beyond the trials are not looked at.
  [[nodiscard]] confidence_interval interval(const tune_rows& rows,
                                             std::size_t column) const;

  [[nodiscard]] paired_difference difference(const tune_rows& a,
                                             const tune_rows& b,
                                             const tune_target& target) const;

  /// Share of the resamples in which all needs are met.
  [[nodiscard]] double sure_of_needs(const tune_rows& rows,
                                     const tune_targets& targets) const;

private:
  template <class F>
  void each_resample(const F& f) const;

  std::size_t trials_;
  draw_key key_;
};

} // namespace caisson::sim
