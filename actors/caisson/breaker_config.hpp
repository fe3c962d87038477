// The settings of a circuit breaker.
#pragma once

#include <caisson/outcome.hpp>
#include <caisson/policy.hpp>
#include <caisson/policy_config.hpp>
#include <caisson/schedule.hpp>
#include <caisson/settings.hpp>
#include <caisson/time.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace caisson {

/// What makes a closed breaker open.
enum class breaker_trip : std::uint8_t {
  /// `threshold` failures with no success between them.
  consecutive,
  /// `threshold` failures, each less than `quiet_period` after the previous
  /// one.
  without_gap,
  /// Too large a share of the last `window_calls` calls failed.
  rate_by_count,
  /// Too large a share of the results of the last `window_time` were failures.
  rate_by_time,
};

template <>
struct enum_names<breaker_trip> {
  static constexpr std::string_view value[] = {"consecutive", "without_gap",
                                               "rate_by_count", "rate_by_time"};
};

/// Where a breaker goes after being half-open for too long, with a failure.
enum class breaker_verdict : std::uint8_t { open, closed };

template <>
struct enum_names<breaker_verdict> {
  static constexpr std::string_view value[] = {"open", "closed"};
};

/// Settings of a breaker. Durations have a resolution of one nanosecond.
struct breaker_config {
  std::string name = {};
  caisson::mode mode = caisson::mode::enforce;

  /// What makes the closed breaker open; default `consecutive`.
  breaker_trip trip = breaker_trip::consecutive;

  /// Failures to open at, for `consecutive` and `without_gap`; 1 to 1000000,
  /// default 5.
  std::uint32_t threshold = 5;

  /// For `without_gap`: this much time without a failure resets the count; 1ms
  /// to unlimited, default 10s.
  duration quiet_period = std::chrono::seconds(10);

  /// For both rates: the share of failures to open at (>=); 0.001 to 1,
  /// default 0.5.
  double failure_rate = 0.5;

  /// For `rate_by_count`: how many calls back; 1 to 1000000, default 100.
  std::uint32_t window_calls = 100;

  /// For `rate_by_time`: how far back; 1ms to 24h, default 10s. A call counts
  /// from the arrival of its result.
  duration window_time = std::chrono::seconds(10);

  /// For `rate_by_time`: in how many steps the window moves on; 1 to 1000,
  /// default 10.
  std::uint32_t window_buckets = 10;

  /// For both rates: with fewer calls in the window the rate is unknown and
  /// the breaker stays closed; 1 to 1000000, default 20. For `rate_by_count`
  /// at most `window_calls`.
  std::uint32_t minimum_calls = 20;

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

  /// How many calls may be judged per half-open era; 1 to 1000, default 1.
  std::uint32_t probes = 1;

  /// How many of them must succeed; 0 to `probes`, 0: all; default 0.
  std::uint32_t successes_to_close = 0;

  /// How long a probe may take; then it counts as failed. 1ms to 1h, default
  /// 10s.
  duration probe_timeout = std::chrono::seconds(10);

  /// When rejected callers may retry while half-open, at the latest at the end
  /// of the next lease; 1ms to 1h, default 50ms. A healthy worker answers its
  /// probe long before the lease ends, and a caller that waits for that end
  /// might have no time left.
  duration half_open_retry_after = std::chrono::milliseconds(50);

  /// How long it may stay half-open, counted from the era's first probe; 1ms to
  /// unlimited, default 1min.
  duration half_open_max = std::chrono::minutes(1);

  /// Where it goes then if a probe has failed; default `open`. If none has, it
  /// closes.
  breaker_verdict after_half_open_max = breaker_verdict::open;

  /// What counts as a failure. In configurations: `count_only` (its `allow`
  /// list) and `ignore` (its `deny` list). If `by_value` throws, the result is
  /// neutral.
  classifier classify = {};
};

/// Visits the fields in the order of the table in docs/breaker.md.
void describe(field_visitor& v, breaker_config& c);

/// Reports violated relations between fields.
void check(const breaker_config& c, const setting_path& path, problems& out);

} // namespace caisson
