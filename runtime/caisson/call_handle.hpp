// The two handles of a gate: for those who may call it, and for those who may
// also operate it.
#pragma once

#include <caisson/caf.hpp>

#include <utility>

namespace caisson {

class control_handle;

/// An address of a gate for calls only: what is published to other nodes.
///
/// Calls of any type, `call`, `acquire`, `release`, `cancelled` and requests
/// for the status pass to the gate as if they had been sent there, and are
/// answered as always. Nothing else does: `reconfigure`, `command`,
/// `subscribe`, `unsubscribe` and `drain`, the messages between a gate and its
/// helpers, exit messages and the other messages of CAF's own, and answers that
/// nobody asked for have no effect. A request among them is answered with
/// `errc::invalid_config`.
///
/// The address keeps the gate alive, and is down for those who watch it once
/// the gate has ended. It is another one for each handle that is made; the call
/// handle of a call handle is that handle itself, that of a null handle is
/// null.
///
/// In front of an actor that is no gate it keeps away the same messages, but
/// such an actor answers in its own name, by which a node that it has answered
/// can address it.
///
/// A `caf::actor` that can be used like any other. Safe to make and to use from
/// any thread.
class call_handle : public caf::actor {
public:
  call_handle() = default;
  explicit call_handle(const caf::actor& gate);
  call_handle(const control_handle& gate);
};

/// A gate for those who may do everything with it: call it, and also operate
/// and end it. What `spawn_gate` returns.
///
/// A `caf::actor` that can be used like any other; that this is all of the gate
/// and not only its front is what the type says, to people and to `publish`.
class control_handle : public caf::actor {
public:
  control_handle() = default;
  explicit control_handle(caf::actor gate) : caf::actor(std::move(gate)) {}

  /// The gate for those who may only call it.
  [[nodiscard]] call_handle calls() const { return call_handle{*this}; }
};

inline call_handle::call_handle(const control_handle& gate)
  : call_handle(static_cast<const caf::actor&>(gate)) {}

namespace detail {

/// The actor to which a call handle passes calls; any other actor itself.
caf::actor behind_call_handle(const caf::actor& x);

} // namespace detail

} // namespace caisson
