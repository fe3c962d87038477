#include <caisson/adapters/http_client/detail/failure.hpp>

#include <caisson/adapters/detail/queued_worker.hpp>

#include <string>
#include <utility>

namespace caisson::detail {

namespace {

// What has gone wrong before anything was sent, and what to do.
std::string_view advice_for(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return "the host was not found, check `url`";
    case CURLE_COULDNT_RESOLVE_PROXY:
      return "the proxy was not found, check `proxy`";
    case CURLE_OPERATION_TIMEDOUT:
      return "could not connect in time";
    case CURLE_PEER_FAILED_VERIFICATION:
      return "the server's certificate was refused: if it is the right server, "
             "`ca_file` must have the authority of its certificate, and `url` "
             "the host that this names";
    case CURLE_SSL_CACERT_BADFILE:
      return "no certificate could be read from `ca_file`, which must be PEM";
    case CURLE_SSL_CERTPROBLEM:
      return "`client_certificate` and `client_key` cannot be used: they must "
             "be PEM, belong together, and have no password";
    case CURLE_SSL_CONNECT_ERROR:
      return "the TLS handshake failed: the server must speak TLS 1.2 or later "
             "at this port, and may require a `client_certificate`";
    default:
      return "could not connect";
  }
}

// Whether the server has broken the protocol.
bool is_against_protocol(CURLcode code) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL: // HTTP/0.9
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_HTTP2:
#if LIBCURL_VERSION_NUM >= 0x080600
    case CURLE_TOO_LARGE:
#endif
    // A line of the head that is too long.
    case CURLE_OUT_OF_MEMORY:
      return true;
    default:
      return false;
  }
}

} // namespace

caf::message failure_of(CURLcode code, const http_parser& parser,
                        const transfer_progress& x) {
  auto fail = [&x](transport_errc what, std::string_view why) {
    std::string text{why};
    if (!x.text.empty())
      text.append(" (").append(x.text).append(")");
    return failed_with(what, std::move(text));
  };
  if (parser.at() == http_parser::stage::failed)
    return parser.why() == http_parser::fault::large_body
             ? failed_with(transport_errc::too_large, "the body is too large")
             : failed_with(transport_errc::garbled,
                           "the answer is not a valid HTTP response");
  if (x.unsent)
    return fail(x.earlier_sent ? transport_errc::lost
                               : transport_errc::not_connected,
                advice_for(code));
  if (is_against_protocol(code))
    return fail(transport_errc::garbled,
                "the answer is not a valid HTTP response");
  if (code == CURLE_OPERATION_TIMEDOUT)
    return fail(transport_errc::timed_out, "no answer in time");
  return fail(transport_errc::lost, "the connection was closed");
}

caf::message called_off(const transfer_progress& x, bool is_due) {
  auto unsent = x.unsent && !x.earlier_sent;
  if (is_due && !unsent && x.connected)
    return failed_with(transport_errc::timed_out, "no answer in time");
  return failed_with(
    unsent ? transport_errc::not_connected : transport_errc::lost,
    is_due ? "connect timed out" : "the request was cancelled");
}

} // namespace caisson::detail
