#include <caisson/base/warm_up_rate.hpp>

#include <algorithm>
#include <cmath>

namespace caisson {

namespace {

double nanoseconds(duration d) noexcept {
  return static_cast<double>(d.count());
}

// `never` if that is beyond the clock.
time_point later_by(time_point t, double ns) noexcept {
  if (ns >= nanoseconds(unlimited))
    return never;
  return time_after(t, duration{static_cast<std::int64_t>(ns)});
}

} // namespace

warm_up_rate::warm_up_rate(const warm_up_shape& x) noexcept {
  set(x);
  stored_ = most_;
}

void warm_up_rate::set(const warm_up_shape& x) noexcept {
  warm_interval_ = nanoseconds(x.per) / static_cast<double>(x.rate);
  cold_interval_ = warm_interval_ * x.cold_factor;
  warm_up_ = nanoseconds(x.warm_up);
  threshold_ = warm_up_ / (2 * warm_interval_);
  most_ = threshold_ + 2 * warm_up_ / (warm_interval_ + cold_interval_);
}

void warm_up_rate::reshape(const warm_up_shape& x) noexcept {
  auto cold = stored_ / most_;
  set(x);
  stored_ = cold * most_;
}

void warm_up_rate::advance(time_point now) noexcept {
  if (now <= at_)
    return;
  if (at_ != time_point::min() && now > next_) {
    auto idle = nanoseconds(now - std::max(next_, at_));
    stored_ = std::min(most_, stored_ + idle * most_ / warm_up_);
  }
  at_ = now;
}

bool warm_up_rate::take(std::int64_t n) noexcept {
  if (at_ < next_)
    return false;
  take_in_any_case(n);
  return true;
}

void warm_up_rate::take_in_any_case(std::int64_t n) noexcept {
  // Who comes at the first nanosecond that is not too early is not late.
  if (at_ > next_)
    part_ = 0;
  auto tokens = static_cast<double>(n);
  auto cost = cost_of(tokens) - part_;
  auto whole = std::ceil(cost);
  part_ = whole - cost;
  stored_ = std::max(stored_ - tokens, 0.0);
  next_ = later_by(std::max(at_, next_), whole);
}

// The mean of the intervals at both ends is exact, as they grow linearly.
double warm_up_rate::cost_of(double n) const noexcept {
  auto above = std::max(stored_ - threshold_, 0.0);
  auto cold = std::min(above, n);
  auto slope = (cold_interval_ - warm_interval_) / (most_ - threshold_);
  auto mean = warm_interval_ + slope * (above - cold / 2);
  return cold * mean + (n - cold) * warm_interval_;
}

void warm_up_rate::put_back(std::int64_t n) noexcept {
  auto tokens = static_cast<double>(n);
  stored_ = std::min(stored_ + tokens, most_);
  auto earliest = std::max(at_, held_until_);
  if (next_ <= earliest)
    return;
  auto ns = cost_of(tokens);
  auto left = nanoseconds(next_ - earliest);
  next_ = ns >= left ? earliest : later_by(earliest, left - ns);
}

void warm_up_rate::drain(time_point until) noexcept {
  held_until_ = std::max(held_until_, until);
  next_ = std::max(next_, held_until_);
  stored_ = most_;
}

void warm_up_rate::fill(time_point now) noexcept {
  at_ = next_ = now;
  held_until_ = time_point::min();
  part_ = 0;
  stored_ = most_;
}

time_point warm_up_rate::ready_at(std::int64_t ahead,
                                  std::int64_t) const noexcept {
  auto first = std::max(next_, at_);
  return ahead == 0
           ? first
           : later_by(first, std::ceil(cost_of(static_cast<double>(ahead))));
}

time_point warm_up_rate::full_at() const noexcept {
  return later_by(std::max(next_, at_),
                  std::ceil((most_ - stored_) * warm_up_ / most_));
}

} // namespace caisson
