#include <caisson/policies/adaptive_limit/limit_steps.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace caisson::detail {

namespace {

// Products such as 10 * 0.7 can miss a whole number by a rounding error.
constexpr double rounding = 1e-9;

std::int64_t rounded_down(double x) noexcept {
  return static_cast<std::int64_t>(std::floor(x + rounding));
}

// The share of the latency that is there without load, too.
double unloaded_share(duration baseline, duration latency) noexcept {
  auto at_least_one = [](duration d) {
    return static_cast<double>(std::max<std::int64_t>(d.count(), 1));
  };
  return at_least_one(baseline) / at_least_one(latency);
}

} // namespace

std::int64_t backed_off_limit(std::int64_t limit, double factor) noexcept {
  return rounded_down(static_cast<double>(limit) * factor);
}

std::int64_t queued_calls(std::int64_t limit, duration baseline,
                          duration latency) noexcept {
  auto share = 1 - unloaded_share(baseline, latency);
  return static_cast<std::int64_t>(
    std::ceil(static_cast<double>(limit) * share - rounding));
}

std::int64_t vegas_limit(std::int64_t limit, std::int64_t queued,
                         std::uint32_t alpha, std::uint32_t beta) noexcept {
  std::int64_t unit = 1;
  for (auto x = limit; x >= 100; x /= 10)
    ++unit;
  if (queued <= unit)
    return limit + beta * unit;
  if (queued < alpha * unit)
    return limit + unit;
  return queued > beta * unit ? limit - unit : limit;
}

double limit_gradient(duration baseline, duration latency,
                      double buffer) noexcept {
  return std::clamp((1 + buffer) * unloaded_share(baseline, latency),
                    least_gradient, most_gradient);
}

std::int64_t gradient_limit(std::int64_t limit, double gradient) noexcept {
  auto base = static_cast<double>(limit) * gradient;
  return rounded_down(base + std::sqrt(base));
}

} // namespace caisson::detail
