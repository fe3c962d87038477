// Error codes of gates and policies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace caisson {

/// Caisson's error codes. 0 means "no error" to CAF, so codes start at 1.
enum class errc : std::uint8_t {
  /// A breaker refuses calls. `retry_after`: until it may let one through.
  breaker_open = 1,
  /// A bounded queue is full: at a semaphore, a limiter, a batcher, or in front
  /// of a restarting worker.
  queue_full,
  /// A call waited for its permit or turn as long as allowed. If the call's own
  /// deadline passes first, the error is `deadline_exceeded`.
  wait_timeout,
  /// A limiter has too few tokens, or a cool-down keeps calls away.
  rate_limited,
  /// The call's deadline, or that of one attempt, has passed.
  deadline_exceeded,
  /// The call was cancelled: its gate stopped, or its caller gave up.
  cancelled,
  /// The worker is dead, missing, or died with the call in flight.
  worker_down,
  /// Not used yet: a retrier without budget answers with the last outcome.
  budget_exhausted,
  /// Dropped to protect the service from overload; do not retry.
  shed,
  /// A batch gave no result for this item.
  batch_failed,
  /// `release` or `renew` names a permit that is not held, or `renew` does not
  /// come from its holder.
  no_such_permit,
  /// A configuration or control message was refused; nothing has changed.
  invalid_config,
  /// The gate is draining and accepts no new work.
  draining,
  /// A user function threw while handling this call. The text of the context
  /// names the function and the exception.
  callback_failed,
  /// The call reached a gate that it had passed before, or passed too many
  /// gates.
  call_loop,
  /// A chaos layer made the call fail on purpose.
  injected,
  /// The call needs a feature that is switched off at present.
  feature_off,
  /// The gate has ended because an invariant of its own, or of one of its
  /// policies, was violated: a mistake in the code.
  internal_error,
  /// A throttle holds the call back, since too many have not been accepted.
  /// Do not retry: that would undo what it does.
  throttled,
};

/// The number of the last enumerator.
inline constexpr std::uint8_t last_errc = 19;

/// The enumerator's name, such as `breaker_open`; `unknown` for other values.
[[nodiscard]] std::string_view name_of(errc code) noexcept;

/// Inverse of `name_of`.
[[nodiscard]] std::optional<errc> errc_named(std::string_view name) noexcept;

/// Whether `code` means that a policy rejected the call before any work was
/// done for it, so that a retry (elsewhere or later) is safe.
[[nodiscard]] bool is_rejection(errc code) noexcept;

/// Found by CAF through argument-dependent lookup.
std::string to_string(errc code);

} // namespace caisson
