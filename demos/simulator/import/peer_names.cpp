#include <simulator/import/peer_names.hpp>

#include <algorithm>
#include <iterator>

namespace caisson::sim {

namespace {

// From the name of a service to an address that says little.
constexpr std::string_view keys_of_peers[] = {
  "peer.service",   "server.address",
  "net.peer.name",  "peer.hostname",
  "db.system.name", "db.system",
  "db.type",        "messaging.system",
  "rpc.service",    "url.full",
  "http.url",       "http.host",
  "peer.address",   "network.peer.address",
  "net.peer.ip",    "net.sock.peer.addr",
  "peer.ipv4"};

// `shop.example` of `https://user@shop.example:80/cart`.
std::string_view host_of(std::string_view url) {
  if (auto i = url.find("://"); i != url.npos)
    url.remove_prefix(i + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (auto i = url.rfind('@'); i != url.npos)
    url.remove_prefix(i + 1);
  // Not the colons of an address such as [::1]:80.
  auto port = url.rfind(':');
  if (port != url.npos && url.find(']', port) == url.npos
      && (url.starts_with('[') || url.find(':') == port))
    url = url.substr(0, port);
  return url;
}

} // namespace

void peer_name::add(std::string_view key, std::string_view value) {
  auto found = std::ranges::find(keys_of_peers, key);
  if (found == std::end(keys_of_peers))
    return;
  auto rank = static_cast<int>(found - std::begin(keys_of_peers));
  value = host_of(value);
  if (rank >= rank_ || value.empty())
    return;
  rank_ = rank;
  text_ = value;
}

} // namespace caisson::sim
