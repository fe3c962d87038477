// How long something takes: distributions of durations.
#pragma once

#include <sim/scenario/random.hpp>

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

  /// The mean, which follows from the parameters.
  [[nodiscard]] duration mean() const;

  /// Whether every draw is zero.
  [[nodiscard]] bool zero() const;

  /// One duration. Exponential, Erlang and log-normal draws are made with the
  /// inverse of the exponential distribution function and the Box-Muller
  /// method. `std::log` and its like may differ in the last bit between C
  /// libraries, which can change a draw by a nanosecond. No draw is longer than
  /// 10^18 ns, about 31 years.
  [[nodiscard]] duration draw(keyed_random& from) const;

  friend bool operator==(const distribution&, const distribution&) = default;

private:
  friend struct caisson::field_value_for<distribution>;
  friend void describe(field_visitor& v, distribution& x);
  friend void check(const distribution& x, const setting_path& path,
                    problems& out);

  kind kind_ = kind::constant;
  duration mean_ = duration::zero();
  duration low_ = duration::zero();
  duration high_ = duration::zero();
  std::uint32_t k_ = 1;
  double ratio_ = 0;
  std::vector<duration> values_;
};

} // namespace caisson::sim

template <>
struct caisson::enum_names<caisson::sim::distribution::kind> {
  static constexpr std::string_view value[] = {
    "constant",  "uniform", "exponential", "erlang",
    "lognormal", "bimodal", "empirical"};
};
