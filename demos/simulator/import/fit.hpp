// Fits a distribution to measured times.
#pragma once

#include <simulator/scenario/distribution.hpp>

#include <caisson/settings/setting.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace caisson::sim {

/// How times are described.
enum class times_kind {
  /// By a formula where one fits, or else by their values.
  best,
  /// By the formula that fits best.
  fitted,
  /// By their values.
  empirical,
};

/// A distribution of durations as a scenario has it.
struct fitted_times {
  distribution::kind kind = distribution::kind::constant;
  /// Nanoseconds.
  double mean = 0;
  /// `cv` of lognormal, normal and hyperexponential; `shape` of weibull.
  double ratio = 0;
  /// `min` and `max` of uniform; nanoseconds.
  double low = 0;
  double high = 0;
  /// Of empirical; nanoseconds, ascending.
  std::vector<double> values = {};
  /// How far a quantile is off, at most, as a share: see `fit`.
  double error = 0;
};

/// How many values an empirical distribution gets at most.
inline constexpr std::size_t most_fitted_values = 200;

/// A formula fits if no quantile from 5 % to 95 %, and to 99 % if there are
/// 1000 times or more, is off by more than this share of it, apart from what
/// may be chance.
inline constexpr double fit_tolerance = 0.05;

/// Describes times, in nanoseconds and not negative, in any order; sorts them.
/// None are a constant of 0. Empirical ones with more than
/// `most_fitted_values` times get the mean of each of so many equal parts of
/// them, which leaves the mean as it is. n log n.
[[nodiscard]] fitted_times fit(std::vector<double>& times, times_kind how);

/// A distribution with this mean and coefficient of variation: a constant, or
/// log-normal.
[[nodiscard]] fitted_times fit_moments(double mean, double cv);

/// As a scenario has it: a duration, or a table.
[[nodiscard]] setting setting_of(const fitted_times& x);

/// Such as `lognormal`.
[[nodiscard]] std::string kind_name(const fitted_times& x);

} // namespace caisson::sim
