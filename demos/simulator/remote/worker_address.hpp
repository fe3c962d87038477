// Address on which a worker listens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace caisson::sim {

struct worker_address {
  std::string host;
  std::uint16_t port = 0;

  /// `host:port`, or `[::1]:4711`.
  [[nodiscard]] std::string text() const;

  /// Whether it cannot be reached from another machine.
  [[nodiscard]] bool is_loopback() const;

  friend bool operator==(const worker_address&, const worker_address&)
    = default;
};

/// Reads `HOST:PORT` with a port of 0 to 65535; an IPv6 address is in brackets.
/// Nothing if the text is not like that.
[[nodiscard]] std::optional<worker_address>
read_worker_address(std::string_view text);

} // namespace caisson::sim
