#include <simulator/scenario/distribution.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace caisson::sim {

namespace {

constexpr duration longest_draw{1'000'000'000'000'000'000};
constexpr auto none = duration::zero();

double nanoseconds(duration d) {
  return static_cast<double>(d.count());
}

// The nearest whole number of nanoseconds.
duration rounded(double ns) {
  if (!(ns > 0))
    return none;
  if (ns >= nanoseconds(longest_draw))
    return longest_draw;
  return duration{std::llround(ns)};
}

// Exponential with mean 1.
double phase(keyed_random& from) {
  return -std::log1p(-from.uniform());
}

// Normal with mean 0 and variance 1.
double standard_normal(keyed_random& from) {
  auto radius = std::sqrt(2 * phase(from));
  return radius * std::cos(2 * std::numbers::pi * from.uniform());
}

// The mean of max(0, 1 + cv z) with z normal.
double mean_above_zero(double cv) {
  if (cv <= 0)
    return 1;
  auto cut = 1 / cv;
  auto above = std::erfc(-cut / std::numbers::sqrt2) / 2;
  auto density = std::exp(-cut * cut / 2) / std::sqrt(2 * std::numbers::pi);
  return above + cv * density;
}

// The probability of the shorter of two exponential ones with balanced means;
// Sauer and Chandy, IBM Journal of Research and Development 19 (1975).
double share_of_short(double cv) {
  auto square = cv * cv;
  return (1 + std::sqrt((square - 1) / (square + 1))) / 2;
}

} // namespace

distribution distribution::of(kind what, duration mean, double ratio) {
  distribution x{mean};
  x.kind_ = what;
  x.ratio_ = ratio;
  return x;
}

distribution distribution::normal(duration mean, double cv) {
  return of(kind::normal, mean, cv);
}

distribution distribution::weibull(duration mean, double shape) {
  return of(kind::weibull, mean, shape);
}

distribution distribution::hyperexponential(duration mean, double cv) {
  return of(kind::hyperexponential, mean, cv);
}

distribution distribution::pareto(duration mean, double shape) {
  return of(kind::pareto, mean, shape);
}

distribution distribution::uniform(duration min, duration max) {
  distribution x;
  x.kind_ = kind::uniform;
  x.low_ = min;
  x.high_ = max;
  return x;
}

distribution distribution::exponential(duration mean) {
  distribution x{mean};
  x.kind_ = kind::exponential;
  return x;
}

distribution distribution::erlang(duration mean, std::uint32_t k) {
  distribution x{mean};
  x.kind_ = kind::erlang;
  x.k_ = k;
  return x;
}

distribution distribution::lognormal(duration mean, double cv) {
  return of(kind::lognormal, mean, cv);
}

distribution distribution::bimodal(duration fast, duration slow, double share) {
  distribution x;
  x.kind_ = kind::bimodal;
  x.low_ = fast;
  x.high_ = slow;
  x.ratio_ = share;
  return x;
}

distribution distribution::empirical(std::vector<duration> values) {
  distribution x;
  x.kind_ = kind::empirical;
  x.values_ = std::move(values);
  return x;
}

duration distribution::mean() const {
  switch (kind_) {
    case kind::constant:
    case kind::exponential:
    case kind::erlang:
    case kind::lognormal:
    case kind::weibull:
    case kind::hyperexponential:
    case kind::pareto:
      return mean_;
    case kind::normal:
      return rounded(nanoseconds(mean_) * mean_above_zero(ratio_));
    case kind::uniform:
      return rounded((nanoseconds(low_) + nanoseconds(high_)) / 2);
    case kind::bimodal:
      return rounded(nanoseconds(low_) * (1 - ratio_)
                     + nanoseconds(high_) * ratio_);
    case kind::empirical:
      break;
  }
  double sum = 0;
  for (auto d : values_)
    sum += nanoseconds(d);
  return rounded(sum / static_cast<double>(values_.size()));
}

bool distribution::zero() const {
  switch (kind_) {
    case kind::constant:
    case kind::exponential:
    case kind::erlang:
    case kind::lognormal:
    case kind::normal:
    case kind::weibull:
    case kind::hyperexponential:
    case kind::pareto:
      return mean_ == none;
    case kind::uniform:
      return high_ == none;
    case kind::bimodal:
      return (low_ == none || ratio_ >= 1) && (high_ == none || ratio_ <= 0);
    case kind::empirical:
      break;
  }
  return std::all_of(values_.begin(), values_.end(),
                     [](duration d) { return d == none; });
}

// In units of the mean.
double distribution::shape(keyed_random& from) const {
  if (kind_ == kind::normal)
    return 1 + ratio_ * standard_normal(from);
  if (kind_ == kind::weibull)
    return std::pow(phase(from), 1 / ratio_) / std::tgamma(1 + 1 / ratio_);
  if (kind_ == kind::pareto)
    return (ratio_ - 1) / ratio_ * std::exp(phase(from) / ratio_);
  auto p = share_of_short(ratio_);
  auto share = from.uniform() < p ? p : 1 - p;
  return phase(from) / (2 * share);
}

duration distribution::draw(keyed_random& from) const {
  switch (kind_) {
    case kind::constant:
      return mean_;
    case kind::uniform: {
      auto choices = static_cast<std::uint64_t>((high_ - low_).count()) + 1;
      return low_ + duration{static_cast<std::int64_t>(from.below(choices))};
    }
    case kind::exponential:
      return rounded(phase(from) * nanoseconds(mean_));
    case kind::erlang: {
      double sum = 0;
      for (std::uint32_t i = 0; i < k_; ++i)
        sum += phase(from);
      return rounded(sum * nanoseconds(mean_) / k_);
    }
    case kind::lognormal: {
      auto variance = std::log1p(ratio_ * ratio_);
      auto exponent = std::sqrt(variance) * standard_normal(from)
                      - variance / 2;
      return rounded(std::exp(exponent) * nanoseconds(mean_));
    }
    case kind::bimodal:
      return from.uniform() < ratio_ ? high_ : low_;
    case kind::normal:
    case kind::weibull:
    case kind::hyperexponential:
    case kind::pareto:
      return rounded(shape(from) * nanoseconds(mean_));
    case kind::empirical:
      break;
  }
  return values_[from.below(values_.size())];
}

} // namespace caisson::sim
