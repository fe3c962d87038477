#include <caisson/http/detail/requests.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace caisson::detail {

namespace {

// The library would unpack it.
bool is_form_of_its_own(const httplib::Request& x) {
  return x.has_header("Content-Encoding")
         || x.get_header_value("Content-Type").rfind("multipart/", 0) == 0;
}

bool is_length(std::string_view x) {
  return !x.empty() && x.size() < 19
         && std::all_of(x.begin(), x.end(),
                        [](char c) { return c >= '0' && c <= '9'; });
}

// The library reads no body of these, nor chunks of a DELETE, and would take
// them for the next request.
bool has_no_body(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS";
}

// Whether it is certain where the request ends. If not, a proxy in front may
// see other requests than this server does (RFC 9112 section 6.3).
bool is_framed_well(const httplib::Request& x) {
  auto lengths = x.get_header_value_count("Content-Length");
  auto encodings = x.get_header_value_count("Transfer-Encoding");
  if (lengths + encodings == 0)
    return true;
  if (lengths + encodings > 1)
    return false;
  if (encodings == 1)
    return x.get_header_value("Transfer-Encoding") == "chunked"
           && !has_no_body(x.method) && x.method != "DELETE";
  auto length = x.get_header_value("Content-Length");
  auto is_empty = length.find_first_not_of('0') == std::string::npos;
  return is_length(length) && (is_empty || !has_no_body(x.method));
}

} // namespace

int refusal_of(const httplib::Request& x) {
  return !is_framed_well(x) ? 400 : is_form_of_its_own(x) ? 415 : 0;
}

http_request request_of(const httplib::Request& in) {
  // Headers that the library adds.
  constexpr std::string_view added[] = {"REMOTE_ADDR", "REMOTE_PORT",
                                        "LOCAL_ADDR", "LOCAL_PORT"};
  http_request x{in.method, in.target, {}, in.body};
  for (const auto& [name, value] : in.headers) {
    if (is_of_connection(name)
        || std::find(std::begin(added), std::end(added), name)
             != std::end(added))
      continue;
    auto lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    auto [i, is_new] = x.headers.emplace(std::move(lower), value);
    if (!is_new)
      i->second += ", " + value;
  }
  return x;
}

void write_to(httplib::Response& out, http_response x) {
  if (x.status < 200 || x.status > 599)
    x = {502, {}, "bad status\n"};
  out.status = x.status;
  for (auto& [name, value] : x.headers) {
    http_request probe;
    probe.headers.emplace(name, value);
    if (!is_of_connection(name) && problem_with(probe).empty())
      out.headers.emplace(name, std::move(value));
  }
  if (x.status != 204 && x.status != 304)
    out.body = std::move(x.body);
}

} // namespace caisson::detail
