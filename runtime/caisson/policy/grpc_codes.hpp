// The names of gRPC's codes.
#pragma once

#include <string_view>

namespace caisson::detail {

/// By number, in lower case.
inline constexpr std::string_view grpc_names[] = {
  "ok",
  "cancelled",
  "unknown",
  "invalid_argument",
  "deadline_exceeded",
  "not_found",
  "already_exists",
  "permission_denied",
  "resource_exhausted",
  "failed_precondition",
  "aborted",
  "out_of_range",
  "unimplemented",
  "internal",
  "unavailable",
  "data_loss",
  "unauthenticated",
};

} // namespace caisson::detail
