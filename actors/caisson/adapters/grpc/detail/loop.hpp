// The thread that takes the results of all calls of a gRPC worker.
#pragma once

#include <caisson/adapters/grpc/client.hpp>
#include <caisson/adapters/grpc/detail/unary_call.hpp>
#include <caisson/caf/hooks.hpp>

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

namespace caisson::detail {

/// An address that takes requests with a `call`, and answers each one once its
/// call of gRPC is over. The channel and the thread begin with the first
/// request, and end with `stop`.
class grpc_loop final : public portable::relay {
public:
  grpc_loop(caf::actor_config& cfg, const grpc_client_config& c);

  grpc_loop(const grpc_loop&) = delete;
  grpc_loop& operator=(const grpc_loop&) = delete;

  /// The request with that number needs no answer any more: its call is
  /// cancelled, and it is answered soon.
  void cancel(std::uint64_t number);

  /// Cancels all calls, answers no request any more, closes the connection, and
  /// waits for the thread.
  void stop();

protected:
  bool receive(caf::mailbox_element_ptr what,
               portable::run_context* on) override;

private:
  using call_ptr = std::unique_ptr<grpc_unary_call>;

  bool start();
  std::optional<caf::message> begin(call what, portable::reply_to& from);
  void shut_down_if_over();
  void run();
  void finish(grpc_unary_call& ended);

  const grpc_client_config config_;
  // Empty: there was no request yet, or it has ended.
  std::unique_ptr<::grpc::GenericStub> stub_;
  std::unique_ptr<::grpc::CompletionQueue> results_;

  // Guards what follows, and that no call begins once the queue is shut down.
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, call_ptr> running_;
  bool stopped_ = false;

  std::thread thread_;
  bool ended_ = false;
};

} // namespace caisson::detail
