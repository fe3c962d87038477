#include <caisson/breaker_config.hpp>

#include <caisson/schedule_settings.hpp>

#include <fmt/format.h>

namespace caisson {

using namespace std::chrono_literals;

void describe(field_visitor& v, breaker_config& c) {
  describe_common(v, c);
  v.choice({"trip", "what makes the closed breaker open"}, c.trip);
  v.integer({"threshold", "failures to open at, for consecutive and "
                          "without_gap"},
            c.threshold, {1, 1'000'000});
  v.on({"quiet_period", "for without_gap: so much time without a failure sets "
                        "the count back to zero"},
       c.quiet_period, {1ms, unlimited});
  v.on({"failure_rate", "for both rates: the share of failures to open at "
                        "(>=)"},
       c.failure_rate, {0.001, 1.0});
  v.integer({"window_calls", "for rate_by_count: how many calls back"},
            c.window_calls, {1, 1'000'000});
  v.on({"window_time",
        "for rate_by_time: how far back; a call counts from when "
        "its result came"},
       c.window_time, {1ms, 24h});
  v.integer({"window_buckets", "for rate_by_time: in how many steps the window "
                               "moves on"},
            c.window_buckets, {1, 1000});
  v.integer({"minimum_calls", "for both rates: with fewer calls in the window "
                              "the rate is unknown; for rate_by_count at most "
                              "window_calls"},
            c.minimum_calls, {1, 1'000'000});
  v.on({"open", "how long it stays open: the n-th delay the n-th time in a "
                "row; a finite schedule repeats its last delay"},
       c.open);
  v.on({"eager_half_open", "whether it becomes half-open when the interval is "
                           "over, or with the first call after it"},
       c.eager_half_open);
  v.integer({"probes", "how many calls may be judged per half-open era"},
            c.probes, {1, 1000});
  v.integer({"successes_to_close", "how many of them must succeed, at most "
                                   "probes; 0: all"},
            c.successes_to_close, {0, 1000});
  v.on({"probe_timeout", "how long a probe may take; then it counts as failed"},
       c.probe_timeout, {1ms, 1h});
  v.on({"half_open_retry_after", "when callers turned away while half-open are "
                                 "to come back, at the end of the next lease "
                                 "at the latest"},
       c.half_open_retry_after, {1ms, 1h});
  v.on({"half_open_max", "how long it may stay half-open, counted from the "
                         "era's first probe"},
       c.half_open_max, {1ms, unlimited});
  v.choice({"after_half_open_max", "where it goes then if a probe has failed; "
                                   "it closes if none has"},
           c.after_half_open_max);
  v.on({"count_only", "errors that count as failures, all others being "
                      "neutral; empty: the default table"},
       c.classify.allow);
  v.on({"ignore", "errors that are neutral; wins over count_only"},
       c.classify.deny);
}

void check(const breaker_config& c, const setting_path& path, problems& out) {
  if (c.trip == breaker_trip::rate_by_count && c.minimum_calls > c.window_calls)
    out.push_back({problem_kind::relation, path / "minimum_calls",
                   fmt::format("{} calls never fit into the window, allowed: 1 "
                               "to window_calls ({})",
                               c.minimum_calls, c.window_calls)});
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
  check_lists(c.classify, "count_only", "ignore", path, out);
}

} // namespace caisson
