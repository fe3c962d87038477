// Modes, commands and events of policies, as operators see them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace caisson {

/// Whether a policy acts on its decisions.
enum class mode : std::uint8_t {
  enforce, ///< Decide and act.
  observe, ///< Decide, count and send events, but let every call pass at once.
  off,     ///< Calls bypass the policy.
};

[[nodiscard]] std::string_view name_of(mode m) noexcept;

/// What a policy that may reject all calls says about the worker behind it.
enum class circuit : std::uint8_t {
  closed,    ///< Calls pass.
  half_open, ///< A few calls pass, to see whether the worker works again.
  open,      ///< No call passes.
};

/// The kind of an event.
enum class event_kind : std::uint8_t {
  /// `from` → `to`.
  state_changed,
  /// A call was rejected (or would have been, in observe mode).
  rejected,
  /// Another attempt was scheduled, after `delay`.
  retried,
  /// A result arrived after its call had been answered, or from an earlier
  /// epoch.
  late_result,
  /// The worker died, was restarted, or was given up.
  worker_changed,
  /// A batch was sent.
  flushed,
  /// An alternative answered in place of the worker.
  fell_back,
  /// A deadline passed.
  expired,
  /// A lease ended without `release`.
  lease_ended,
  /// The configuration or an operator state changed.
  reconfigured,
  /// A user function threw; `detail` names the function and the exception.
  callback_failed,
  /// A fault was injected on purpose; `detail` is its kind.
  injected,
  /// Two workers answered the same call differently; `detail` says in what.
  differed,
  /// An acknowledged write was given up; `detail` says after which error.
  write_lost,
  /// A call that waited for permits or tokens has them; `delay` is how long it
  /// waited.
  granted,
  /// An attempt at a traced call has its outcome, `to`, after `delay`.
  attempt_ended,
  /// A traced call has its outcome, `to`, after `delay`.
  call_ended,
  /// A call began to wait; `detail` says how many run and how many wait. Only
  /// if the gate's `emit_waits` is set.
  waiting,
  /// The limit that a policy learns has changed much, `from` → `to`: the time
  /// limit of a deadline, the number of calls of an adaptive limit.
  limit_changed,
  /// The gate ends because an invariant was violated; `detail` says which.
  gate_failed,
};

inline constexpr std::uint8_t last_event_kind = 19; ///< For loops.

[[nodiscard]] std::string_view name_of(event_kind kind) noexcept;

/// An operator's command to a policy.
enum class operator_command : std::uint8_t {
  /// Reject every call until another command, or for a time (breakers only).
  force_open,
  /// Let every call pass until another command, or for a time (breakers only).
  force_closed,
  /// Act as with `mode::off`.
  off,
  /// Back to the configured mode and to automatic states.
  enable,
  /// Act as with `mode::observe`.
  observe,
  /// Clear the history: counters to zero, state as after the start. Operator
  /// overrides, held calls and permits stay.
  reset,
};

inline constexpr std::uint8_t last_operator_command = 5; ///< For loops.

[[nodiscard]] std::string_view name_of(operator_command c) noexcept;

/// The command with that name, if there is one.
[[nodiscard]] std::optional<operator_command>
operator_command_named(std::string_view name) noexcept;

} // namespace caisson
