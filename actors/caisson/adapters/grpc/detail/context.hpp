// Puts what layers know of a call into the context of gRPC.
#pragma once

#include <caisson/adapters/grpc/messages.hpp>

#include <grpcpp/client_context.h>

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

/// Adds the metadata of a request, and of the options the trace, the
/// idempotency key, and by choice priority and key. The options say these, but
/// for an idempotency key that the request has itself.
void add_metadata(::grpc::ClientContext& to, const grpc_metadata& own,
                  const call_options& options, const option_names& names);

} // namespace caisson::detail
