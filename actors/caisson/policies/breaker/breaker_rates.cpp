#include <caisson/policies/breaker/breaker_rates.hpp>

#include <algorithm>

namespace caisson::detail {

void rate_windows::reshape(const shape& s, time_point now) {
  minimum_ = s.minimum;
  if (!s.by_count)
    count_.reset();
  else if (count_)
    count_->resize(s.calls);
  else
    count_.emplace(s.calls);
  if (!s.by_time)
    time_.reset();
  else if (time_)
    time_->resize(s.time, s.buckets, now);
  else
    // Nothing counts that was before.
    time_.emplace(s.time, s.buckets).roll(now);
}

std::optional<window_share> rate_windows::by_count() const {
  if (!count_)
    return std::nullopt;
  // More calls than fit can never be asked for.
  auto fits = static_cast<std::int64_t>(count_->capacity());
  return window_share{count_->total(), count_->failures(),
                      std::min(minimum_, fits)};
}

std::optional<window_share> rate_windows::by_time() const {
  if (!time_)
    return std::nullopt;
  return window_share{time_->total(), time_->failures(), minimum_};
}

window_share rate_windows::shown() const {
  if (auto x = by_time())
    return *x;
  return by_count().value_or(window_share{});
}

} // namespace caisson::detail
