// Why a policy answered instead of the worker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace caisson {

/// Caisson's error codes. 0 means "no error" to CAF, so codes start at 1.
enum class errc : std::uint8_t {
  /// A breaker refuses calls. Comes with the time until the next probe.
  breaker_open = 1,
  /// A bounded queue is full: at a semaphore, a limiter, a batcher, or in front
  /// of a worker that is being restarted.
  queue_full,
  /// A call waited for its permit or its turn as long as it was allowed to. If
  /// the call's own deadline came first it is `deadline_exceeded` instead.
  wait_timeout,
  /// A limiter has no token, and the caller does not want to wait that long.
  rate_limited,
  /// The call's deadline, or that of one attempt, has passed.
  deadline_exceeded,
  /// The call was taken back: its gate stopped, or its caller gave up.
  cancelled,
  /// The worker is dead, was never there, or died with the call in its hands.
  worker_down,
  /// A retry or hedge was wanted, but the budget for them is spent.
  budget_exhausted,
  /// Dropped to protect the service from overload; do not retry.
  shed,
  /// A batch gave no result for this item.
  batch_failed,
  /// `release` names a permit that is not held (any more).
  no_such_permit,
  /// A configuration or control message is refused; nothing has changed.
  invalid_config,
  /// The gate takes no new work because it is being drained.
  draining,
  /// A function of the user's threw while it worked on this call; the text of
  /// the context says which, and what it threw.
  callback_failed,
  /// The call came to a gate that it had passed before, or has passed too many
  /// gates.
  call_loop,
};

/// The number of the last enumerator.
inline constexpr std::uint8_t last_errc = 15;

/// The enumerator's name, such as `breaker_open`; `unknown` for other values.
[[nodiscard]] std::string_view name_of(errc code) noexcept;

/// Inverse of `name_of`.
[[nodiscard]] std::optional<errc> errc_named(std::string_view name) noexcept;

/// Whether `code` says that a policy turned the call away before any work was
/// done for it, so that trying again (elsewhere, or later) is safe.
[[nodiscard]] bool is_rejection(errc code) noexcept;

/// Found by CAF through argument-dependent lookup.
std::string to_string(errc code);

} // namespace caisson
