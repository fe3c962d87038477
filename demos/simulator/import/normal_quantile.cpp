#include <simulator/import/normal_quantile.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace caisson::sim {

double normal_quantile(double q) {
  // The function is flat outside, where a step of Newton's method would leave.
  double low = -8;
  double high = 8;
  double x = 0;
  for (int i = 0; i < 100; ++i) {
    auto below = std::erfc(-x / std::numbers::sqrt2) / 2 - q;
    (below > 0 ? high : low) = x;
    auto slope = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    auto next = x - below / slope;
    if (!(next > low && next < high))
      next = (low + high) / 2;
    if (std::abs(next - x) < 1e-14)
      return next;
    x = next;
  }
  return x;
}

} // namespace caisson::sim
