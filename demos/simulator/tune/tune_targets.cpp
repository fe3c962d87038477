#include <simulator/tune/tune_targets.hpp>

#include <algorithm>
#include <cmath>

namespace caisson::sim {

namespace {

// More than any number that is there can miss a bound by.
constexpr double missing_shortfall = 1e12;

double signed_for(double x, tune_sense sense) {
  return sense == tune_sense::more ? -x : x;
}

} // namespace

std::vector<tune_target> tune_targets::trade_off() const {
  if (objectives.size() == 2)
    return objectives;
  for (const auto& need : needs)
    if (need.column != objectives.at(0).column)
      return {objectives[0], need};
  return {};
}

void target_sum::add(const std::vector<double>& row) {
  auto x = row[target_.column];
  if (std::isfinite(x)) {
    sum_ += x;
    ++finite_;
  } else if (x > 0 && target_.sense == tune_sense::more) {
    ++best_;
  } else {
    ++missing_;
  }
}

tune_estimate target_sum::estimate() const {
  auto all = static_cast<double>(finite_ + missing_ + best_);
  auto mean = finite_ == 0 ? 0 : sum_ / static_cast<double>(finite_);
  return {(static_cast<double>(missing_) - static_cast<double>(best_)) / all,
          finite_ == 0 ? 0 : signed_for(mean, target_.sense)};
}

double target_sum::shortfall() const {
  auto all = static_cast<double>(finite_ + missing_ + best_);
  // Fewer trials without a number are nearer to none.
  if (missing_ > 0)
    return missing_shortfall * static_cast<double>(missing_) / all;
  if (finite_ == 0)
    return 0;
  return sim::shortfall(sum_ / static_cast<double>(finite_), target_);
}

tune_estimate estimate_of(const tune_rows& rows, std::size_t trials,
                          const tune_target& target) {
  target_sum sum{target};
  for (std::size_t i = 0; i < trials; ++i)
    sum.add(rows[i]);
  return sum.estimate();
}

double mean_of(const tune_rows& rows, std::size_t trials, std::size_t column) {
  double sum = 0;
  for (std::size_t i = 0; i < trials; ++i)
    sum += rows[i][column];
  return sum / static_cast<double>(trials);
}

double shortfall(double mean, const tune_target& need) {
  if (!std::isfinite(mean))
    return mean > 0 && need.sense == tune_sense::more ? 0 : missing_shortfall;
  auto bound = *need.bound;
  auto over = signed_for(mean, need.sense) - signed_for(bound, need.sense);
  auto scale = std::abs(bound);
  // The mean of equal numbers may differ from them in its last digits.
  if (over <= scale * 1e-12)
    return 0;
  return std::min(over / (scale > 0 ? scale : 1), missing_shortfall / 10);
}

double shortfall(const tune_rows& rows, std::size_t trials,
                 const tune_targets& targets) {
  double sum = 0;
  for (const auto& need : targets.needs) {
    target_sum own{need};
    for (std::size_t i = 0; i < trials; ++i)
      own.add(rows[i]);
    sum += own.shortfall();
  }
  return sum;
}

} // namespace caisson::sim
