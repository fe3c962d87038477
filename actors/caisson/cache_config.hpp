// The settings of a cache.
#pragma once

#include <caisson/outcome.hpp>
#include <caisson/policy.hpp>
#include <caisson/policy_config.hpp>
#include <caisson/settings.hpp>
#include <caisson/time.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace caisson {

/// Which calls with a key a cache may answer.
enum class cacheable_calls : std::uint8_t {
  /// All of them.
  keyed,
  /// Those that are marked idempotent.
  idempotent,
};

template <>
struct enum_names<cacheable_calls> {
  static constexpr std::string_view value[] = {"keyed", "idempotent"};
};

/// The settings of a cache. The host has its functions over the content of
/// calls (`cache_forms`).
struct cache_config {
  std::string name = {};
  caisson::mode mode = caisson::mode::enforce;

  /// How long a value answers calls: 1ms to unlimited, default 60s.
  duration ttl = std::chrono::seconds(60);

  /// How many answers are kept: 1 to 1000000, default 10000. One more evicts
  /// the least recently used one.
  std::uint32_t max_entries = 10'000;

  /// Which calls with a key are cached, default `keyed`: all.
  cacheable_calls cacheable = cacheable_calls::keyed;

  /// Whether calls for a key that is being loaded wait for that answer instead
  /// of being sent, default yes.
  bool single_flight = true;

  /// A call joins one that was sent at most this long ago: 1ms to unlimited,
  /// default 5s. Otherwise one answer that was lost would be awaited as long as
  /// further calls come.
  duration join_within = std::chrono::seconds(5);

  /// How long an error of the worker's answers calls: 0 to unlimited, default
  /// 0: not at all.
  duration negative_ttl = duration::zero();

  /// How long a value whose `ttl` is over still answers while it is being
  /// refreshed: 0 to unlimited, default 0.
  duration stale_while = duration::zero();

  /// How long a value whose `ttl` is over stands in for errors: 0 to unlimited,
  /// default 0.
  duration stale_if_error = duration::zero();

  /// When a refresh is given up: 1ms to 1h, default 10s.
  duration refresh_timeout = std::chrono::seconds(10);

  /// After a load has failed, the worker is not asked about its key for this
  /// long while an old value can answer instead: 1ms to 1h, default 1s.
  duration refresh_backoff = std::chrono::seconds(1);

  // The next six are for writes that are acknowledged at once
  // (`cache_forms::write`).

  /// How long after the first write of a key that the worker lacks the last one
  /// is sent: 0 to 1h, default 1s.
  duration flush_after = std::chrono::seconds(1);

  /// When a flush is given up, to be tried again: 1ms to 1h, default 2s.
  duration flush_timeout = std::chrono::seconds(2);

  /// How long after a failed flush the next one starts, and how long its key
  /// waits after its first failure: 1ms to 1h, default 200ms.
  duration flush_backoff = std::chrono::milliseconds(200);

  /// How many flushes are under way at most: 1 to 10000, default 8.
  std::uint32_t flushes = 8;

  /// No write is acknowledged while one that was is older than this: 1ms to
  /// unlimited, default 5s; at least `flush_after` and `flush_timeout`.
  duration staleness = std::chrono::seconds(5);

  /// Of how many keys the worker may lack a write: 1 to 1000000, default 1000.
  std::uint32_t max_unwritten = 1'000;

  /// Which errors a value stands in for: `failure`, `transient` and `refused`,
  /// and in the default table also the error `shed`. The lists are called
  /// `stale_on` (allow) and `stale_ignore` (deny), both empty by default.
  classifier failures = {};

  /// Which errors are kept for `negative_ttl`: by default those that are the
  /// worker's own. With an allow list or `by_value`: those that it names or
  /// that are not judged `success` or `neutral`. The lists are called
  /// `negative_on` (allow) and `negative_ignore` (deny), both empty by default.
  classifier negative = {};

  /// After which errors an acknowledged write is sent again: all but `failure`,
  /// `callback_failed`, `invalid_config` and `call_loop`. The lists are called
  /// `flush_again_on` (allow) and `flush_never_on` (deny), both empty by
  /// default.
  classifier writes = {};
};

void describe(field_visitor& v, cache_config& c);

void check(const cache_config& c, const setting_path& path, problems& out);

/// Whether a value whose time is over stands in for this failure.
[[nodiscard]] bool stands_in_for(const cache_config& c, const outcome& o,
                                 env& e);

/// Whether this failure is kept for `negative_ttl`. Never one that came without
/// an answer, which the gate's own layers decided on.
[[nodiscard]] bool is_negative(const cache_config& c, const outcome& o, env& e);

/// What an acknowledged write that ended like this has come to: `success`: the
/// worker has it; `failure`: it is given up; `transient`: it is sent again.
[[nodiscard]] verdict judge_flush(const cache_config& c, const outcome& o,
                                  env& e);

} // namespace caisson
