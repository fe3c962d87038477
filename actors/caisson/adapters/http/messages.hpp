// Requests and responses of HTTP as messages.
#pragma once

#include <caisson/caf/messages.hpp>
#include <caisson/engine/answers.hpp>
#include <caisson/engine/transport_errc.hpp>
#include <caisson/settings/settings.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

/// Headers by name. A name occurs once: several values are separated by `, `
/// (RFC 9110 section 5.3), which is not possible for `Set-Cookie`: a worker
/// keeps the first one.
using http_headers = std::map<std::string, std::string>;

/// A request.
struct http_request {
  /// As RFC 9110 writes it, in capitals.
  std::string method = "GET";
  /// The path and the query, as they are sent: it begins with `/`, and what is
  /// not allowed there is percent-encoded.
  std::string target = "/";
  /// Without those that concern the connection and the length of the body,
  /// which a worker adds and a front removes.
  http_headers headers = {};
  /// Its bytes, in whatever encoding the headers say.
  std::string body = {};
};
CAISSON_MESSAGE(http_request, method, target, headers, body)

/// A response.
struct http_response {
  /// Three digits: 100 or more.
  std::int32_t status = 200;
  /// With names in lower case.
  http_headers headers = {};
  /// Its bytes, in whatever encoding the headers say.
  std::string body = {};
};
CAISSON_MESSAGE(http_response, status, headers, body)

/// The value of a header, whatever the case of its name; empty if it is absent.
[[nodiscard]] std::string_view header_of(const http_headers& all,
                                         std::string_view name) noexcept;

/// Whether carrying out a request twice has the same effect as once: GET, HEAD,
/// OPTIONS, TRACE, PUT and DELETE (RFC 9110 section 9.2.2).
[[nodiscard]] bool is_idempotent(std::string_view method) noexcept;

/// The request as a call: marked as idempotent if its method is, and otherwise
/// as not, with its header `Idempotency-Key` as the call's idempotency key, and
/// in the trace of its headers `traceparent` and `tracestate`, and with its
/// `baggage`. A key that is too long for calls, and what is not valid in the
/// other headers, are left out.
[[nodiscard]] call as_call(http_request x);

/// What is wrong with a request that cannot be sent as it is, for people; empty
/// if nothing is. Names and values that would add a line or a header are.
[[nodiscard]] std::string problem_with(const http_request& x);

/// Reports the settings, by name, whose values are no names of headers that may
/// be used, or not different ones. Empty ones mean no header.
void check_header_names(
  const std::vector<std::pair<std::string_view, std::string>>& names,
  const setting_path& path, problems& out);

/// Whether a header concerns one connection or the length of the body (RFC 9110
/// sections 7.6.1 and 8.6), so that it is not passed on.
[[nodiscard]] bool is_of_connection(std::string_view header) noexcept;

/// What responses mean to the policies: by status, `Retry-After` and `Date`.
[[nodiscard]] answer_adapter http_adapter();

/// The header in which this library's workers send servers how many
/// milliseconds they have, and from which its fronts read it. Envoy and others
/// know it.
inline constexpr std::string_view http_deadline_header
  = "x-envoy-expected-rq-timeout-ms";

} // namespace caisson

CAF_BEGIN_TYPE_ID_BLOCK(caisson_http, caisson::first_adapter_type_id + 20)
CAF_ADD_TYPE_ID(caisson_http, (caisson::http_request))
CAF_ADD_TYPE_ID(caisson_http, (caisson::http_response))
CAF_END_TYPE_ID_BLOCK(caisson_http)

namespace caisson {

/// On CAF 1.x, to be called before any actor system exists.
void init_http_types();

/// Prepares a config for these messages: for other nodes, and for the names of
/// errors in logs. On CAF 1.x nothing is left to be done here.
void register_http_types(caf::actor_system_config& cfg);

} // namespace caisson
