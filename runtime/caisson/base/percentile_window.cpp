#include <caisson/base/percentile_window.hpp>

#include <caisson/base/ensure.hpp>

#include <algorithm>

namespace caisson {

namespace {

duration step_of(duration length, std::size_t steps) {
  CAISSON_ENSURE(length > duration::zero() && steps > 0,
                 "a window of {} has {} steps", length, steps);
  auto n = static_cast<duration::rep>(steps);
  return duration{length.count() / n + (length.count() % n == 0 ? 0 : 1)};
}

// The end of the step that contains `t`; rounds down before zero, too.
time_point end_of_step(time_point t, duration step) {
  auto into = t.time_since_epoch() % step;
  if (into < duration::zero())
    into += step;
  return time_after(t, step - into);
}

} // namespace

percentile_window::percentile_window(duration length, std::size_t steps)
  : slices_(steps), step_(step_of(length, steps)) {}

void percentile_window::record(duration d, time_point now) {
  roll(now);
  auto& newest = slices_[newest_];
  auto before = newest.count();
  newest.record(d);
  count_ += newest.count() - before;
}

void percentile_window::roll(time_point now) {
  if (now < newest_end_)
    return;
  auto end = end_of_step(now, step_);
  if (count_ == 0) {
    newest_end_ = end;
    return;
  }
  auto moved = (end - newest_end_) / step_;
  auto n = static_cast<std::int64_t>(slices_.size());
  for (auto i = std::min<std::int64_t>(moved, n); i > 0; --i) {
    newest_ = newest_ + 1 == slices_.size() ? 0 : newest_ + 1;
    CAISSON_ENSURE(slices_[newest_].count() <= count_,
                   "{} durations leave a window of {}",
                   slices_[newest_].count(), count_);
    count_ -= slices_[newest_].count();
    slices_[newest_].clear();
  }
  CAISSON_ENSURE(moved < n || count_ == 0,
                 "{} durations are left after {} steps of {}", count_, moved,
                 n);
  newest_end_ = end;
}

void percentile_window::clear() {
  for (auto& x : slices_)
    x.clear();
  count_ = 0;
}

time_point percentile_window::next_change() const noexcept {
  return count_ == 0 ? never : newest_end_;
}

histogram percentile_window::merged() const {
  histogram all;
  for (const auto& x : slices_)
    if (x.count() > 0)
      all.merge(x);
  return all;
}

} // namespace caisson
