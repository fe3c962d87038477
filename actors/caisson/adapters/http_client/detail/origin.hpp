// A server as a URL names it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace caisson::detail {

struct http_origin {
  bool tls = false;
  /// In lower case; an address of IPv6 in brackets.
  std::string host = {};
  std::uint16_t port = 0;

  /// Such as `https://catalog:8443`, without the port that the scheme implies.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const http_origin&, const http_origin&) = default;
};

struct http_url {
  http_origin origin = {};
  /// The path and the query; at least `/`.
  std::string target = "/";

  [[nodiscard]] std::string text() const { return origin.text() + target; }
};

/// Nothing unless it is a URL of HTTP or HTTPS with a host, and without a user.
[[nodiscard]] std::optional<http_url> http_url_of(const std::string& text);

/// What a reference means in a response to `base`, such as that of `Location`.
/// A fragment is left out.
[[nodiscard]] std::optional<http_url> http_url_of(const http_url& base,
                                                  const std::string& reference);

/// Whether it is the URL of a proxy, `http://host:port`, perhaps with a user
/// and a password.
[[nodiscard]] bool is_proxy_url(const std::string& text);

} // namespace caisson::detail
