// Guards all calls of a channel, streams among them, as an interceptor of gRPC.
#pragma once

#include <caisson/gate/guard.hpp>

#include <grpcpp/support/client_interceptor.h>

#include <memory>

namespace caisson {

/// Puts each call of a channel into `by`, from when it begins until its status
/// is read: it is admitted, or fails at once.
///
///     auto limits = std::make_shared<caisson::guard>(
///       caisson::stack{"prices"}.breaker().semaphore({.permits = 100}));
///     grpc_client_interceptors all;
///     all.push_back(grpc_interceptor(limits));
///     auto stub = shop::Prices::NewStub(grpc_channel(config, std::move(all)));
///
/// - One that is refused sends nothing. Its status is `grpc_status_of` the
///   error, with the trailer `grpc-retry-pushback-ms` if it is known when to
///   come back.
/// - Its status counts as docs/answers.md says, so that a stream that breaks is
///   a failure for a breaker. One whose status nobody reads before its context
///   is destroyed says nothing.
/// - The deadline of the context is that of the call for the layers; without
///   one there is none but those of deadline layers. If one of these is
///   earlier, the call is cancelled then, and its status DEADLINE_EXCEEDED.
/// - Nothing waits, and nothing is repeated: `guard::admit`.
///
/// `by` must not be null. Any number of channels may share it.
[[nodiscard]] std::unique_ptr<
  ::grpc::experimental::ClientInterceptorFactoryInterface>
grpc_interceptor(std::shared_ptr<guard> by);

} // namespace caisson
