#include <simulator/import/peer_names.hpp>

#include <algorithm>
#include <iterator>

namespace caisson::sim {

namespace {

struct peer_key {
  std::string_view name;
  // Else it is the name of a service, with whatever signs.
  bool is_address;
};

// From the name of a service to an address that says little.
constexpr peer_key keys_of_peers[] = {
  {"peer.service", false},   {"server.address", true},
  {"net.peer.name", true},   {"peer.hostname", true},
  {"db.system.name", false}, {"db.system", false},
  {"db.type", false},        {"messaging.system", false},
  {"rpc.service", false},    {"url.full", true},
  {"http.url", true},        {"http.host", true},
  {"peer.address", true},    {"network.peer.address", true},
  {"net.peer.ip", true},     {"net.sock.peer.addr", true},
  {"peer.ipv4", true}};

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
  auto found = std::ranges::find(keys_of_peers, key, &peer_key::name);
  if (found == std::end(keys_of_peers))
    return;
  auto rank = static_cast<int>(found - std::begin(keys_of_peers));
  if (found->is_address)
    value = host_of(value);
  if (rank >= rank_ || value.empty())
    return;
  rank_ = rank;
  text_ = value;
}

} // namespace caisson::sim
