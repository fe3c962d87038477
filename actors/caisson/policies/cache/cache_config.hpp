// The settings of a cache.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/operation.hpp>
#include <caisson/policy/outcome.hpp>
#include <caisson/settings/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace caisson {

/// A message that a cache keeps without looking at it.
using kept_message = std::shared_ptr<const void>;

/// Which calls with a key a cache may answer.
enum class cacheable_calls : std::uint8_t {
  /// All calls with a key.
  keyed,
  /// Calls that are marked idempotent.
  idempotent,
};

template <>
struct enum_names<cacheable_calls> {
  static constexpr std::string_view value[] = {"keyed", "idempotent"};
};

/// The settings of a cache. The host has its functions over the content of
/// calls (`cache_forms`).
struct cache_config {
  /// What the layer is called; empty: its kind.
  std::string name = {};
  /// Whether the layer acts, default `enforce`.
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

  /// A call joins one that was sent less than this long ago: 1ms to unlimited,
  /// default 5s. Otherwise calls would wait for a lost answer as long as
  /// further ones arrive.
  duration join_within = std::chrono::seconds(5);

  /// How long a kept error answers calls: 0 to unlimited, default
  /// 0: not at all.
  duration negative_ttl = duration::zero();

  /// Whether the key of calls may be that of answers (no `cache_forms::key`)
  /// although other layers of the stack take it for something else, such as a
  /// tenant: policies per key, and a sticky canary. Default no: such a stack is
  /// refused, as all calls of a tenant would get the same answer.
  bool unsafe = false;

  /// How long a value whose `ttl` is over still answers while it is being
  /// refreshed: 0 to unlimited, default 0.
  duration stale_while = duration::zero();

  /// How long a value whose `ttl` is over stands in for errors: 0 to unlimited,
  /// default 0.
  duration stale_if_error = duration::zero();

  /// How long a refresh may take: 1ms to 1h, default 10s. Then it is given up.
  duration refresh_timeout = std::chrono::seconds(10);

  /// After a load has failed, the worker is not asked about its key for this
  /// long while an old value can answer instead: 1ms to 1h, default 1s.
  duration refresh_backoff = std::chrono::seconds(1);

  // The next seven are for writes that are acknowledged at once
  // (`cache_forms::write`).

  /// The last write of a key is sent this long after the first one that the
  /// worker lacks: 0 to 1h, default 1s.
  duration flush_after = std::chrono::seconds(1);

  /// How long a flush may take: 1ms to 1h, default 2s. Then it is given up and
  /// repeated.
  duration flush_timeout = std::chrono::seconds(2);

  /// How long after a failed flush the next one starts, and how long its key
  /// waits after its first failure: 1ms to 1h, default 200ms.
  duration flush_backoff = std::chrono::milliseconds(200);

  /// How often in a row the worker may answer a write with an error before it
  /// is given up: 1 to 1000000, default 10; fewer if the class of the error
  /// says so. Failures without an answer do not count, nor do answers that the
  /// worker is busy: the write stays until the worker has it.
  std::uint32_t flush_attempts = 10;

  /// How many flushes may be in progress at once: 1 to 10000, default 8.
  std::uint32_t flushes = 8;

  /// No write is acknowledged while the worker lacks an acknowledged one that
  /// is older than this: 1ms to unlimited, default 5s; at least `flush_after`
  /// and `flush_timeout`.
  duration staleness = std::chrono::seconds(5);

  /// For how many keys the worker may lack a write: 1 to 1000000, default 1000.
  std::uint32_t max_unwritten = 1'000;

  /// Which errors a value stands in for: `failure`, `transient` and `refused`,
  /// and in the default table also the errors `shed`, `feature_off` and
  /// `throttled`, but not the classes `fail` and `conflict`. The lists are
  /// called `stale_on` (allow) and `stale_ignore` (deny), empty by default.
  classifier failures = {};

  /// Which errors are kept for `negative_ttl`: by default answers of the
  /// worker's of the classes `fail` and `conflict`. With an allow list or
  /// `by_value`: those that it names or that are not judged `success` or
  /// `neutral`. Errors without a server's answer are never kept. The lists are
  /// called `negative_on` (allow) and `negative_ignore` (deny), both empty by
  /// default.
  classifier negative = {};

  /// After which errors an acknowledged write is sent again: all but `failure`,
  /// `callback_failed`, `invalid_config` and `call_loop`. The lists are called
  /// `flush_again_on` (allow) and `flush_never_on` (deny), both empty by
  /// default.
  classifier writes = {};
};

void describe(field_visitor& v, cache_config& c);

void check(const cache_config& c, const setting_path& path, problems& out);

/// Whether an expired value stands in for this failure.
[[nodiscard]] bool stands_in_for(const cache_config& c, const outcome& o,
                                 env& e);

/// Whether this failure is kept for `negative_ttl`. Never one that came without
/// an answer, which the gate's own layers decided on or a worker that had none.
[[nodiscard]] bool is_negative(const cache_config& c, const outcome& o, env& e);

/// Whether this failure says what the answer is now, as that there is no such
/// thing any more: an old value is over then.
[[nodiscard]] bool ends_old_value(const cache_config& c, const outcome& o,
                                  env& e);

/// What has come of an acknowledged write: `success`: the worker has it;
/// `failure`: it is given up; `transient`: it is sent again, also if a layer
/// answered in place of the worker. `refusals`: how often in a row the worker
/// has answered it with an error, now included (see `is_refusal`).
[[nodiscard]] verdict judge_flush(const cache_config& c, const outcome& o,
                                  std::uint32_t refusals, env& e);

/// Whether the worker itself answered with an error that may be about the
/// write: not that of a gate, not that the server has not answered, and not
/// that it is busy.
[[nodiscard]] inline bool is_refusal(const outcome& o) noexcept {
  return !o.ok && o.from_worker && !o.own_error && !o.unanswered
         && o.kind != answer_class::retry_after && o.kind != answer_class::shed;
}

} // namespace caisson
