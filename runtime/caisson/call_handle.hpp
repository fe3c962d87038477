// The address of a gate for those who may call it and may not operate it.
#pragma once

#include <caisson/caf.hpp>

namespace caisson {

/// An address of `gate` for calls only: what is published to other nodes.
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
/// the gate has ended. It is another one each time; the call handle of a call
/// handle is that handle itself, that of a null handle is null.
///
/// In front of an actor that is no gate it keeps away the same messages, but
/// such an actor answers in its own name, by which a node that it has answered
/// can address it.
///
/// Safe to call from any thread.
caf::actor call_handle(const caf::actor& gate);

namespace detail {

/// The actor to which a call handle passes calls; any other actor itself.
caf::actor behind_call_handle(const caf::actor& x);

} // namespace detail

} // namespace caisson
