// Needs and objectives by which settings are compared.
#pragma once

#include <simulator/scenario/tune_goal.hpp>

#include <compare>
#include <cstddef>
#include <optional>
#include <vector>

namespace caisson::sim {

/// A number of each trial that is to be small or large, or within a bound.
struct tune_target {
  std::size_t column = 0;
  tune_sense sense = tune_sense::less;
  /// Of a need.
  std::optional<double> bound = {};
};

struct tune_targets {
  std::vector<tune_target> needs;
  /// One or two.
  std::vector<tune_target> objectives;

  /// What is weighed against each other: two objectives, or one and the first
  /// need; nothing if there is only one thing.
  [[nodiscard]] std::vector<tune_target> trade_off() const;
};

/// The numbers of the trials of one candidate, by trial and column. All
/// candidates have the same trials in the same order, so that they differ by
/// their settings and not by chance (common random numbers).
using tune_rows = std::vector<std::vector<double>>;

/// How good a target is met over some trials; less is better. Trials that end
/// without such a number, or with an infinite one, are worse than any number.
/// If more is better, infinite ones are better than any.
struct tune_estimate {
  /// Share of the trials that have no number, minus that of those that are
  /// infinite and good.
  double missing = 0;
  /// Mean of the others, with the sign changed if more is better.
  double mean = 0;

  friend auto operator<=>(const tune_estimate&, const tune_estimate&) = default;
};

/// The numbers of some trials for one target.
class target_sum {
public:
  explicit target_sum(const tune_target& target) : target_(target) {}

  void add(const std::vector<double>& row);

  [[nodiscard]] tune_estimate estimate() const;
  /// Of those that are finite.
  [[nodiscard]] double sum() const noexcept { return sum_; }
  /// By how much the need is missed, relative to its bound: that of the mean of
  /// those that are finite, or a large number if something is missing.
  [[nodiscard]] double shortfall() const;

private:
  tune_target target_;
  double sum_ = 0;
  std::size_t finite_ = 0;
  std::size_t missing_ = 0;
  // Infinite where more is better.
  std::size_t best_ = 0;
};

/// Over the first `trials` rows.
[[nodiscard]] tune_estimate estimate_of(const tune_rows& rows,
                                        std::size_t trials,
                                        const tune_target& target);

/// The mean of a column; infinite or NaN if one of its numbers is.
[[nodiscard]] double mean_of(const tune_rows& rows, std::size_t trials,
                             std::size_t column);

/// By how much needs are missed, relative to their bounds; 0 if all are met, a
/// large number if something is missing.
[[nodiscard]] double shortfall(const tune_rows& rows, std::size_t trials,
                               const tune_targets& targets);

/// The same of a single mean, which may be infinite.
[[nodiscard]] double shortfall(double mean, const tune_target& need);

} // namespace caisson::sim
