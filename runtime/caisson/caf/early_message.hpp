// Makes messages before any actor system or config exists.
#pragma once

#include <caisson/caf/caf.hpp>

#include <utility>

namespace caisson {

/// Registers CAF's own types and Caisson's with CAF 1.x. Does nothing on 0.17,
/// or a second time. Call it before any actor system exists.
void init_types();

namespace detail {

/// The message `xs...`, for objects that may be created before any config, such
/// as a stack: CAF 1.x creates no message, not even of an integer, before types
/// are registered.
template <class... Ts>
caf::message make_early(Ts&&... xs) {
  init_types();
  return caf::make_message(std::forward<Ts>(xs)...);
}

} // namespace detail

} // namespace caisson
