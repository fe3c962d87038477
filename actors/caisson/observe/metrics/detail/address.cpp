#include <caisson/observe/metrics/detail/address.hpp>

#include <fmt/format.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace caisson::detail {

namespace {

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  auto [end, err] = std::from_chars(text.data(), text.data() + text.size(),
                                    port);
  if (err != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return port;
}

// The host with numbers only; empty if it is none.
std::string host_of(const std::string& text) {
  in_addr v4{};
  if (text == "localhost")
    return "127.0.0.1";
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1)
    return text;
  in6_addr v6{};
  if (text.size() > 2 && text.front() == '[' && text.back() == ']'
      && inet_pton(AF_INET6, text.substr(1, text.size() - 2).c_str(), &v6) == 1)
    return text;
  return {};
}

} // namespace

std::string listening_address(const std::string& text) {
  auto colon = text.rfind(':');
  auto alone = colon == std::string::npos;
  auto port = port_of(std::string_view{text}.substr(alone ? 0 : colon + 1));
  auto host = alone ? "127.0.0.1" : host_of(text.substr(0, colon));
  if (!port || host.empty() || text.find('\0') != std::string::npos)
    throw config_error{
      {{problem_kind::range, setting_path{} / "metrics" / "address",
        fmt::format("\"{}\" is not an address, allowed: host:port "
                    "with an IP address or localhost, or a "
                    "port from 0 to 65535",
                    text)}}};
  return fmt::format("{}:{}", host, *port);
}

} // namespace caisson::detail
