// Guards calls that the stubs of gRPC make in blocking code.
#pragma once

#include <caisson/adapters/grpc/status.hpp>
#include <caisson/gate/guard.hpp>

#include <grpcpp/client_context.h>

#include <concepts>
#include <exception>
#include <utility>

namespace caisson {

/// Gives the context of an attempt what the guard knows: the deadline, the
/// trace as `traceparent` and `tracestate`, the idempotency key as
/// `idempotency-key`, and the baggage unless all that is more than the 8192
/// bytes that servers take: metadata that the application adds comes on top.
void prepare(::grpc::ClientContext& to, const attempt& from);

/// Makes a call of a stub in a guard, as often as the layers say, each time
/// with a new context that has the attempt's deadline:
///
///     shop::Price price;
///     auto status = caisson::guarded(prices, [&](grpc::ClientContext& context)
///       { return stub->Get(&context, request, &price); });
///
/// Returns the status of the last attempt, or `grpc_status_of` the error if a
/// layer has ended the call. `f` gets a context without metadata of the
/// application's, which it may add. If it throws, that is a failure, and thrown
/// again unless a later attempt succeeds. Blocks.
template <class F>
  requires std::convertible_to<std::invoke_result_t<F&, ::grpc::ClientContext&>,
                               ::grpc::Status>
auto guarded(guard& by, F f, call_options options = {}) -> ::grpc::Status {
  auto done = by.run(
    [&](const attempt& a) {
      ::grpc::ClientContext context;
      prepare(context, a);
      ::grpc::Status status = f(context);
      if (!status.ok()) {
        auto info = grpc_meaning_of(status, context);
        throw grpc_status_error{std::move(status), info};
      }
    },
    std::move(options));
  if (done)
    return ::grpc::Status::OK;
  if (!done.exception())
    return grpc_status_of(done.error());
  try {
    std::rethrow_exception(done.exception());
  } catch (const grpc_status_error& e) {
    return e.status();
  }
}

} // namespace caisson
