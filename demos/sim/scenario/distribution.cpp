#include <sim/scenario/distribution.hpp>

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
double normal(keyed_random& from) {
  auto radius = std::sqrt(2 * phase(from));
  return radius * std::cos(2 * std::numbers::pi * from.uniform());
}

} // namespace

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
  distribution x{mean};
  x.kind_ = kind::lognormal;
  x.ratio_ = cv;
  return x;
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
      return mean_;
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
      auto exponent = std::sqrt(variance) * normal(from) - variance / 2;
      return rounded(std::exp(exponent) * nanoseconds(mean_));
    }
    case kind::bimodal:
      return from.uniform() < ratio_ ? high_ : low_;
    case kind::empirical:
      break;
  }
  return values_[from.below(values_.size())];
}

} // namespace caisson::sim
