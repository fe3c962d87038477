// The response of a front to a call that has failed.
#pragma once

#include <caisson/adapters/http/messages.hpp>
#include <caisson/caf/caf.hpp>

namespace caisson {

/// The response that reports an error of a gate or a worker to a client:
///
/// | error | status |
/// | --- | --- |
/// | `rate_limited` | 429 |
/// | `deadline_exceeded`, `transport_errc::timed_out` | 504 |
/// | `transport_errc::lost`, `garbled`, `too_large` | 502 |
/// | `batch_failed`, `callback_failed`, `call_loop`, `invalid_config`,
/// `no_such_permit`, `injected`, `transport_errc::bad_request`, errors of other
/// kinds | 500 |
/// | all others | 503 |
///
/// 429 and 503 have `Retry-After` in whole seconds, rounded up: what the error
/// says, or else `retry_after`. None has it if the error says that it makes no
/// sense to come back, or if `retry_after` is zero. The body is the error's
/// name alone: what goes on behind the front is nobody's business.
[[nodiscard]] http_response http_error(const caf::error& x,
                                       duration retry_after = duration::zero());

} // namespace caisson
