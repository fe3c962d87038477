// The name by which gRPC finds a server.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace caisson::detail {

/// `dns:///host:port` or `unix:///path` of `host:port` or `unix:/path`. Nothing
/// for any other text.
[[nodiscard]] std::optional<std::string> grpc_target_of(std::string_view text);

} // namespace caisson::detail
