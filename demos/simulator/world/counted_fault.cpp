#include <simulator/world/counted_fault.hpp>

#include <simulator/scenario/fault_times.hpp>

#include <algorithm>
#include <cmath>

namespace caisson::sim {

namespace {

// 1, 2, 3, … with this mean.
std::int64_t draw_count(keyed_random& random, double mean) {
  auto u = random.uniform();
  if (mean <= 1)
    return 1;
  auto more = std::log1p(-u) / std::log1p(-1 / mean);
  constexpr double most = 1e18;
  return 1 + static_cast<std::int64_t>(std::min(more, most));
}

} // namespace

counted_fault::counted_fault(const arm_config& arm, std::size_t index,
                             std::uint32_t replica, draw_key key)
  : fault_(&arm.faults[index]), length_(arm.length),
    random_(fault_draws(index, replica, key)) {
  const auto& f = *fault_;
  by_count_ = f.after_requests.has_value();
  left_ = f.after_requests.value_or(0);
  due_ = f.at;
  if (f.mtbf || f.mean_requests_between_failures)
    wait(f.at);
}

counted_fault::change counted_fault::request(duration now, bool may_begin) {
  change out;
  auto decides = [&](state s) { return state_ == s && by_count_; };
  if (decides(state::lasts) && left_ == 0) {
    out.ends = true;
    end(now);
  }
  auto in_time = now >= fault_->at && now < length_;
  if (decides(state::waits) && left_ == 0 && in_time) {
    try_to_begin(now, may_begin, out);
  }
  if (decides(state::lasts) || (decides(state::waits) && in_time))
    left_ -= left_ > 0;
  return out;
}

std::optional<duration> counted_fault::due() const {
  if (by_count_ || state_ == state::over)
    return std::nullopt;
  return due_;
}

counted_fault::change counted_fault::time_is_up(bool may_begin) {
  change out;
  if (state_ == state::lasts) {
    out.ends = true;
    end(due_);
  } else {
    try_to_begin(due_, may_begin, out);
  }
  return out;
}

void counted_fault::try_to_begin(duration now, bool may_begin, change& out) {
  out.begins = may_begin;
  out.cut_off = !may_begin;
  if (may_begin)
    begin(now);
  else
    state_ = state::over;
}

// Until it comes the next time.
void counted_fault::wait(duration now) {
  const auto& f = *fault_;
  state_ = state::waits;
  by_count_ = f.mean_requests_between_failures.has_value();
  if (by_count_) {
    left_ = draw_count(random_, *f.mean_requests_between_failures);
    return;
  }
  due_ = duration_sum(now, draw_time(random_, *f.mtbf));
  if (due_ >= length_)
    state_ = state::over;
}

void counted_fault::begin(duration now) {
  const auto& f = *fault_;
  if (f.kind == fault_kind::flush)
    return end(now);
  state_ = state::lasts;
  by_count_ = f.for_requests || f.mean_requests_to_repair;
  if (by_count_)
    left_ = f.mean_requests_to_repair
              ? draw_count(random_, *f.mean_requests_to_repair)
              : *f.for_requests;
  else
    due_ = duration_sum(now, f.mttr ? draw_time(random_, *f.mttr) : f.lasts);
}

void counted_fault::end(duration now) {
  if (fault_->mtbf || fault_->mean_requests_between_failures)
    return wait(now);
  state_ = state::over;
}

} // namespace caisson::sim
