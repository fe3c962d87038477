#include <caisson/adapters/http/detail/requests.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

namespace caisson::detail {

namespace {

// What no worker is prepared for: a body that is packed, or has parts.
bool has_unsupported_form(http_parser& x) {
  return !header_of(x.headers(), "content-encoding").empty()
         || in_lower_case(header_of(x.headers(), "content-type"))
              .starts_with("multipart/");
}

bool is_known(std::string_view method) noexcept {
  constexpr std::array<std::string_view, 7> known{
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
  return std::find(known.begin(), known.end(), method) != known.end();
}

int status_of(http_parser::fault x) noexcept {
  switch (x) {
    case http_parser::fault::none:
      return 0;
    case http_parser::fault::bad_version:
      return 505;
    case http_parser::fault::long_start_line:
      return 414;
    case http_parser::fault::large_head:
      return 431;
    case http_parser::fault::large_body:
      return 413;
    case http_parser::fault::malformed:
      break;
  }
  return 400;
}

struct reason {
  std::int32_t status;
  std::string_view text;
};

constexpr reason reasons[] = {
  {200, "OK"},
  {201, "Created"},
  {202, "Accepted"},
  {204, "No Content"},
  {301, "Moved Permanently"},
  {302, "Found"},
  {303, "See Other"},
  {304, "Not Modified"},
  {307, "Temporary Redirect"},
  {308, "Permanent Redirect"},
  {400, "Bad Request"},
  {401, "Unauthorized"},
  {403, "Forbidden"},
  {404, "Not Found"},
  {405, "Method Not Allowed"},
  {408, "Request Timeout"},
  {409, "Conflict"},
  {410, "Gone"},
  {412, "Precondition Failed"},
  {413, "Content Too Large"},
  {414, "URI Too Long"},
  {415, "Unsupported Media Type"},
  {422, "Unprocessable Content"},
  {429, "Too Many Requests"},
  {431, "Request Header Fields Too Large"},
  {500, "Internal Server Error"},
  {501, "Not Implemented"},
  {502, "Bad Gateway"},
  {503, "Service Unavailable"},
  {504, "Gateway Timeout"},
  {505, "HTTP Version Not Supported"},
};

std::string_view reason_of(std::int32_t status) {
  const auto* i = std::find_if(
    std::begin(reasons), std::end(reasons),
    [&](const reason& x) { return x.status == status; });
  return i == std::end(reasons) ? "Other" : i->text;
}

bool may_be_sent(const std::string& name, const std::string& value) {
  return !is_of_connection(name)
         && problem_with({.headers = {{name, value}}}).empty();
}

// How long the body is, or would be for GET; empty if nobody says so.
std::string length_of(const http_response& x, bool to_head,
                      std::optional<std::size_t> length) {
  if (length)
    return std::to_string(*length);
  if (!to_head || !x.body.empty())
    return std::to_string(x.body.size());
  std::string value{header_of(x.headers, "content-length")};
  auto well = value.find_first_not_of("0123456789") == std::string::npos;
  return well ? value : std::string{};
}

} // namespace

int refusal_of(http_parser& x) {
  if (x.at() == http_parser::stage::failed)
    return status_of(x.why());
  if (x.at() != http_parser::stage::body && x.at() != http_parser::stage::done)
    return 0;
  return !is_known(x.method()) ? 501 : has_unsupported_form(x) ? 415 : 0;
}

http_request request_of(http_parser& x) {
  http_request out{std::move(x.method()), std::move(x.target()),
                   std::move(x.headers()), std::move(x.body())};
  drop_hop_by_hop(out.headers);
  // The server has seen to it.
  out.headers.erase("expect");
  return out;
}

http_response short_answer(std::int32_t status) {
  http_response out{status, {{"content-type", "text/plain"}}, {}};
  if (status == 503) {
    out.headers.emplace("retry-after", "1");
    out.body = "busy\n";
  }
  if (status == 504)
    out.body = "deadline_exceeded\n";
  return out;
}

bool has_content(std::int32_t status) noexcept {
  return status != 204 && status != 205 && status != 304;
}

std::string bytes_of(const http_response& x, bool to_head, bool last,
                     std::optional<std::size_t> length) {
  if (x.status < 200 || x.status > 599)
    return bytes_of({502, {}, "bad status\n"}, to_head, last);
  auto out = fmt::format("HTTP/1.1 {} {}\r\n", x.status, reason_of(x.status));
  for (const auto& [name, value] : x.headers)
    if (may_be_sent(name, value))
      out.append(name).append(": ").append(value).append("\r\n");
  auto has_body = has_content(x.status);
  auto size = has_body ? length_of(x, to_head, length) : std::string{};
  // RFC 9110 section 15.3.6: it says so by its length.
  if (x.status == 205)
    size = "0";
  if (!size.empty())
    out.append("content-length: ").append(size).append("\r\n");
  if (last)
    out += "connection: close\r\n";
  out += "\r\n";
  if (has_body && !to_head && !length)
    out += x.body;
  return out;
}

} // namespace caisson::detail
