// The two handles of a gate: one for calls only, and one with full control.
#pragma once

#include <caisson/caf/caf.hpp>

#include <utility>

namespace caisson {

class control_handle;

/// An address of a gate for calls only. This is what other nodes get.
///
/// Calls of any type, `call`, `acquire`, `release`, `renew`, `cancelled` and
/// requests for the status pass to the gate as if sent there, and are answered
/// as usual. All other messages have no effect: `reconfigure`, `command`,
/// `subscribe`, `unsubscribe` and `drain`, the messages between a gate and its
/// helpers, exit messages and CAF's other own messages, and unsolicited
/// answers. A request among them is answered with `errc::invalid_config`.
///
/// The address keeps the gate alive. It goes down, for actors that monitor it,
/// when the gate ends. Each new handle has a new address. The call handle of a
/// call handle is that handle itself, and that of a null handle is null.
///
/// It blocks the same messages in front of an actor other than a gate. But such
/// an actor answers in its own name, so a node that gets an answer can address
/// the actor directly.
///
/// Can be used like any other `caf::actor`. Safe to create and use from any
/// thread.
class call_handle : public caf::actor {
public:
  call_handle() = default;
  /// A new address of `gate`; `gate` itself if it is null or a call handle.
  explicit call_handle(const caf::actor& gate);
  /// A new address of `gate`. Implicit, so that a control handle can be passed
  /// to what only makes calls.
  call_handle(const control_handle& gate);
};

/// A gate with full control: to call, operate and stop it. `spawn_gate` returns
/// it.
///
/// Can be used like any other `caf::actor`. The type shows readers and
/// `publish` that this is more than a call handle.
class control_handle : public caf::actor {
public:
  control_handle() = default;
  /// Takes `gate` as it is: null and call handles are not refused.
  explicit control_handle(caf::actor gate) : caf::actor(std::move(gate)) {}

  /// A handle of the gate for calls only.
  [[nodiscard]] call_handle calls() const { return call_handle{*this}; }
};

inline call_handle::call_handle(const control_handle& gate)
  : call_handle(static_cast<const caf::actor&>(gate)) {}

namespace detail {

/// The actor behind a call handle; any other actor itself.
caf::actor behind_call_handle(const caf::actor& x);

} // namespace detail

} // namespace caisson
