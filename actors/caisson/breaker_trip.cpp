#include <caisson/breaker_trip.hpp>

#include <utility>

namespace caisson {

namespace {

template <class Window>
std::int64_t permille(const Window& w, std::int64_t minimum_calls) {
  if (w.total() < minimum_calls)
    return -1;
  return w.failures() * 1000 / w.total();
}

} // namespace

// The rate is a quotient, not a product: the quotient of 7 and 100 is the very
// double that "0.07" is read as, so that a rate equal to the limit trips.
template <class Window>
bool trip_history::limit::exceeded_by(const Window& w) const {
  return w.total() >= minimum_calls
         && static_cast<double>(w.failures()) / static_cast<double>(w.total())
              >= failure_rate;
}

trip_history::rule trip_history::make(const breaker_config& c) {
  auto most = limit{c.failure_rate, c.minimum_calls};
  switch (c.trip) {
    case breaker_trip::consecutive:
      break;
    case breaker_trip::without_gap:
      return restless_run{c.threshold, c.quiet_period};
    case breaker_trip::rate_by_count:
      return counted_rate{most, count_window{c.window_calls}};
    case breaker_trip::rate_by_time:
      return timed_rate{most, time_window{c.window_time, c.window_buckets}};
  }
  return run{c.threshold};
}

trip_history::trip_history(const breaker_config& c) : rule_(make(c)) {}

// -- counting -----------------------------------------------------------------

bool trip_history::count(run& r, bool failed) {
  r.failures = failed ? r.failures + 1 : 0;
  return r.failures >= r.threshold;
}

bool trip_history::count(restless_run& r, bool failed, time_point now) {
  // A success proves nothing here: only time without failures does.
  if (!failed)
    return false;
  ++r.failures;
  r.last = now;
  return r.failures >= r.threshold;
}

bool trip_history::add(bool failed, time_point now) {
  roll(now);
  if (auto* r = std::get_if<run>(&rule_))
    return count(*r, failed);
  if (auto* q = std::get_if<restless_run>(&rule_))
    return count(*q, failed, now);
  if (auto* c = std::get_if<counted_rate>(&rule_)) {
    c->window.add(failed);
    return c->most.exceeded_by(c->window);
  }
  auto& t = std::get<timed_rate>(rule_);
  t.window.add(failed, now);
  return t.most.exceeded_by(t.window);
}

// -- time ---------------------------------------------------------------------

void trip_history::roll(time_point now) {
  // The other two rules forget by calls, not by time.
  if (auto* r = std::get_if<restless_run>(&rule_)) {
    if (r->failures > 0 && now >= time_after(r->last, r->quiet_period))
      r->failures = 0;
  } else if (auto* t = std::get_if<timed_rate>(&rule_)) {
    t->window.roll(now);
  }
}

time_point trip_history::next_change() const {
  if (auto* r = std::get_if<restless_run>(&rule_))
    return r->failures > 0 ? time_after(r->last, r->quiet_period) : never;
  if (auto* t = std::get_if<timed_rate>(&rule_))
    return t->window.next_change();
  return never;
}

void trip_history::adopt(const breaker_config& c, time_point now) {
  roll(now);
  auto fresh = make(c);
  if (fresh.index() != rule_.index()) {
    rule_ = std::move(fresh);
  } else if (auto* r = std::get_if<run>(&rule_)) {
    r->threshold = c.threshold;
  } else if (auto* q = std::get_if<restless_run>(&rule_)) {
    q->threshold = c.threshold;
    q->quiet_period = c.quiet_period;
  } else if (auto* n = std::get_if<counted_rate>(&rule_)) {
    n->most = std::get<counted_rate>(fresh).most;
    n->window.resize(c.window_calls);
  } else {
    auto& t = std::get<timed_rate>(rule_);
    t.most = std::get<timed_rate>(fresh).most;
    t.window.resize(c.window_time, c.window_buckets, now);
  }
}

// -- what it shows ------------------------------------------------------------

std::string_view trip_history::reason() const {
  constexpr std::string_view texts[] = {
    "consecutive failures", "failures without a quiet period",
    "failure rate of the last calls", "failure rate of the last time"};
  return texts[rule_.index()];
}

std::int64_t trip_history::streak() const {
  if (auto* r = std::get_if<run>(&rule_))
    return r->failures;
  if (auto* q = std::get_if<restless_run>(&rule_))
    return q->failures;
  return 0;
}

std::int64_t trip_history::window_total() const {
  if (auto* c = std::get_if<counted_rate>(&rule_))
    return c->window.total();
  if (auto* t = std::get_if<timed_rate>(&rule_))
    return t->window.total();
  return 0;
}

std::int64_t trip_history::failure_rate_permille() const {
  if (auto* c = std::get_if<counted_rate>(&rule_))
    return permille(c->window, c->most.minimum_calls);
  if (auto* t = std::get_if<timed_rate>(&rule_))
    return permille(t->window, t->most.minimum_calls);
  return -1;
}

} // namespace caisson
