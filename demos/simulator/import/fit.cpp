#include <simulator/import/fit.hpp>

#include <simulator/import/normal_quantile.hpp>
#include <simulator/import/ordered_table.hpp>
#include <simulator/scenario/fields.hpp>

#include <caisson/base/time.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <ratio>
#include <utility>

namespace caisson::sim {

namespace {

using time_form = distribution::kind;

// What a distribution may have at most.
constexpr double longest_ns = std::chrono::duration<double, std::nano>(
                                longest_time)
                                .count();

// -- what is known of the times -----------------------------------------------

struct moments {
  double mean = 0;
  double cv = 0;
  // Of the logarithms; nothing if a time is zero.
  std::optional<double> log_mean = {};
  double log_deviation = 0;
};

double deviation_of(const std::vector<double>& xs, double mean) {
  double sum = 0;
  for (auto x : xs)
    sum += (x - mean) * (x - mean);
  return std::sqrt(sum / static_cast<double>(xs.size()));
}

double mean_of(const std::vector<double>& xs) {
  return std::accumulate(xs.begin(), xs.end(), 0.0)
         / static_cast<double>(xs.size());
}

moments moments_of(const std::vector<double>& sorted) {
  moments out;
  out.mean = mean_of(sorted);
  if (out.mean > 0)
    out.cv = deviation_of(sorted, out.mean) / out.mean;
  if (sorted.front() > 0) {
    std::vector<double> logs;
    logs.reserve(sorted.size());
    for (auto x : sorted)
      logs.push_back(std::log(x));
    out.log_mean = mean_of(logs);
    out.log_deviation = deviation_of(logs, *out.log_mean);
  }
  return out;
}

double quantile_of(const std::vector<double>& sorted, double q) {
  auto at = q * static_cast<double>(sorted.size()) - 0.5;
  if (at <= 0)
    return sorted.front();
  auto i = static_cast<std::size_t>(at);
  if (i + 1 >= sorted.size())
    return sorted.back();
  auto part = at - static_cast<double>(i);
  return sorted[i] + part * (sorted[i + 1] - sorted[i]);
}

// -- quantiles of the formulas ------------------------------------------------

// Where the share of two exponential parts that is over reaches 1 - q.
double hyperexponential_quantile(const fitted_times& x, double q) {
  auto c = x.ratio * x.ratio;
  auto p = (1 + std::sqrt((c - 1) / (c + 1))) / 2;
  auto fast = x.mean / (2 * p);
  auto slow = x.mean / (2 - 2 * p);
  double low = 0;
  auto high = -std::log1p(-q) * slow;
  for (int i = 0; i < 100; ++i) {
    auto t = (low + high) / 2;
    auto left = p * std::exp(-t / fast) + (1 - p) * std::exp(-t / slow);
    (left > 1 - q ? low : high) = t;
  }
  return high;
}

double quantile_of(const fitted_times& x, double q) {
  switch (x.kind) {
    case time_form::uniform:
      return x.low + q * (x.high - x.low);
    case time_form::exponential:
      return -std::log1p(-q) * x.mean;
    case time_form::lognormal: {
      auto variance = std::log1p(x.ratio * x.ratio);
      return x.mean
             * std::exp(std::sqrt(variance) * normal_quantile(q)
                        - variance / 2);
    }
    case time_form::normal:
      return std::max(0.0, x.mean * (1 + x.ratio * normal_quantile(q)));
    case time_form::weibull:
      return x.mean / std::tgamma(1 + 1 / x.ratio)
             * std::pow(-std::log1p(-q), 1 / x.ratio);
    case time_form::hyperexponential:
      return hyperexponential_quantile(x, q);
    default:
      return x.mean;
  }
}

// The largest error of the quantiles, beyond what may be chance.
double error_of(const fitted_times& x, const std::vector<double>& sorted,
                double mean) {
  auto n = static_cast<double>(sorted.size());
  double out = 0;
  for (auto q : {0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99}) {
    if (q > 0.95 && n < 1000)
      continue;
    auto real = quantile_of(sorted, q);
    // Two standard deviations of the share, as times.
    auto chance = 2 * std::sqrt(q * (1 - q) / n);
    auto below = quantile_of(sorted, std::max(0.0, q - chance));
    auto above = quantile_of(sorted, std::min(1.0, q + chance));
    auto fit_value = quantile_of(x, q);
    auto off = std::max({0.0, below - fit_value, fit_value - above});
    // Of very short times a larger share is off without harm.
    out = std::max(out, off / std::max(real, mean / 10));
  }
  return out;
}

// -- candidates ---------------------------------------------------------------

// The shape of a Weibull distribution with this coefficient of variation.
double weibull_shape(double cv) {
  double low = 0.2;
  double high = 100;
  for (int i = 0; i < 60; ++i) {
    auto shape = (low + high) / 2;
    auto first = std::tgamma(1 + 1 / shape);
    auto ratio = std::tgamma(1 + 2 / shape) / (first * first) - 1;
    (std::sqrt(std::max(0.0, ratio)) > cv ? low : high) = shape;
  }
  return high;
}

std::vector<fitted_times> fit_candidates(const moments& m,
                                         const std::vector<double>& sorted) {
  std::vector<fitted_times> out;
  out.push_back({.kind = time_form::exponential, .mean = m.mean});
  // From the logarithms, so that a few long times say less. It may have
  // another mean, which is put right.
  if (m.log_mean && m.log_deviation < 3)
    out.push_back({time_form::lognormal, m.mean,
                   std::sqrt(std::expm1(m.log_deviation * m.log_deviation))});
  out.push_back({time_form::lognormal, m.mean, std::min(m.cv, 100.0)});
  if (m.cv <= 0.5)
    out.push_back({time_form::normal, m.mean, m.cv});
  auto wide = m.mean * m.cv * std::sqrt(3.0);
  if (wide <= m.mean)
    out.push_back({.kind = time_form::uniform,
                   .mean = m.mean,
                   .low = std::max(m.mean - wide, sorted.front()),
                   .high = std::min(m.mean + wide, sorted.back())});
  if (m.cv > 0.02 && m.cv < 10)
    out.push_back({time_form::weibull, m.mean, weibull_shape(m.cv)});
  if (m.cv > 1 && m.cv <= 100)
    out.push_back({time_form::hyperexponential, m.mean, m.cv});
  return out;
}

fitted_times empirical_fit(const std::vector<double>& sorted) {
  fitted_times out{.kind = time_form::empirical, .mean = mean_of(sorted)};
  auto parts = std::min(sorted.size(), most_fitted_values);
  for (std::size_t i = 0; i < parts; ++i) {
    auto from = sorted.size() * i / parts;
    auto to = sorted.size() * (i + 1) / parts;
    auto sum = std::accumulate(
      sorted.begin() + static_cast<std::ptrdiff_t>(from),
      sorted.begin() + static_cast<std::ptrdiff_t>(to), 0.0);
    out.values.push_back(sum / static_cast<double>(to - from));
  }
  return out;
}

// -- as settings --------------------------------------------------------------

// Four digits, which is more than measurements are worth.
std::string duration_text(double ns) {
  ns = std::clamp(ns, 0.0, longest_ns);
  auto unit = ns < 1e4 ? 1.0 : std::pow(10.0, std::floor(std::log10(ns)) - 3);
  return to_text(
    duration{static_cast<std::int64_t>(std::round(ns / unit) * unit)});
}

double rounded_ratio(double x) {
  auto unit = std::pow(10.0, std::floor(std::log10(std::max(x, 1e-9))) - 3);
  // Divided, so that the result reads well.
  return unit < 1 ? std::round(x / unit) / std::round(1 / unit)
                  : std::round(x / unit) * unit;
}

} // namespace

fitted_times fit_moments(double mean, double cv) {
  if (cv < 0.01 || mean <= 0)
    return {.kind = time_form::constant, .mean = mean};
  return {time_form::lognormal, mean, std::min(cv, 100.0)};
}

fitted_times fit(std::vector<double>& times, times_kind how) {
  if (times.empty())
    return {};
  std::ranges::sort(times);
  auto m = moments_of(times);
  if (m.cv < 0.01)
    return {.kind = time_form::constant, .mean = m.mean};
  if (how == times_kind::empirical)
    return empirical_fit(times);
  std::optional<fitted_times> best;
  for (auto& x : fit_candidates(m, times)) {
    x.error = error_of(x, times, m.mean);
    if (!best || x.error < best->error)
      best = x;
  }
  if (how == times_kind::best && best->error > fit_tolerance)
    return empirical_fit(times);
  return *best;
}

std::string kind_name(const fitted_times& x) {
  const auto& names = enum_names<time_form>::value;
  return std::string{names[static_cast<std::size_t>(x.kind)]};
}

setting setting_of(const fitted_times& x) {
  auto text = [](double ns) { return setting{duration_text(ns), {}}; };
  if (x.kind == time_form::constant)
    return text(x.mean);
  ordered_table out;
  out.add("kind", kind_name(x));
  if (x.kind == time_form::uniform) {
    out.add("min", text(x.low)).add("max", text(x.high));
  } else if (x.kind == time_form::empirical) {
    std::vector<setting> values;
    for (auto value : x.values)
      values.push_back(text(value));
    out.add("values", {std::move(values), {}});
  } else {
    out.add("mean", text(x.mean));
    if (x.kind != time_form::exponential)
      out.add(x.kind == time_form::weibull ? "shape" : "cv",
              {rounded_ratio(x.ratio), {}});
  }
  return {out.take(), {}};
}

} // namespace caisson::sim
