// Answers of a transfer that has got no response.
#pragma once

#include <caisson/adapters/http/parser.hpp>
#include <caisson/caf/caf.hpp>

#include <curl/curl.h>

#include <string_view>

namespace caisson::detail {

/// How far a transfer has come.
struct transfer_progress {
  /// Whether the server has certainly got nothing of the request.
  bool unsent = false;
  /// Whether it has got an earlier one, which was redirected.
  bool earlier_sent = false;
  bool connected = false;
  /// What libcurl says; may be empty.
  std::string_view text = {};
};

/// The transfer has failed, as `code` and the parser of the response say.
[[nodiscard]] caf::message failure_of(CURLcode code, const http_parser& parser,
                                      const transfer_progress& x);

/// It is called off, because it is `due` or not wanted any more.
[[nodiscard]] caf::message called_off(const transfer_progress& x, bool is_due);

} // namespace caisson::detail
