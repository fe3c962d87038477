// Distributions of durations.
#pragma once

#include <simulator/scenario/random.hpp>

#include <caisson/settings.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace caisson::sim {

class distribution;

} // namespace caisson::sim

template <>
struct caisson::field_value_for<caisson::sim::distribution>;

namespace caisson::sim {

/// A distribution of non-negative durations. A plain value.
class distribution {
public:
  enum class kind {
    /// Always `mean`.
    constant,
    /// Evenly between `min` and `max`.
    uniform,
    /// Memoryless, with `mean`.
    exponential,
    /// The sum of `k` exponential phases, `mean` together.
    erlang,
    /// With `mean` and the coefficient of variation `cv` (the standard
    /// deviation divided by the mean).
    lognormal,
    /// `slow` with probability `share`, else `fast`.
    bimodal,
    /// One of `values`, each as likely as any other.
    empirical,
    /// With `mean` and `cv` before what is below zero is cut off to zero.
    normal,
    /// With `mean` and `shape`: below 1 a long tail, 1 is exponential, above it
    /// has ever less spread.
    weibull,
    /// One of two exponential ones with `mean` and `cv` together, and balanced
    /// means: each contributes half of the mean.
    hyperexponential,
    /// A power law with `mean`: the probability of more than x falls with x to
    /// the power of -`shape`. At a `shape` of 2 or less its variance is
    /// infinite.
    pareto,
  };

  /// Always zero.
  distribution() = default;

  /// Always `d`.
  distribution(duration d) : mean_(d) {}

  static distribution uniform(duration min, duration max);
  static distribution exponential(duration mean);
  static distribution erlang(duration mean, std::uint32_t k);
  static distribution lognormal(duration mean, double cv);
  static distribution bimodal(duration fast, duration slow, double share);
  /// `values` must not be empty.
  static distribution empirical(std::vector<duration> values);
  /// `cv`: 0 to 0.5.
  static distribution normal(duration mean, double cv);
  /// `shape`: 0.1 to 100.
  static distribution weibull(duration mean, double shape);
  /// `cv`: 1 to 100.
  static distribution hyperexponential(duration mean, double cv);
  /// `shape`: more than 1, at most 100.
  static distribution pareto(duration mean, double shape);

  /// The mean, which follows from the parameters.
  [[nodiscard]] duration mean() const;

  /// Whether every draw is zero.
  [[nodiscard]] bool zero() const;

  /// One duration. Draws are made with the inverse of the distribution function
  /// where there is one, and normal and log-normal ones with the Box-Muller
  /// method. `std::log` and its like may differ in the last bit between C
  /// libraries, which can change a draw by a nanosecond. No draw is longer than
  /// 10^18 ns, about 31 years.
  [[nodiscard]] duration draw(keyed_random& from) const;

  friend bool operator==(const distribution&, const distribution&) = default;

private:
  static distribution of(kind what, duration mean, double ratio);
  [[nodiscard]] double shape(keyed_random& from) const;

  friend struct caisson::field_value_for<distribution>;
  friend void describe(field_visitor& v, distribution& x);
  friend void check(const distribution& x, const setting_path& path,
                    problems& out);

  kind kind_ = kind::constant;
  duration mean_ = duration::zero();
  duration low_ = duration::zero();
  duration high_ = duration::zero();
  std::uint32_t k_ = 1;
  // `cv`, `share` or `shape`.
  double ratio_ = 0;
  std::vector<duration> values_;
};

} // namespace caisson::sim

template <>
struct caisson::enum_names<caisson::sim::distribution::kind> {
  static constexpr std::string_view value[] = {
    "constant",  "uniform",          "exponential", "erlang",
    "lognormal", "bimodal",          "empirical",   "normal",
    "weibull",   "hyperexponential", "pareto"};
};
