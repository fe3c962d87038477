#include <caisson/adapters/http/parser.hpp>
#include <caisson/adapters/http_client/detail/origin.hpp>

#include <curl/curl.h>

#include <charconv>
#include <memory>

namespace caisson::detail {

namespace {

struct url_deleter {
  void operator()(CURLU* x) const { ::curl_url_cleanup(x); }
};

using url_handle = std::unique_ptr<CURLU, url_deleter>;

// Empty if it has no such part.
std::string part_of(const url_handle& x, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (::curl_url_get(x.get(), part, &text, flags) != CURLUE_OK)
    return {};
  std::string out{text};
  ::curl_free(text);
  return out;
}

std::optional<http_url> url_in(const url_handle& x) {
  http_url out;
  auto scheme = part_of(x, CURLUPART_SCHEME);
  out.origin.tls = scheme == "https";
  out.origin.host = in_lower_case(part_of(x, CURLUPART_HOST));
  // Of an IPv6 address that needs one, such as [fe80::1%25eth0].
  if (auto zone = part_of(x, CURLUPART_ZONEID);
      !zone.empty() && out.origin.host.ends_with(']'))
    out.origin.host.insert(out.origin.host.size() - 1, "%25" + zone);
  auto port = part_of(x, CURLUPART_PORT, CURLU_DEFAULT_PORT);
  std::from_chars(port.data(), port.data() + port.size(), out.origin.port);
  if ((scheme != "http" && scheme != "https") || out.origin.host.empty()
      || out.origin.port == 0 || !part_of(x, CURLUPART_USER).empty()
      || !part_of(x, CURLUPART_PASSWORD).empty())
    return std::nullopt;
  out.target = part_of(x, CURLUPART_PATH);
  if (auto query = part_of(x, CURLUPART_QUERY); !query.empty())
    out.target += '?' + query;
  if (out.target.empty())
    out.target = "/";
  return out;
}

bool take_url(const url_handle& x, const std::string& text, unsigned flags) {
  // The library stops at a zero.
  return x && text.find('\0') == std::string::npos
         && ::curl_url_set(x.get(), CURLUPART_URL, text.c_str(), flags)
              == CURLUE_OK;
}

} // namespace

std::string http_origin::text() const {
  std::string out = tls ? "https://" : "http://";
  out += host;
  if (port != (tls ? 443 : 80))
    out += ':' + std::to_string(port);
  return out;
}

std::optional<http_url> http_url_of(const std::string& text) {
  url_handle x{::curl_url()};
  return take_url(x, text, 0) ? url_in(x) : std::nullopt;
}

std::optional<http_url> http_url_of(const http_url& base,
                                    const std::string& reference) {
  url_handle x{::curl_url()};
  auto known = base.text();
  known.resize(std::min(known.find('#'), known.size()));
  if (!take_url(x, known, 0) || !take_url(x, reference, CURLU_URLENCODE))
    return std::nullopt;
  return url_in(x);
}

bool is_proxy_url(const std::string& text) {
  url_handle x{::curl_url()};
  if (!take_url(x, text, 0) || part_of(x, CURLUPART_SCHEME) != "http")
    return false;
  auto path = part_of(x, CURLUPART_PATH);
  return (path.empty() || path == "/") && part_of(x, CURLUPART_QUERY).empty()
         && part_of(x, CURLUPART_FRAGMENT).empty();
}

} // namespace caisson::detail
