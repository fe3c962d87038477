// Access to messages that policies hold as opaque pointers.
#pragma once

#include <caisson/caf/caf.hpp>

namespace caisson::detail {

/// The message behind a pointer that came through a policy.
inline const caf::message& message_at(const void* x) {
  return *static_cast<const caf::message*>(x);
}

} // namespace caisson::detail
