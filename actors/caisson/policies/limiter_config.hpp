// Settings of a rate limiter.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policy/operation.hpp>
#include <caisson/policy/rate_algorithm.hpp>
#include <caisson/settings/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace caisson {

/// Configures a `limiter`.
struct limiter_config {
  /// What the layer is called; empty: its kind.
  std::string name = {};
  /// Whether the layer acts, default `enforce`.
  caisson::mode mode = caisson::mode::enforce;

  /// How many tokens arrive in each `per`; 1 to 1000000000, default 100. At
  /// most one per nanosecond of `per`.
  std::int64_t rate = 100;

  /// The time in which `rate` tokens arrive; 1us to 365d, default 1s.
  duration per = std::chrono::seconds(1);

  /// How many tokens the bucket holds; 1 to 1000000000, default 10. For
  /// `token_bucket` only.
  std::uint32_t burst = 10;

  /// How it counts, default `token_bucket`.
  rate_algorithm algorithm = rate_algorithm::token_bucket;

  /// How long it takes until calls go at the full rate; 1ms to 1d, default 10s.
  /// For `warm_up` only.
  duration warm_up_time = std::chrono::seconds(10);

  /// How many times as long the interval between calls is at first; 1.1 to
  /// 1000, default 3. For `warm_up` only.
  double cold_factor = 3;

  /// How long a call may wait for its turn, also if that is promised; 0 to
  /// unlimited, default 0: a call that finds too few tokens is refused at once.
  duration max_wait = duration::zero();

  /// How many calls may wait, those included to which a turn is promised; 0 to
  /// 1000000, default 1000. 0 only if `max_wait` is.
  std::uint32_t max_waiters = 1000;

  /// Whether an answer of the worker such as "too many requests" empties the
  /// bucket; default true. Decisions of layers and gates never do.
  bool drain_on_rejection = true;

  /// How long one answer can keep the bucket empty; 0 to unlimited, default
  /// 1min. A longer `retry_after` is capped at this.
  duration retry_after_cap = std::chrono::minutes(1);
};

/// Lists the fields of `c`.
void describe(field_visitor& v, limiter_config& c);

/// Checks that `rate` is at most one token per nanosecond, that calls that may
/// wait have places to wait in, and that no setting of another algorithm was
/// changed.
void check(const limiter_config& c, const setting_path& path, problems& out);

} // namespace caisson
