// Reports how an actor has ended.
#pragma once

#include <caisson/caf/hooks.hpp>

#include <memory>
#include <optional>

namespace caisson::portable {

/// Whether an actor that has ended with `why` was meant to: it has quit without
/// an error, or somebody has asked it to.
inline bool is_normal_exit(const caf::error& why) {
  return !why || why == caf::exit_reason::user_shutdown;
}

/// Why the actor has ended; nothing if it has not, or is still about to.
inline std::optional<caf::error> exit_reason_of(const caf::actor& x) {
  if (!x->getf(caf::abstract_actor::is_terminated_flag))
    return std::nullopt;
  // CAF has no question for it, but calls at once what is attached too late.
  auto why = std::make_shared<std::optional<caf::error>>();
  x->attach_functor([why](const caf::error& e) { *why = e; });
  return *why;
}

/// Kills the actor before it handles anything else that waits in its mailbox.
inline void kill(const caf::actor& x) {
  relay::send_on(
    x, nullptr, caf::make_message_id(caf::message_priority::high),
    caf::make_message(caf::exit_msg{x->address(), caf::exit_reason::kill}),
    nullptr);
}

} // namespace caisson::portable
