#include <simulator/remote/worker_address.hpp>

#include <caisson/settings/settings_text.hpp>

#include <arpa/inet.h>

namespace caisson::sim {

namespace {

constexpr std::size_t longest_host = 253;

bool is_host(std::string_view x) {
  constexpr std::string_view allowed
    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:%";
  return !x.empty() && x.size() <= longest_host
         && x.find_first_not_of(allowed) == x.npos;
}

} // namespace

std::string worker_address::text() const {
  auto in_brackets = host.find(':') != host.npos;
  return (in_brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool worker_address::is_loopback() const {
  if (host == "localhost" || host == "::1")
    return true;
  // A name may begin with 127, too.
  in_addr four{};
  return inet_pton(AF_INET, host.c_str(), &four) == 1
         && (ntohl(four.s_addr) >> 24) == 127;
}

std::optional<worker_address> read_worker_address(std::string_view text) {
  auto colon = text.rfind(':');
  if (colon == text.npos)
    return std::nullopt;
  auto host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    if (host.find(':') == host.npos)
      return std::nullopt;
  } else if (host.find(':') != host.npos) {
    return std::nullopt;
  }
  worker_address out;
  auto port = text.substr(colon + 1);
  if (!is_host(host) || port.find_first_not_of("0123456789") != port.npos
      || detail::read_number(port, out.port) != detail::read_result::good)
    return std::nullopt;
  out.host = host;
  return out;
}

} // namespace caisson::sim
