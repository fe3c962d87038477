#include <ctl/top/history.hpp>

namespace caisson::ctl {

namespace {

std::int64_t step_at(time_point t) {
  return t.time_since_epoch() / call_history::step;
}

} // namespace

void call_history::take(const call_counts& now, time_point at,
                        duration longest_gap) {
  if (!seen_.empty()) {
    const auto& last = seen_.back();
    if (at <= last.at)
      return;
    auto fell = now.calls < last.counts.calls
                || now.succeeded < last.counts.succeeded
                || now.failed < last.counts.failed;
    if (fell || at - last.at > longest_gap)
      seen_.clear();
    else
      note(last, {at, now});
  }
  seen_.push_back({at, now});
  while (seen_.size() > 2 && seen_[1].at <= at - span_of_rates)
    seen_.pop_front();
}

void call_history::note(const sample& before, const sample& now) {
  auto number = step_at(now.at);
  auto& to = slots_[static_cast<std::size_t>(number) % steps];
  if (to.number != number)
    to = {number};
  to.seconds += seconds_between(before.at, now.at);
  to.calls += added(now.counts.calls, before.counts.calls);
  to.succeeded += added(now.counts.succeeded, before.counts.succeeded);
  to.failed += added(now.counts.failed, before.counts.failed);
}

std::optional<double>
call_history::rate_of(std::int64_t call_counts::*which) const {
  if (seen_.size() < 2)
    return std::nullopt;
  const auto& first = seen_.front();
  const auto& last = seen_.back();
  return added(last.counts.*which, first.counts.*which)
         / seconds_between(first.at, last.at);
}

std::optional<double> call_history::calls_per_second() const {
  return rate_of(&call_counts::calls);
}

std::optional<double> call_history::failed_per_second() const {
  return rate_of(&call_counts::failed);
}

std::optional<double> call_history::success() const {
  auto good = rate_of(&call_counts::succeeded);
  auto failed = failed_per_second();
  if (!good || !failed || *good + *failed <= 0)
    return std::nullopt;
  return *good / (*good + *failed);
}

std::vector<call_history::bar> call_history::bars(std::size_t count,
                                                  time_point now) const {
  count = count < steps ? count : steps;
  std::vector<bar> out;
  out.reserve(count);
  auto last = step_at(now);
  for (auto i = last - static_cast<std::int64_t>(count) + 1; i <= last; ++i) {
    const auto& x = slots_[static_cast<std::size_t>(i < 0 ? 0 : i) % steps];
    if (i < 0 || x.number != i) {
      out.emplace_back();
      continue;
    }
    auto ended = x.succeeded + x.failed;
    out.push_back({x.calls / x.seconds, ended > 0 ? x.failed / ended : 0});
  }
  return out;
}

} // namespace caisson::ctl
