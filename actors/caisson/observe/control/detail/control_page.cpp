#include <caisson/observe/control/detail/control_page.hpp>

#include <caisson/observe/control/detail/control_file.hpp>

#include <fmt/format.h>

#include <array>
#include <utility>

namespace caisson::detail {

namespace {

constexpr std::string_view ticket_key = "ticket=";

// Nothing from elsewhere, nothing that the page does not bring along, and in no
// frame of another page.
http_headers headers_of_page(const std::string& nonce) {
  return {
    {"content-type", "text/html; charset=utf-8"},
    {"content-security-policy",
     fmt::format("default-src 'none'; connect-src 'self'; img-src data:; "
                 "style-src 'nonce-{0}'; script-src 'nonce-{0}'; "
                 "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                 nonce)},
    {"x-frame-options", "DENY"},
    {"cross-origin-opener-policy", "same-origin"}};
}

// A part of the page stands where its name does, in two braces. Parts that are
// put in are not looked at again.
std::string filled(std::string_view page, const std::string& nonce) {
  const std::array<std::pair<std::string_view, std::string_view>, 3> parts{
    {{"{{nonce}}", nonce},
     {"{{style}}", page_parts::style},
     {"{{script}}", page_parts::script}}};
  std::string out;
  while (!page.empty()) {
    auto at = page.find("{{");
    out += page.substr(0, at);
    if (at == std::string_view::npos)
      break;
    page.remove_prefix(at);
    auto known = false;
    for (const auto& [name, text] : parts)
      if (!known && page.starts_with(name)) {
        out += text;
        page.remove_prefix(name.size());
        known = true;
      }
    if (!known) {
      out += page.substr(0, 2);
      page.remove_prefix(2);
    }
  }
  return out;
}

http_response plain_page(std::int32_t status, std::string_view what) {
  constexpr std::string_view text = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Gates: no access</title>
<h1>No access</h1>
<p>{} Whoever can read the control file of the program gets a new one:</p>
<pre>caisson ctl --file FILE page</pre>
</html>
)";
  return {status, headers_of_page(new_token()),
          fmt::format(fmt::runtime(text), what)};
}

} // namespace

http_response answer_browser(const http_request& x, std::string_view query,
                             control_access& access) {
  if (query.starts_with(ticket_key)) {
    auto ticket = std::string{query.substr(ticket_key.size())};
    // A ticket that somebody else's name leads here is not taken: the session
    // would be that name's.
    auto cookie = is_loopback_host(header_of(x.headers, "host"))
                    ? access.open_session(ticket)
                    : std::nullopt;
    if (!cookie)
      return plain_page(403, "This link has been used, or is older than five "
                             "minutes.");
    return {303, {{"location", "/"}, {"set-cookie", *cookie}}, {}};
  }
  if (access.who_asks(x) != requester::browser)
    return plain_page(401, "This page is opened by a link that works once.");
  auto nonce = new_token();
  return {200, headers_of_page(nonce), filled(page_parts::page, nonce)};
}

std::string page_target(control_access& access) {
  return fmt::format("/?{}{}", ticket_key, access.new_ticket());
}

} // namespace caisson::detail
