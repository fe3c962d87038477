// A request to an HTTP server and its response, over a kept connection.
#pragma once

#include <caisson/adapters/http/parser.hpp>
#include <ctl/stream.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace caisson::ctl {

using detail::http_limits;
using detail::http_parser;

/// Used by one thread.
class http_exchange {
public:
  /// `limits` are those of a response.
  http_exchange(interruption& signal, const http_limits& limits)
    : stream_(signal), parser_(http_parser::kind::response, limits) {}

  /// Connects if necessary, which may take `patience` for each address of the
  /// host, sends the request and waits for the response until `until`.
  /// `to_head`: the method is HEAD. Returns whether a whole response has come,
  /// which `response` then has.
  bool run(const std::string& host, std::uint16_t port, duration patience,
           time_point until, std::string_view head, std::string_view body,
           bool to_head = false);

  void close() noexcept { stream_.close(); }

  [[nodiscard]] http_parser& response() noexcept { return parser_; }
  [[nodiscard]] const http_parser& response() const noexcept { return parser_; }
  /// Whether what has come is no valid response, or too large.
  [[nodiscard]] bool is_garbled() const noexcept {
    return parser_.at() == http_parser::stage::failed;
  }
  /// Why nothing has come, or not all of it.
  [[nodiscard]] http_stream::failure why() const noexcept {
    return stream_.why();
  }
  /// Whether the server has certainly got nothing of the request.
  [[nodiscard]] bool is_unsent() const noexcept {
    return stream_.written() == 0;
  }

private:
  bool converse(std::string_view head, std::string_view body);
  bool send(std::string_view bytes);
  [[nodiscard]] bool is_over() const noexcept;
  bool take();

  http_stream stream_;
  http_parser parser_;
};

} // namespace caisson::ctl
