#include <caisson/policies/breaker/breaker_config.hpp>

#include <caisson/policies/breaker/breaker_trips_field.hpp>
#include <caisson/policy/policy_config.hpp>
#include <caisson/policy/schedule_settings.hpp>

#include <fmt/format.h>

namespace caisson {

using namespace std::chrono_literals;

namespace {

void describe_conditions(field_visitor& v, breaker_config& c) {
  v.on({"trip", "what makes the closed breaker open; with a list, see trip_if"},
       c.trip);
  v.choice({"trip_if", "whether any or all of the conditions must hold: those "
                       "listed in trip, and the slow-call rate if slow_call "
                       "is set"},
           c.trip_if);
  v.integer({"threshold", "failures to open at, for consecutive and "
                          "without_gap"},
            c.threshold, {1, 1'000'000});
  v.on({"quiet_period", "for without_gap: this long without a failure resets "
                        "the count"},
       c.quiet_period, {1ms, unlimited});
  v.on({"failure_rate", "for both rates: the share of failures to open at "
                        "(>=)"},
       c.failure_rate, {0.001, 1.0});
  v.on({"slow_call", "a call that takes this long (>=) is slow, even if it is "
                     "still in flight; unlimited: none is"},
       c.slow_call, {1ms, unlimited});
  v.on({"slow_rate", "the share of slow calls to open at (>=)"}, c.slow_rate,
       {0.001, 1.0});
  v.integer({"window_calls", "for rate_by_count: how many of the last calls "
                             "count"},
            c.window_calls, {1, 1'000'000});
  v.on({"window_time",
        "for rate_by_time: how far back; a call counts from when "
        "its result came"},
       c.window_time, {1ms, 24h});
  v.integer({"window_buckets", "for rate_by_time: in how many steps the window "
                               "moves on"},
            c.window_buckets, {1, 1000});
  v.integer({"minimum_calls", "for all rates and the score: with fewer calls "
                              "in the window they are unknown; for "
                              "rate_by_count window_calls are always enough"},
            c.minimum_calls, {1, 1'000'000});
  v.integer({"slow_minimum_calls", "the same for the rate of slow calls alone; "
                                   "0: as minimum_calls"},
            c.slow_minimum_calls, {0, 1'000'000});
  v.on({"score", "for score: weights, scales and windows"}, c.score);
}

void describe_limit(field_visitor& v, breaker_config& c) {
  v.on({"limit_at", "at which share of failure_rate or slow_rate the closed "
                    "breaker begins to limit how many calls are in flight; 1: "
                    "never"},
       c.limit_at, {0.01, 1.0});
  v.integer({"limit_floor", "how many calls may be in flight in any case"},
            c.limit_floor, {1, 1'000'000});
}

// A setting without effect is a mistake of whoever wrote it.
void check_limit(const breaker_config& c, const setting_path& path,
                 problems& out) {
  auto has_rate = c.trip.has(breaker_trip::rate_by_count)
                  || c.trip.has(breaker_trip::rate_by_time)
                  || c.slow_call != unlimited;
  if (c.limit_at < 1 && !has_rate)
    out.push_back({problem_kind::relation, path / "limit_at",
                   fmt::format("{} is a share of a rate, and no rate opens the "
                               "breaker, allowed: 1, or with rate_by_count or "
                               "rate_by_time in trip, or with slow_call",
                               c.limit_at)});
  if (c.limit_at >= 1 && c.limit_floor > 1)
    out.push_back(
      {problem_kind::relation, path / "limit_floor",
       fmt::format("{} has no effect: limit_at is 1, allowed: 1, or "
                   "with a limit_at below 1",
                   c.limit_floor)});
}

} // namespace

void describe(field_visitor& v, breaker_config& c) {
  describe_common(v, c);
  describe_conditions(v, c);
  describe_limit(v, c);
  v.on({"open", "how long it stays open: the n-th delay the n-th time in a "
                "row; a finite schedule repeats its last delay"},
       c.open);
  v.on({"eager_half_open", "whether it becomes half-open when the interval is "
                           "over, or with the first call after it"},
       c.eager_half_open);
  v.integer({"probes", "how many calls may be judged per half-open epoch"},
            c.probes, {1, 1000});
  v.integer({"successes_to_close", "how many of them must succeed, at most "
                                   "probes; 0: all"},
            c.successes_to_close, {0, 1000});
  v.on({"probe_timeout", "how long a probe may take; then it counts as failed"},
       c.probe_timeout, {1ms, 1h});
  v.on({"half_open_retry_after",
        "when callers rejected while half-open, during "
        "the ramp or with too many calls in flight "
        "should come back, at the latest at the end "
        "of the next lease or of the ramp"},
       c.half_open_retry_after, {1ms, 1h});
  v.on({"half_open_max", "how long it may stay half-open, counted from the "
                         "epoch's first probe"},
       c.half_open_max, {1ms, unlimited});
  v.choice({"after_half_open_max", "where it goes then if a probe has failed; "
                                   "it closes if none has"},
           c.after_half_open_max);
  v.on({"ramp", "after half-open, for how long only a growing share of the "
                "calls passes; 0s: all pass at once"},
       c.ramp, {0s, 1h});
  v.on({"ramp_from", "the share that passes at the beginning of the ramp"},
       c.ramp_from, {0.0, 1.0});
  v.on({"count_attempt_timeouts",
        "whether an attempt that ran into its timeout, and that a retrier "
        "further in follows with another one, counts as a failure of its own"},
       c.count_attempt_timeouts);
  v.choice({"initial", "the state at the start and after reset"}, c.initial);
  v.on({"count_only", "errors that count as failures, all others being "
                      "neutral; empty: the default table"},
       c.classify.allow);
  v.on({"ignore", "errors that are neutral; wins over count_only"},
       c.classify.deny);
}

void check(const breaker_config& c, const setting_path& path, problems& out) {
  if (c.trip.empty() && c.slow_call == unlimited && !c.trip_when)
    out.push_back({problem_kind::relation, path / "trip",
                   "is empty, so that nothing ever opens the breaker, allowed: "
                   "at least one rule, or a slow_call that is not unlimited"});
  // What is out of range has been reported already.
  if (c.probe_timeout > c.half_open_max && c.probe_timeout <= 1h
      && c.half_open_max >= 1ms)
    out.push_back(
      {problem_kind::relation, path / "probe_timeout",
       fmt::format("{} is longer than half_open_max, so that no "
                   "probe ever times out, allowed: 1ms to "
                   "half_open_max ({})",
                   to_text(c.probe_timeout), to_text(c.half_open_max))});
  if (c.half_open_max == unlimited
      && c.after_half_open_max == breaker_verdict::closed)
    out.push_back({problem_kind::relation, path / "after_half_open_max",
                   "closed has no effect: half_open_max is unlimited, allowed: "
                   "open, or a half_open_max that ends"});
  if (c.open.empty())
    out.push_back({problem_kind::range, path / "open",
                   "has no delay, allowed: a schedule of at least one delay"});
  if (c.successes_to_close > c.probes)
    out.push_back({problem_kind::relation, path / "successes_to_close",
                   fmt::format("{} successes can never come, allowed: 0 to "
                               "probes ({})",
                               c.successes_to_close, c.probes)});
  check_limit(c, path, out);
  check_lists(c.classify, "count_only", "ignore", path, out);
}

} // namespace caisson
