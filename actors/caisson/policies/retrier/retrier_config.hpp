// The settings of a retrier.
#pragma once

#include <caisson/policy/operation.hpp>
#include <caisson/policy/outcome.hpp>
#include <caisson/policy/schedule.hpp>
#include <caisson/settings/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace caisson {

/// A retrier may make this many attempts per call without a pause and without a
/// budget, unless its config says `unsafe`.
inline constexpr std::uint32_t most_hasty_attempts = 3;

/// A shorter delay does not count as a pause; and with `max_attempts` 0 no wait
/// is shorter.
inline constexpr duration shortest_pause = std::chrono::milliseconds(1);

/// With `max_attempts` 0, how often a call without a deadline is attempted.
inline constexpr std::uint32_t most_attempts = 1'000;

/// The settings of a retrier.
struct retrier_config {
  /// What the layer is called; empty: its kind.
  std::string name = {};
  /// Whether the layer acts, default `enforce`.
  caisson::mode mode = caisson::mode::enforce;

  /// How many attempts a call gets at most, including the first: 1 to 1000,
  /// default 3. 0: until its deadline, or `most_attempts` times if it has none.
  std::uint32_t max_attempts = 3;

  /// How long to wait before each further attempt. When it is exhausted, or its
  /// function throws, there are no further retries. Default: exponential, 50ms
  /// ×2 up to 2s, full jitter.
  schedule backoff = schedule::exponential(std::chrono::milliseconds(50))
                       .limit(std::chrono::seconds(2))
                       .jittered(jitter::full);

  /// The longest `retry_after` that is waited for, 0 to unlimited (default): an
  /// outcome that asks for more is final.
  duration retry_after_cap = unlimited;

  /// How much longer than the schedule's delay the wait may become because the
  /// outcome asks for it: 0 to unlimited (default). A worker that asks for more
  /// is asked again earlier than it wants.
  duration retry_after_margin = unlimited;

  /// How many times the schedule's delay to wait after an overload: the class
  /// `shed`, or one of the errors `queue_full`, `wait_timeout`, `rate_limited`,
  /// `shed` and `throttled`; 1 to 1000, default 1.
  double overload_factor = 1;

  /// How long to wait after this outcome, in place of the schedule's delay; the
  /// schedule still says how many retries there are. Without a value, or if it
  /// throws, the schedule's delay applies. A negative value counts as 0. Each
  /// gate calls its own copy.
  std::function<std::optional<duration>(const outcome&)> delay_of = {};

  /// Whether an unmarked call may be carried out twice, default no. A call's
  /// own mark takes precedence.
  bool idempotent = false;

  /// Whether calls without an idempotency key get one, so that a worker that
  /// handles envelopes can recognise further attempts, default no.
  bool idempotency_keys = false;

  /// Which outcomes to retry: `transient` and `refused`. The lists are called
  /// `retry_on` (allow) and `fail_on` (deny), both empty by default. If
  /// `by_value` throws, there is no further attempt, and the gate ends the call
  /// with `callback_failed`.
  classifier classify = {};

  /// Whether retries are limited to a share of the traffic, default yes.
  bool budget = true;

  /// How many retries each first attempt pays for: 0 to 1 in steps of a
  /// millionth, default 0.2. With 0 there is only the reserve.
  double budget_ratio = 0.2;

  /// How many retries per second are always allowed: 0 to 1000000, default 10.
  std::uint32_t budget_reserve = 10;

  /// How long attempts and retries count in the budget: 1s to 60s, default
  /// 10s.
  duration budget_ttl = std::chrono::seconds(10);

  /// What a retry costs the budget, in retries, unless one of the next two
  /// applies: 1 to 100, default 1.
  std::uint32_t budget_cost = 1;

  /// What a retry costs after `deadline_exceeded`: 1 to 100, default 1. Work
  /// that ran into a timeout has cost the worker more than refused work.
  std::uint32_t budget_timeout_cost = 1;

  /// What a retry costs after an overload (see `overload_factor`): 1 to 100,
  /// default 1.
  std::uint32_t budget_overload_cost = 1;

  /// What a call that a breaker or a limiter further in rejected costs the
  /// budget, in retries, whether or not it is retried: 0 to 100, default 1; 0:
  /// nothing.
  std::uint32_t budget_rejection_cost = 1;

  /// Whether the gate's breakers are heeded: no retries while one of them is
  /// open, and at most one for each call while one is half-open; default yes.
  bool heed_breakers = true;

  /// Retriers with the same name in one actor system share a budget; empty (the
  /// default): one of its own. The first of them sets the limits.
  std::string budget_name = {};

  /// Whether more than `most_hasty_attempts` attempts without a pause and
  /// without a budget are allowed, default no.
  bool unsafe = false;

  /// With a verifier: how long one verification may take: 1ms to 1h, default
  /// 1s. It never outlives the call's deadline.
  duration verify_timeout = std::chrono::seconds(1);

  /// How often to ask the verifier at most: 1 to 100, default 3.
  std::uint32_t verify_attempts = 3;

  /// How long to wait before the second verification; then twice as long each
  /// time: 1ms to 1h, default 100ms.
  duration verify_pause = std::chrono::milliseconds(100);

  /// Raises the alarm when a smaller share of first attempts succeeds, although
  /// at least this share of calls does: 0 to 1, default 0.8. 0: no alarm.
  double alarm_first_try = 0.8;

  /// The time over which both shares are measured: 1s to 1h, default 10s.
  duration alarm_window = std::chrono::seconds(10);

  /// With fewer calls in the window the shares are unknown: 1 to 1000000,
  /// default 100.
  std::uint32_t alarm_minimum_calls = 100;
};

void describe(field_visitor& v, retrier_config& c);

void check(const retrier_config& c, const setting_path& path, problems& out);

/// For a retrier that is kept per key: a budget with a name would be one for
/// all keys, and is refused.
void check_per_key(const retrier_config& c, const setting_path& path,
                   problems& out);

/// The first `n` retries of `s`, or as many as it has: how many of them come
/// without a pause, counted up to `enough`. What counts is the delay before
/// jitter, and the base of a `decorrelated` segment. Functions are assumed to
/// pause.
[[nodiscard]] std::uint32_t hasty_retries(const schedule& s, std::uint32_t n,
                                          std::uint32_t enough);

} // namespace caisson
