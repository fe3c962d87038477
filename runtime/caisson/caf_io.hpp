// The network of CAF: the other header, beside caf.hpp, that includes CAF. Only
// those who talk to other nodes need it.
#pragma once

#include <caisson/caf.hpp>
#include <caisson/error.hpp>

#include <caf/io/all.hpp>

#include <cstdint>
#include <string>

namespace caisson {

namespace detail {

// Runs before the base class config is constructed, as CAF 1.x wants it.
struct network_types_ready {
  network_types_ready() {
#if !CAISSON_CAF_LEGACY
    caf::io::middleman::init_global_meta_objects();
#endif
  }
};

} // namespace detail

/// A config for caisson with CAF's network; derive from it or use it as it is.
class network_config : private detail::network_types_ready,
                       public system_config {
public:
  network_config() { load<caf::io::middleman>(); }
};

namespace rt {

/// Lets other nodes reach `x` at a TCP port of this machine; 0: any that is
/// free. `address` is the local address to listen at, all if empty. Returns the
/// port. A port that a dead process has left behind can be used again at once.
inline caf::expected<std::uint16_t>
publish(caf::actor_system& sys, const caf::actor& x, std::uint16_t port = 0,
        const std::string& address = {}) {
  return sys.middleman().publish(
    x, port, address.empty() ? nullptr : address.c_str(), true);
}

/// The actor that is published at `host` and `port`. Blocks until the other
/// node has said who it is: from an actor, call it on a thread of its own (see
/// `worker::on_own_thread`).
inline caf::expected<caf::actor>
connect(caf::actor_system& sys, const std::string& host, std::uint16_t port) {
  return sys.middleman().remote_actor(host, port);
}

} // namespace rt

} // namespace caisson
