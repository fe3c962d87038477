// Checks of what policies answer, on which an engine relies.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/policy/decision.hpp>

namespace caisson::detail {

/// Policies reject with one of the codes, and never ask for a time that is
/// over.
inline void check_reject(errc code, duration retry_after) {
  auto number = static_cast<std::uint8_t>(code);
  CAISSON_ENSURE(number >= 1 && number <= last_errc,
                 "a policy rejects with code {}", number);
  CAISSON_ENSURE(retry_after >= duration::zero(),
                 "a policy asks to retry after {}", retry_after);
}

/// What a policy has decided is one of the three.
inline void check_decision(const decision& d) {
  CAISSON_ENSURE(d.what <= decision::kind::hold, "a policy decides {}", d.what);
  if (d.what == decision::kind::reject)
    check_reject(d.code, d.retry_after);
}

} // namespace caisson::detail
