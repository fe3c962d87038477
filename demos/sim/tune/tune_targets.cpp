#include <sim/tune/tune_targets.hpp>

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

std::vector<tune_target> tune_targets::traded() const {
  if (objectives.size() == 2)
    return objectives;
  for (const auto& need : needs)
    if (need.column != objectives.at(0).column)
      return {objectives[0], need};
  return {};
}

tune_estimate estimate_of(const tune_rows& rows, std::size_t trials,
                          const tune_target& target) {
  std::size_t there = 0;
  double sum = 0;
  for (std::size_t i = 0; i < trials; ++i)
    if (auto x = rows[i][target.column]; std::isfinite(x)) {
      sum += x;
      ++there;
    }
  if (there == 0)
    return {1, 0};
  return {static_cast<double>(trials - there) / static_cast<double>(trials),
          signed_for(sum / static_cast<double>(there), target.sense)};
}

double mean_of(const tune_rows& rows, std::size_t trials, std::size_t column) {
  double sum = 0;
  for (std::size_t i = 0; i < trials; ++i)
    sum += rows[i][column];
  return sum / static_cast<double>(trials);
}

double shortfall(double mean, const tune_target& need) {
  if (!std::isfinite(mean))
    return missing_shortfall;
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
    auto e = estimate_of(rows, trials, need);
    // Fewer trials without a number are nearer to none.
    sum += e.missing > 0 ? missing_shortfall * e.missing
                         : shortfall(signed_for(e.mean, need.sense), need);
  }
  return sum;
}

} // namespace caisson::sim
