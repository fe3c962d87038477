// The answer of a guard to work that it does not run.
#pragma once

#include <caisson/caf/messages.hpp>
#include <caisson/gate/result.hpp>

#include <cstdint>

namespace caisson::detail {

/// A call whose work the guard knows nothing of.
struct opened_call {
  /// Hands it back; null if the call was refused.
  std::uint64_t token = 0;
  /// What is known of it, if it was not.
  call_options options = {};
  /// Why it was refused.
  call_end refused = {};
};

} // namespace caisson::detail
