#include <caisson/observe/control/detail/control_page.hpp>

#include <caisson/observe/control/control_file.hpp>

#include <fmt/format.h>

#include <array>
#include <utility>

namespace caisson::detail {

namespace {

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

} // namespace

http_response control_page() {
  auto nonce = new_token();
  return {200, headers_of_page(nonce), filled(page_parts::page, nonce)};
}

std::string page_target(control_access& access) {
  return "/#ticket=" + access.new_ticket();
}

} // namespace caisson::detail
