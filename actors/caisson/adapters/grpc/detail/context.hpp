// Puts what layers know of a call into the context of gRPC.
#pragma once

#include <caisson/adapters/grpc/messages.hpp>

#include <grpcpp/client_context.h>

#include <cstddef>
#include <string>

namespace caisson::detail {

/// The instant by the monotonic clock, which no change of the time of day
/// moves; nothing is set for `never`.
void set_deadline(::grpc::ClientContext& to, time_point until);

/// Names of metadata for options of calls; empty: none.
struct option_names {
  const std::string& priority;
  const std::string& key;
};

/// How large the metadata is, as HTTP/2 counts it: names, values and 32 more
/// for each; without baggage, and with what gRPC adds itself.
[[nodiscard]] std::size_t size_of_metadata(const grpc_request& x,
                                           const call_options& options);

/// Adds the metadata of a request, and of the options the trace, the
/// idempotency key, by choice priority and key, and baggage if it takes at most
/// `room` bytes, counted like the others. The options say these, but for an
/// idempotency key that the request has itself.
void add_metadata(::grpc::ClientContext& to, const grpc_metadata& own,
                  const call_options& options, const option_names& names,
                  std::size_t room);

} // namespace caisson::detail
