// Requests and responses of cpp-httplib's server, and those of messages.
#pragma once

#include <caisson/http/messages.hpp>

#include <httplib.h>

namespace caisson::detail {

/// The status that refuses a request before its body is read; 0: none.
[[nodiscard]] int refusal_of(const httplib::Request& x);

/// The request as a message: with names in lower case, and without what
/// concerns the connection.
[[nodiscard]] http_request request_of(const httplib::Request& in);

/// Fills `out` with what may be sent of `x`.
void write_to(httplib::Response& out, http_response x);

} // namespace caisson::detail
