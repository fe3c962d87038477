// Quantiles of the normal distribution.
#pragma once

namespace caisson::sim {

/// Where the distribution function of the standard normal distribution is `q`,
/// 0 < q < 1, by Newton's method; exact to about 1e-12 for q from 1e-6 to
/// 1 - 1e-6.
[[nodiscard]] double normal_quantile(double q);

} // namespace caisson::sim
