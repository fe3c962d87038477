#include <caisson/adapters/grpc/detail/target.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace caisson::detail {

namespace {

bool is_port(std::string_view x) {
  std::uint16_t port = 0;
  auto* end = x.data() + x.size();
  auto [last, failure] = std::from_chars(x.data(), end, port);
  return failure == std::errc{} && last == end && port != 0;
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
         || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

// As in an IPv6 address, perhaps with the name of an interface.
bool is_bracketed_char(char c) {
  return is_name_char(c) || c == ':' || c == '%';
}

bool is_host(std::string_view x) {
  if (x.starts_with('[') && x.ends_with(']')) {
    x = x.substr(1, x.size() - 2);
    return x.find(':') != std::string_view::npos
           && std::all_of(x.begin(), x.end(), is_bracketed_char);
  }
  return !x.empty() && std::all_of(x.begin(), x.end(), is_name_char);
}

// Those of sockets are short.
bool is_socket_path(std::string_view x) {
  constexpr std::size_t longest = 107;
  return x.size() > 1 && x.size() <= longest && x.front() == '/'
         && x.substr(0, 2) != "//"
         && std::all_of(x.begin(), x.end(), [](char c) {
              return c > ' ' && c <= '~' && c != '?' && c != '#' && c != '%';
            });
}

} // namespace

std::optional<std::string> grpc_target_of(std::string_view text) {
  constexpr std::string_view unix = "unix:";
  if (text.starts_with(unix)) {
    auto path = text.substr(unix.size());
    if (!is_socket_path(path))
      return std::nullopt;
    return std::string{"unix://"}.append(path);
  }
  auto colon = text.rfind(':');
  if (colon == std::string_view::npos || !is_host(text.substr(0, colon))
      || !is_port(text.substr(colon + 1)))
    return std::nullopt;
  return std::string{"dns:///"}.append(text);
}

} // namespace caisson::detail
