// How a call ended, as policies see it, and what they make of it.
#pragma once

#include <caisson/detail/hash.hpp>
#include <caisson/errc.hpp>
#include <caisson/time.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

class env;

/// How an attempt ended. The reply itself stays with the gate; `reply` points
/// to it for classifiers that judge by value (see `value_of` in error.hpp).
struct outcome {
  /// Whether the worker answered with a value.
  bool ok = true;

  /// Whether the error is one of caisson's; then `code` is an `errc`.
  bool own_error = false;

  /// Whether the worker may have seen the call. False only if that is certain:
  /// a policy turned the call away, or there was no worker to send it to.
  bool reached = true;

  /// Whether this is what a worker itself answered, not the decision of a layer
  /// or of a gate.
  bool from_worker = false;

  /// The error's code within its category; 0 if `ok`.
  std::uint8_t code = 0;

  /// Hash (`category_hash`) of the name of the error's category; 0 if `ok`.
  std::uint64_t category = 0;

  /// Do not try again earlier than this; zero if nothing was said.
  duration retry_after = duration::zero();

  /// The reply, a `caf::message`, or null if there is none.
  const void* reply = nullptr;

  /// Whether this is the caisson error `x`.
  [[nodiscard]] bool is(errc x) const noexcept {
    return own_error && code == static_cast<std::uint8_t>(x);
  }

  static outcome success() noexcept { return {}; }

  static outcome failure(errc code, bool reached,
                         duration retry_after = duration::zero()) noexcept;
};

/// The hash of a category's name, so that outcomes carry no strings.
[[nodiscard]] constexpr std::uint64_t
category_hash(std::string_view name) noexcept {
  return detail::fnv1a(name);
}

inline constexpr std::uint64_t caisson_category = category_hash("caisson");

/// What a policy makes of an outcome.
enum class verdict : std::uint8_t {
  /// The worker did its job.
  success,
  /// It did not, and trying again would not help.
  failure,
  /// It did not, but may the next time: a failure to a breaker, worth another
  /// attempt to a retrier.
  transient,
  /// Says nothing about the worker: neither success nor failure, no retry.
  neutral,
  /// Turned away before any work: says nothing about the worker (a breaker
  /// takes it as neutral), and a retrier may try again, not before
  /// `retry_after`.
  refused,
};

/// What it means for an error to be on one of a classifier's lists.
struct list_meaning {
  /// Named by `allow`.
  verdict allowed;
  /// Not named by `allow`, which is not empty.
  verdict other;
  /// Named by `deny`.
  verdict denied;
};

/// For retriers: errors allowed are retried, all others are final.
inline constexpr list_meaning retry_lists{verdict::transient, verdict::failure,
                                          verdict::failure};

/// For breakers and fallbacks: errors allowed count, all others are ignored.
inline constexpr list_meaning count_lists{verdict::transient, verdict::neutral,
                                          verdict::neutral};

/// Decides what an outcome means. Rules are tried in order: the function, the
/// deny list, the allow list, the default table.
class classifier {
public:
  using function = std::function<verdict(const outcome&)>;

  /// The default table:
  /// | outcome | verdict |
  /// | --- | --- |
  /// | a value | success |
  /// | `breaker_open`, `queue_full`, `wait_timeout`, `rate_limited` | refused |
  /// | `deadline_exceeded`, `worker_down`, `batch_failed` | transient if the
  /// worker may have been reached, else refused |
  /// | `shed`, `draining`, `cancelled`, `budget_exhausted`, `no_such_permit`,
  /// `invalid_config`, `callback_failed`, `call_loop` | neutral |
  /// | CAF's `unexpected_message` (the worker has no handler) | failure |
  /// | any other error | transient |
  [[nodiscard]] static verdict standard(const outcome& o) noexcept;

  /// Names of errors; empty: no such rule. A name is one of caisson's
  /// (`deadline_exceeded`), `<category>:<code>` with the code as a number
  /// (`app:3`), or `<category>:*`. CAF's own category is `system_error`.
  std::vector<std::string> allow = {};

  /// As `allow`; wins over it.
  std::vector<std::string> deny = {};

  /// Asked first about every outcome, if set. May throw; see `judge`.
  function by_value = {};

  /// The verdict on `o`. A `by_value` that throws has none: the verdict is
  /// neutral, and the host is told.
  [[nodiscard]] verdict judge(const outcome& o, const list_meaning& lists,
                              env& host) const;

  /// What is wrong with `names`, as one sentence; empty if nothing is.
  [[nodiscard]] static std::string
  problem_with(const std::vector<std::string>& names);
};

} // namespace caisson
