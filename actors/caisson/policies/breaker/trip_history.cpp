#include <caisson/policies/breaker/trip_history.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policy/callback.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace caisson::detail {

namespace {

// The rate is a quotient, not a product: the quotient of 7 and 100 is the very
// double that "0.07" is read as, so that a rate equal to the limit trips.
bool reaches(const std::optional<window_share>& x, double limit) {
  auto rate = x ? x->rate() : std::nullopt;
  return rate && *rate >= limit;
}

bool needs(const breaker_config& c, breaker_trip x) {
  return c.trip.has(x);
}

} // namespace

// -- settings -----------------------------------------------------------------

trip_history::trip_history(const breaker_config& c) {
  adopt(c, time_point::min());
}

void trip_history::adopt(const breaker_config& c, time_point now) {
  roll(now);
  threshold_ = c.threshold;
  quiet_period_ = c.quiet_period;
  failure_rate_ = c.failure_rate;
  slow_rate_ = c.slow_rate;
  minimum_ = c.minimum_calls;
  auto before = std::exchange(applies_, 0);
  for (std::uint32_t i = consecutive; i <= score; ++i)
    if (needs(c, static_cast<breaker_trip>(i)))
      applies_ |= 1u << i;
  if (c.slow_call != unlimited)
    applies_ |= 1u << slow;

  // A rule that was not there has no past.
  if (!(before & 1u << consecutive) && !c.trip_when)
    run_ = 0;
  if (!needs(c, breaker_trip::without_gap))
    since_quiet_.reset();
  else if (!since_quiet_)
    since_quiet_ = failures_since_quiet{};
  auto count = needs(c, breaker_trip::rate_by_count);
  auto time = needs(c, breaker_trip::rate_by_time);
  rate_windows::shape s{count,
                        time || (c.trip_when && !count),
                        c.window_calls,
                        c.window_time,
                        c.window_buckets,
                        c.minimum_calls};
  failures_.reshape(s, now);
  // Slow calls have one window, of the kind that the rules have.
  auto timed = c.slow_call != unlimited;
  s.by_time = timed && (time || !count);
  s.by_count = timed && !s.by_time;
  if (c.slow_minimum_calls > 0)
    s.minimum = c.slow_minimum_calls;
  pace_.reshape(s, now);
  if (!needs(c, breaker_trip::score))
    load_.reset();
  else if (load_)
    load_->adopt(c.score);
  else
    load_ = std::make_unique<load_score>(c.score);
  ages_ = since_quiet_ || load_ || failures_.by_time() || pace_.by_time();
  only_run_ = applies_ == 1u << consecutive && !c.trip_when;
  only_score_ = applies_ == 1u << score && !c.trip_when;
  only_shares_ = !c.trip_when && failure_rate_ > 0 && slow_rate_ > 0;
}

void trip_history::restart(const breaker_config& c) {
  auto kept = std::move(load_);
  *this = trip_history{c};
  if (kept) {
    kept->restart();
    load_ = std::move(kept);
  }
}

// -- what happens -------------------------------------------------------------

void trip_history::add_pace(bool was_slow, time_point now) {
  roll(now);
  pace_.add(was_slow, now);
}

void trip_history::look(time_point now) {
  CAISSON_ENSURE(load_, "a step ends of a score that is not asked for");
  roll(now);
  load_->look(now, minimum_);
}

void trip_history::roll_windows(time_point now) {
  if (since_quiet_ && since_quiet_->failures > 0
      && now >= time_after(since_quiet_->last, quiet_period_))
    since_quiet_->failures = 0;
  failures_.roll(now);
  pace_.roll(now);
}

// -- what follows from it -----------------------------------------------------

bool trip_history::holds(condition x) const {
  switch (x) {
    case consecutive:
      return run_ >= threshold_;
    case without_gap:
      return since_quiet_->failures >= threshold_;
    case by_count:
      return reaches(failures_.by_count(), failure_rate_);
    case by_time:
      return reaches(failures_.by_time(), failure_rate_);
    case score:
      return load_->exceeded();
    case slow:
      return reaches(pace_.shown(), slow_rate_);
    case conditions:
      break;
  }
  return false;
}

std::string_view trip_history::weigh(const breaker_config& c, env& e) const {
  constexpr std::string_view reasons[] = {
    "consecutive failures",           "failures without a quiet period",
    "failure rate of the last calls", "failure rate of the last time",
    "score above its limit",          "rate of slow calls"};
  auto all = c.trip_if == breaker_join::all;
  std::string_view why;
  auto asked = 0;
  for (auto left = applies_; left != 0; left &= left - 1, ++asked) {
    auto x = static_cast<condition>(std::countr_zero(left));
    if (!holds(x)) {
      if (all)
        return {};
    } else if (!all) {
      return reasons[x];
    } else {
      why = reasons[x];
    }
  }
  if (c.trip_when) {
    auto ask = [&] { return c.trip_when(counts()); };
    if (!call_user("trip_when", ask, e).value_or(false))
      return {};
    ++asked;
    why = "function over the counts";
  }
  return all && asked > 1 ? "all conditions at once" : why;
}

double trip_history::pressure(breaker_join open_if) const {
  std::optional<double> found;
  auto look_at = [&](condition x, const std::optional<window_share>& at,
                     double limit) {
    if ((applies_ & 1u << x) == 0)
      return;
    auto share = at ? at->rate().value_or(0) / limit : 0;
    if (!found)
      found = share;
    else
      found = open_if == breaker_join::any ? std::max(*found, share)
                                           : std::min(*found, share);
  };
  look_at(by_count, failures_.by_count(), failure_rate_);
  look_at(by_time, failures_.by_time(), failure_rate_);
  look_at(slow, pace_.shown(), slow_rate_);
  return found.value_or(0);
}

breaker_counts trip_history::counts() const {
  auto f = failures();
  auto p = pace();
  return {.consecutive_failures = run_,
          .total = f.total,
          .failures = f.bad,
          .timed = p.total,
          .slow = p.bad,
          .failure_rate = f.rate(),
          .slow_rate = p.rate(),
          .score = load_ ? load_->score() : std::nullopt};
}

std::int64_t trip_history::streak() const {
  std::int64_t run = applies_ & 1u << consecutive ? run_ : 0;
  return std::max(run, since_quiet_ ? std::int64_t{since_quiet_->failures} : 0);
}

void trip_history::list_gauges(std::vector<metric>& out) const {
  auto gauge = [&](std::string_view name, std::int64_t value) {
    out.push_back({name, value, true});
  };
  auto x = load_ ? load_->score() : std::nullopt;
  gauge("failure_streak", streak());
  gauge("window_total", failures().total);
  gauge("failure_rate_permille", failures().permille());
  gauge("slow_rate_permille", pace().permille());
  gauge("score_permille", x ? std::llround(*x * 1000) : -1);
}

} // namespace caisson::detail
