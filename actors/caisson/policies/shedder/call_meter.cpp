#include <caisson/policies/shedder/call_meter.hpp>

#include <algorithm>

namespace caisson::detail {

namespace {

// Rounded up to a nanosecond.
duration step_of(duration length, std::size_t steps) noexcept {
  auto n = static_cast<duration::rep>(steps);
  return duration{length.count() / n + (length.count() % n != 0 ? 1 : 0)};
}

double seconds_between(time_point from, time_point to) noexcept {
  return to > from ? to_seconds(to - from) : 0;
}

// Whether an average of `calls` is worth comparing with one of `most`.
bool is_average(std::int64_t calls, std::int64_t most) noexcept {
  return calls >= most / 10;
}

} // namespace

call_meter::call_meter(duration history, duration baseline) noexcept
  : history_(step_of(history, steps)), baseline_(step_of(baseline, steps)) {}

// -- calls --------------------------------------------------------------------

void call_meter::time_out(time_point begun, time_point now) noexcept {
  roll(now);
  auto least = shortest_time();
  if (least && to_seconds(now - begun) < *least)
    end(now);
  else
    leave(begun, now);
}

// -- figures ------------------------------------------------------------------

void call_meter::begin_step(time_point now) noexcept {
  auto number = now.time_since_epoch() / history_;
  if (number <= newest_)
    return;
  if (newest_ != no_step)
    note_shortest(newest_step());
  newest_ = number;
  newest_place_ = static_cast<std::size_t>(number) % steps;
  // Steps before the clock's zero are numbered towards it.
  newest_end_ = number < 0
                  ? time_point::min()
                  : time_after(time_point{number * history_}, history_);
  newest_step() = {.number = number};
}

// The step is over, and its average is one of those of its time.
void call_meter::note_shortest(const step& x) noexcept {
  if (x.calls == 0)
    return;
  auto number = x.number * history_ / baseline_;
  auto& at = baseline_steps_[static_cast<std::size_t>(number) % steps];
  if (at.number != number)
    at = {.number = number};
  at.all_calls += x.calls;
  at.all_time += x.time;
  auto mean = x.time / static_cast<double>(x.calls);
  auto stays = at.calls > 0 && is_average(at.calls, x.calls)
               && (mean >= at.time || !is_average(x.calls, at.calls));
  if (!stays) {
    at.time = mean;
    at.calls = x.calls;
  }
}

std::optional<double> call_meter::shortest_time() const noexcept {
  auto from = newest_ * history_ / baseline_ - static_cast<std::int64_t>(steps);
  auto counts = [&](const shortest& x) {
    return x.number != no_step && x.number > from;
  };
  std::int64_t most = 0;
  for (const auto& x : baseline_steps_)
    if (counts(x))
      most = std::max(most, x.calls);
  std::optional<double> least;
  auto note = [&](std::int64_t calls, double time) {
    if (is_average(calls, most))
      least = least ? std::min(*least, time) : time;
  };
  // Of a quiet time before an overload, no step has enough calls, but all
  // together may have: else the overload would be all that is known.
  shortest quiet;
  for (const auto& x : baseline_steps_)
    if (counts(x)) {
      note(x.calls, x.time);
      if (!is_average(x.calls, most)) {
        quiet.all_calls += x.all_calls;
        quiet.all_time += x.all_time;
      }
    }
  if (quiet.all_calls > 0)
    note(quiet.all_calls,
         quiet.all_time / static_cast<double>(quiet.all_calls));
  return least;
}

double call_meter::mean_in_flight(time_point now) const noexcept {
  auto n = static_cast<double>(in_flight_);
  auto seconds = seconds_between(since_, std::max(now, latest_));
  return seconds > 0 ? (area_ + n * seconds_between(latest_, now)) / seconds
                     : n;
}

std::optional<duration> call_meter::delay(time_point now) noexcept {
  roll(now);
  if (timed_ > 0)
    last_mean_ = timed_sum_ / static_cast<double>(timed_);
  else if (in_flight_ == 0)
    last_mean_ = 0;
  auto least = shortest_time();
  if (!least || !last_mean_)
    return std::nullopt;
  return from_seconds(*last_mean_ - *least);
}

std::optional<double> call_meter::capacity(time_point now) noexcept {
  roll(now);
  std::int64_t most = 0;
  auto known = false;
  for (const auto& x : history_steps_)
    if (x.number != no_step
        && x.number > newest_ - static_cast<std::int64_t>(steps)) {
      most = std::max(most, x.calls);
      known = known || (x.calls > 0 && !x.partial && x.number < newest_);
    }
  auto least = shortest_time();
  if (least && known)
    last_capacity_ = static_cast<double>(most) / to_seconds(history_) * *least;
  else if (in_flight_ == 0)
    last_capacity_.reset();
  return last_capacity_;
}

void call_meter::restart(time_point now) noexcept {
  pass_time(now);
  since_ = latest_;
  area_ = 0;
  timed_ = 0;
  timed_sum_ = 0;
}

void call_meter::resume(time_point now) noexcept {
  restart(now);
  roll(now);
  if (now.time_since_epoch() % history_ != duration::zero())
    newest_step().partial = true;
}

void call_meter::resize(duration history, duration baseline,
                        time_point now) noexcept {
  auto h = step_of(history, steps);
  auto b = step_of(baseline, steps);
  if (h == history_ && b == baseline_)
    return;
  history_ = h;
  baseline_ = b;
  forget(now);
}

void call_meter::forget(time_point now) noexcept {
  history_steps_.fill({});
  baseline_steps_.fill({});
  newest_ = no_step;
  newest_end_ = time_point::min();
  last_mean_.reset();
  last_capacity_.reset();
  resume(now);
}

} // namespace caisson::detail
