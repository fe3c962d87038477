// The settings of a circuit breaker.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policies/breaker/breaker_score.hpp>
#include <caisson/policies/breaker/breaker_trips.hpp>
#include <caisson/policy/operation.hpp>
#include <caisson/policy/outcome.hpp>
#include <caisson/policy/schedule.hpp>
#include <caisson/settings/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace caisson {

/// Which conditions must hold for a closed breaker to open.
enum class breaker_join : std::uint8_t { any, all };

template <>
struct enum_names<breaker_join> {
  static constexpr std::string_view value[] = {"any", "all"};
};

/// The state that a breaker starts with.
enum class breaker_start : std::uint8_t { closed, half_open };

template <>
struct enum_names<breaker_start> {
  static constexpr std::string_view value[] = {"closed", "half_open"};
};

/// Where a breaker goes after being half-open for too long, with a failure.
enum class breaker_verdict : std::uint8_t { open, closed };

template <>
struct enum_names<breaker_verdict> {
  static constexpr std::string_view value[] = {"open", "closed"};
};

/// What a closed breaker has counted since it was closed; for functions that
/// decide when it opens.
struct breaker_counts {
  /// Failures since the last success.
  std::int64_t consecutive_failures = 0;
  /// Results in the window: that of `window_calls` if only `rate_by_count` is
  /// listed in `trip`, otherwise that of `window_time`.
  std::int64_t total = 0;
  /// Results in that window that were failures.
  std::int64_t failures = 0;
  /// Calls in a window of the same kind that were fast or slow; 0 if
  /// `slow_call` is unlimited.
  std::int64_t timed = 0;
  /// Calls in that window that were slow.
  std::int64_t slow = 0;
  /// The share of failures, between 0 and 1; nothing with fewer than
  /// `minimum_calls` results.
  std::optional<double> failure_rate = {};
  /// The share of slow calls; nothing with fewer than `slow_minimum_calls`, or
  /// `minimum_calls` if that is 0.
  std::optional<double> slow_rate = {};
  /// The score of `trip = score`, if that is listed and its score is known.
  std::optional<double> score = {};
};

/// Settings of a breaker. Durations have a resolution of one nanosecond.
struct breaker_config {
  /// What the layer is called; empty: its kind.
  std::string name = {};
  /// Whether the layer acts, default `enforce`.
  caisson::mode mode = caisson::mode::enforce;

  /// What makes the closed breaker open: one rule or several, such as
  /// `{breaker_trip::consecutive, breaker_trip::rate_by_time}`; default
  /// `consecutive`. The slow-call rate is one more condition if `slow_call` is
  /// set, and so is `trip_when`. With either of them, there may be no rule.
  breaker_trips trip = breaker_trip::consecutive;

  /// Whether any or all of these conditions must hold at once; default `any`.
  breaker_join trip_if = breaker_join::any;

  /// If set: opens when this returns true. Called, if the other conditions do
  /// not decide already, whenever a result that counts has come, a call has
  /// become slow, or a step of the score has ended. If it throws, the host is
  /// notified and the condition does not hold.
  std::function<bool(const breaker_counts&)> trip_when = {};

  /// Failures to open at, for `consecutive` and `without_gap`; 1 to 1000000,
  /// default 5.
  std::uint32_t threshold = 5;

  /// For `without_gap`: this much time without a failure resets the count; 1ms
  /// to unlimited, default 10s.
  duration quiet_period = std::chrono::seconds(10);

  /// For both rates: the share of failures to open at (>=); 0.001 to 1,
  /// default 0.5.
  double failure_rate = 0.5;

  /// A call that takes this long (>=) is slow, at that very instant, even if it
  /// is still in flight. While half-open, a slow probe has failed. 1ms to
  /// unlimited, default unlimited: no call is slow.
  duration slow_call = unlimited;

  /// The share of slow calls to open at (>=); 0.001 to 1, default 0.5. With 1 a
  /// single fast call in the window, from before the trouble or from the one
  /// replica that still works, would keep the breaker closed.
  double slow_rate = 0.5;

  /// For `rate_by_count`: how many calls back; 1 to 1000000, default 100. Slow
  /// calls have a window of the same kind, for other rules that of
  /// `window_time`.
  std::uint32_t window_calls = 100;

  /// For `rate_by_time`: how far back; 1ms to 24h, default 10s. A call counts
  /// from the arrival of its result.
  duration window_time = std::chrono::seconds(10);

  /// For `rate_by_time`: in how many steps the window moves on; 1 to 1000,
  /// default 10.
  std::uint32_t window_buckets = 10;

  /// For all rates and the score: with fewer calls in the window they are
  /// unknown and do not open the breaker; 1 to 1000000, default 20. For windows
  /// of `window_calls` calls, at most that many are needed.
  std::uint32_t minimum_calls = 20;

  /// With fewer calls in the window, the rate of slow calls alone is unknown;
  /// 0 to 1000000, default 0: as `minimum_calls`.
  std::uint32_t slow_minimum_calls = 0;

  /// For `score`: weights, scales and windows.
  breaker_score score = {};

  /// At which share of the rate that opens it the closed breaker begins to
  /// limit how many calls are in flight; 0.01 to 1, default 1: never. Needs a
  /// rate: `rate_by_count`, `rate_by_time` or `slow_call`. Of several, the one
  /// counts that is nearest to its own; with `trip_if = all` the one that is
  /// farthest from it.
  double limit_at = 1;

  /// How many calls may be in flight in any case; 1 to 1000000, default 1. Only
  /// with a `limit_at` below 1.
  std::uint32_t limit_floor = 1;

  /// How long it stays open: the n-th delay the n-th time in a row. A finite
  /// schedule repeats its last delay, and so does one whose function throws.
  /// Default: 5s doubling up to 1min, equal
  /// jitter.
  schedule open = schedule::exponential(std::chrono::seconds(5))
                    .limit(std::chrono::minutes(1))
                    .jittered(jitter::equal);

  /// Whether it becomes half-open when the interval is over (true) or with the
  /// first call after it (false); default false.
  bool eager_half_open = false;

  /// How many calls may be judged per half-open epoch; 1 to 1000, default 1.
  std::uint32_t probes = 1;

  /// How many of them must succeed; 0 to `probes`, 0: all; default 0.
  std::uint32_t successes_to_close = 0;

  /// How long a probe may take; then it counts as failed. 1ms to 1h, default
  /// 10s.
  duration probe_timeout = std::chrono::seconds(10);

  /// When rejected callers may retry while half-open, during the ramp or with
  /// too many calls in flight, at the latest at the end of the next lease or of
  /// the ramp; 1ms to 1h, default 50ms. A healthy worker answers its probe long
  /// before the lease ends, and a caller that waits for that end might have no
  /// time left.
  duration half_open_retry_after = std::chrono::milliseconds(50);

  /// How long it may stay half-open, counted from the epoch's first probe; 1ms
  /// to unlimited, default 1min.
  duration half_open_max = std::chrono::minutes(1);

  /// Where it goes then if a probe has failed; default `open`. If none has, it
  /// closes.
  breaker_verdict after_half_open_max = breaker_verdict::open;

  /// After half-open, the share of calls that pass grows linearly from
  /// `ramp_from` to 1 during this time; 0s to 1h, default 0s: all pass at once.
  duration ramp = duration::zero();

  /// The share that passes at the beginning of the ramp; 0 to 1, default 0.1.
  double ramp_from = 0.1;

  /// Whether an attempt that ran into its timeout, and that a retrier further
  /// in follows with another one, counts as a failure of its own; default yes.
  bool count_attempt_timeouts = true;

  /// The state at the start and after `reset`; default `closed`. With
  /// `half_open` the first calls are probes.
  breaker_start initial = breaker_start::closed;

  /// What counts as a failure. In configurations: `count_only` (its `allow`
  /// list) and `ignore` (its `deny` list). If `by_value` throws, the result is
  /// neutral, and the gate ends the call with `callback_failed`.
  classifier classify = {};
};

/// Visits the fields in the order of the table in docs/breaker.md.
void describe(field_visitor& v, breaker_config& c);

/// Reports violated relations between fields.
void check(const breaker_config& c, const setting_path& path, problems& out);

} // namespace caisson
