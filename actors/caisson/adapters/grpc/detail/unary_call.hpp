// One unary call of gRPC.
#pragma once

#include <caisson/adapters/grpc/client.hpp>
#include <caisson/caf/hooks.hpp>

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace caisson::detail {

/// Makes one unary call, as a stream with one message in each direction: only
/// of those does gRPC say whether anything was sent.
class grpc_unary_call {
public:
  enum class step : std::uint8_t { start, write, read, finish };

  /// What the queue of results has for each step.
  struct tag {
    grpc_unary_call* of;
    step what;
  };

  /// Prepares the call of a request without problems, with baggage if it fits
  /// in `room` bytes.
  grpc_unary_call(const grpc_client_config& c, const grpc_request& x,
                  const call_options& options, std::size_t room);

  grpc_unary_call(const grpc_unary_call&) = delete;
  grpc_unary_call& operator=(const grpc_unary_call&) = delete;

  /// Begins it; from now on `results` has tags of this object. Takes `from`
  /// unless it throws.
  void start(::grpc::GenericStub& stub, ::grpc::CompletionQueue& results,
             const grpc_request& x, portable::reply_to& from);

  /// A step is over; `ok` is what the queue says of it. Returns whether the
  /// call is over, and no more tags come.
  [[nodiscard]] bool advance(step what, bool ok);

  /// Asks for its end, from any thread. The tags come all the same.
  void cancel() { context_.TryCancel(); }

  [[nodiscard]] portable::reply_to& from() noexcept { return from_; }

  /// The answer, once it is over.
  [[nodiscard]] caf::message answer();

private:
  void begin_rest();
  void take_message(bool ok);
  [[nodiscard]] bool is_too_large() const;
  [[nodiscard]] grpc_response response();

  const grpc_client_config& config_;
  portable::reply_to from_;
  ::grpc::ClientContext context_;
  std::unique_ptr<::grpc::GenericClientAsyncReaderWriter> stream_;
  ::grpc::ByteBuffer sent_;
  ::grpc::ByteBuffer read_;
  // The message, and what comes after it.
  ::grpc::ByteBuffer message_;
  ::grpc::Status status_;
  tag tags_[4];
  // How many of them are still to come.
  int pending_ = 0;
  int messages_ = 0;
  bool was_sent_ = false;
};

} // namespace caisson::detail
