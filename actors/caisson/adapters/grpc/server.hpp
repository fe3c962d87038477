// Limits what a server of gRPC takes, in front of its handlers.
#pragma once

#include <caisson/adapters/grpc/status.hpp>
#include <caisson/gate/guard.hpp>

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace caisson {

/// The metadata from which a server takes options of calls; empty: none.
/// Whoever reaches the server can say them.
struct grpc_option_metadata {
  /// A number, the priority.
  std::string priority = {};
  /// The key, such as the user's name, up to `max_key_length` bytes.
  std::string key = {};
};

/// What a client says of its call: its trace (`traceparent`, `tracestate`), its
/// `baggage`, its idempotency key (`idempotency-key`), and by choice priority
/// and key. What is no such thing is left out. `time_left` is `unlimited`, or
/// negative if the client's deadline has passed, so that a permit is held until
/// the handler has ended: one that goes on after the deadline is work, too.
[[nodiscard]] call_options
grpc_options_of(const ::grpc::ServerContextBase& x,
                const grpc_option_metadata& names = {});

/// Admits a call before its handler, or refuses it, as `guard::admit`. If it
/// refuses it, the context gets the trailer `grpc-retry-pushback-ms` if it is
/// known when to come back, and the handler should end with `grpc_status_of`
/// the error.
[[nodiscard]] admission admit(guard& by, ::grpc::ServerContextBase& context,
                              const grpc_option_metadata& names = {});

/// Ends an admission with what the status of the call means.
void finish(admission& x, const ::grpc::Status& status) noexcept;

/// For handlers of synchronous services: calls `f`, which is the handler, if
/// the guard admits the call, holds its permit until `f` returns, and returns
/// its status. Otherwise `f` is not called, and the status is `grpc_status_of`
/// the error: RESOURCE_EXHAUSTED or UNAVAILABLE, with pushback. What `f` throws
/// goes on, and is a failure.
///
///     grpc::Status Get(grpc::ServerContext* context, …) override {
///       return caisson::limited(limits, *context, [&] { return get(…); });
///     }
template <class F>
  requires std::convertible_to<std::invoke_result_t<F&>, ::grpc::Status>
auto limited(guard& by, ::grpc::ServerContextBase& context, F f,
             const grpc_option_metadata& names = {}) -> ::grpc::Status {
  auto admitted = admit(by, context, names);
  if (!admitted)
    return grpc_status_of(admitted.error());
  try {
    ::grpc::Status status = f();
    finish(admitted, status);
    return status;
  } catch (...) {
    finish(admitted, {::grpc::StatusCode::UNKNOWN, "an exception"});
    throw;
  }
}

/// The end of a unary call of a service with callbacks. Copies are the same
/// call; thread-safe. Once the last one is destroyed without an answer, the
/// call has failed with INTERNAL.
class grpc_unary_end {
public:
  /// Made by `limited_unary`.
  explicit grpc_unary_end(std::function<void(::grpc::Status)> finish)
    : finish_(std::move(finish)) {}

  /// Answers the call; only the first time has an effect.
  void operator()(::grpc::Status status) const { finish_(std::move(status)); }

private:
  std::function<void(::grpc::Status)> finish_;
};

/// For unary handlers of services with callbacks: as `limited`, with a reactor
/// for the handler to return. `f` gets a `grpc_unary_end`, which it may call or
/// give to others. The permit is held until the call is over.
///
///     grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context, …)
///       override {
///       return caisson::limited_unary(limits, *context, [=](auto end) {
///         look_up(…, [=] { end(grpc::Status::OK); });
///       });
///     }
///
/// What `f` throws ends the call with UNKNOWN.
[[nodiscard]] ::grpc::ServerUnaryReactor*
limited_unary(guard& by, ::grpc::CallbackServerContext& context,
              const std::function<void(grpc_unary_end)>& f,
              const grpc_option_metadata& names = {});

} // namespace caisson
