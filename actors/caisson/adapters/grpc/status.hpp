// Translates between statuses of gRPC and what policies know.
#pragma once

#include <caisson/caf/error.hpp>
#include <caisson/engine/answers.hpp>
#include <caisson/gate/admission.hpp>
#include <caisson/gate/guard.hpp>

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <optional>
#include <string>
#include <utility>

namespace caisson {

/// A call of gRPC has failed: a function that a guard calls throws it, so that
/// layers know what that means.
class grpc_status_error : public attempt_error {
public:
  /// @pre !status.ok()
  grpc_status_error(::grpc::Status status, answer_info info);

  /// The status.
  [[nodiscard]] const ::grpc::Status& status() const noexcept {
    return status_;
  }

private:
  ::grpc::Status status_;
};

/// What a status means: docs/answers.md, with the trailer
/// `grpc-retry-pushback-ms` if there is one.
[[nodiscard]] answer_info
grpc_meaning_of(const ::grpc::Status& x,
                const std::optional<std::string>& pushback = std::nullopt);

/// The same, with the trailer of the context. @pre the call is over
[[nodiscard]] answer_info grpc_meaning_of(const ::grpc::Status& x,
                                          const ::grpc::ClientContext& of);

/// The status of a call that a policy has refused or ended:
///
/// | error | status |
/// | --- | --- |
/// | `rate_limited`, `queue_full`, `wait_timeout`, `shed`, `throttled` |
/// RESOURCE_EXHAUSTED |
/// | `deadline_exceeded`, `transport_errc::timed_out` | DEADLINE_EXCEEDED |
/// | `callback_failed`, `call_loop`, `invalid_config`, `internal_error`,
/// `batch_failed`, `no_such_permit`, `injected`, and errors of other kinds |
/// INTERNAL |
/// | all others, such as `breaker_open` | UNAVAILABLE |
///
/// Its text is the error's name alone: what is behind is nobody's business.
[[nodiscard]] ::grpc::Status grpc_status_of(const caf::error& x);

/// The value of `grpc-retry-pushback-ms` that says when to come back: whole
/// milliseconds, rounded up; `-1` for never; nothing if `after` is zero.
[[nodiscard]] std::optional<std::string> grpc_pushback_of(duration after);

} // namespace caisson
