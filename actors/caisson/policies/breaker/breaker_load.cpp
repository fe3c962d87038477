#include <caisson/policies/breaker/breaker_load.hpp>

#include <caisson/base/ensure.hpp>

#include <algorithm>
#include <vector>

namespace caisson::detail {

// -- baseline -----------------------------------------------------------------

void load_baseline::end_intervals(time_point now) {
  if (calls_ > 0)
    past_.push_back({end_, calls_});
  calls_ = 0;
  // Intervals without calls leave no trace.
  end_ = time_after(end_, (now - end_) / step_ * step_ + step_);
  CAISSON_ENSURE(end_ > now, "an interval ends {} ago", now - end_);
  refresh(now);
}

void load_baseline::refresh(time_point now) {
  while (!past_.empty() && time_after(past_.front().end, window_ - step_) < now)
    past_.pop_front();
  if (past_.empty()) {
    median_.reset();
    return;
  }
  std::vector<std::int64_t> calls;
  calls.reserve(past_.size());
  for (const auto& x : past_)
    calls.push_back(x.calls);
  std::sort(calls.begin(), calls.end());
  auto n = calls.size();
  auto middle = static_cast<double>(calls[(n - 1) / 2] + calls[n / 2]) / 2;
  median_ = middle / to_seconds(step_);
  // Loads are divided by it.
  CAISSON_ENSURE(*median_ > 0, "{} calls per second are normal", *median_);
}

// -- score --------------------------------------------------------------------

load_score::load_score(const breaker_score& c)
  : c_(c), baseline_(c.baseline_window, c.baseline_step),
    arrivals_(c.window, steps), results_(c.window, steps),
    latencies_(c.window, steps) {}

void load_score::add(bool failed, std::optional<duration> took,
                     time_point now) {
  results_.add(failed, now);
  if (took)
    latencies_.record(*took, now);
}

// The calls per second, in units of the baseline. Early on, the window is only
// as long as there have been calls, but at least one step: the first few calls
// would look like a storm.
double load_score::load(time_point now) const {
  auto normal = baseline_.rate();
  if (!normal)
    return 1;
  auto since = begun_ == never ? c_.window : now - begun_;
  auto length = std::clamp(since, arrivals_.bucket_length(), c_.window);
  return static_cast<double>(arrivals_.total()) / to_seconds(length) / *normal;
}

void load_score::look(time_point now, std::int64_t minimum) {
  CAISSON_ENSURE(updated_at_ == never || updated_at_ <= now,
                 "a step ends {} before the last one", updated_at_ - now);
  baseline_.roll(now);
  updated_at_ = now;
  // The windows still hold the step that ends now.
  score_.reset();
  if (results_.total() >= minimum) {
    auto failed = static_cast<double>(results_.failures())
                  / static_cast<double>(results_.total());
    auto slowest = latencies_.merged().quantile(c_.percentile);
    score_ = c_.load_weight * load(now)
             + c_.failure_weight * failed / c_.failure_rate
             + c_.latency_weight
                 * to_seconds(slowest.value_or(duration::zero()))
                 / to_seconds(c_.latency);
  }
  arrivals_.roll(now);
  results_.roll(now);
  latencies_.roll(now);
}

void load_score::adopt(const breaker_score& c) {
  if (c.window != c_.window || c.baseline_window != c_.baseline_window
      || c.baseline_step != c_.baseline_step)
    *this = load_score{c};
  else
    c_ = c;
}

void load_score::restart() {
  auto kept = std::move(baseline_);
  kept.pause();
  *this = load_score{c_};
  baseline_ = std::move(kept);
}

} // namespace caisson::detail
