// The size of the heads of requests.
#pragma once

#include <caisson/adapters/http/messages.hpp>

#include <cstddef>
#include <string_view>

namespace caisson::detail {

/// Of a request and of the trailers of a response, in bytes.
inline constexpr std::size_t largest_head = std::size_t{60} << 10;

[[nodiscard]] inline std::size_t head_size(const http_request& x) noexcept {
  auto out = x.method.size() + x.target.size();
  for (const auto& [name, value] : x.headers)
    out += name.size() + value.size() + 4;
  return out;
}

/// Whether libcurl can send these by HTTP/2. It fails with more only once the
/// connection is there, as if the request had been sent.
[[nodiscard]] inline bool fits_in_http2(std::string_view method,
                                        std::string_view target,
                                        const http_headers& all) noexcept {
  constexpr std::size_t most = std::size_t{63} << 10;
  constexpr std::size_t around_each = 12;
  auto size = method.size() + target.size();
  for (const auto& [name, value] : all)
    size += name.size() + value.size() + around_each;
  return size <= most;
}

} // namespace caisson::detail
