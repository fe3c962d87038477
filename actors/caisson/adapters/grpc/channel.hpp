// Makes a channel to a gRPC server, for generated stubs.
#pragma once

#include <caisson/adapters/grpc/client.hpp>

#include <grpcpp/channel.h>
#include <grpcpp/support/client_interceptor.h>

#include <memory>
#include <vector>

namespace caisson {

/// The interceptors of a channel, in the order in which calls pass them.
using grpc_client_interceptors = std::vector<
  std::unique_ptr<::grpc::experimental::ClientInterceptorFactoryInterface>>;

/// A channel with the settings of `c` that concern connections, messages, TLS
/// and retries. `wait_for_ready`, `max_in_progress`, `max_waiting`, `max_time`
/// and the names of metadata are of workers. Connects with the first call.
/// Throws `config_error` if `c` is not valid.
///
/// gRPC repeats nothing on it, unless `channel_retries` says so.
[[nodiscard]] std::shared_ptr<::grpc::Channel>
grpc_channel(const grpc_client_config& c,
             grpc_client_interceptors interceptors = {});

} // namespace caisson
