// CAF's network: the only header besides caf.hpp that includes CAF. Only
// programs that talk to other nodes need it.
//
// With caisson::tls linked it includes TLS. Other programs need no OpenSSL.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/call_handle.hpp>
#include <caisson/caf/error.hpp>

#include <caf/io/all.hpp>

#ifdef CAISSON_TLS
#if !__has_include(<caf/openssl/manager.hpp>)
#error "CAISSON_TLS needs CAF's OpenSSL module: libcaf-dev, or a CAF with it"
#endif
#include <caf/openssl/manager.hpp>
#include <caf/openssl/publish.hpp>
#include <caf/openssl/remote_actor.hpp>

#include <caisson/settings/problem.hpp>

#include <fstream>
#include <utility>
#endif

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

/// A config for Caisson with CAF's network; derive from it or use it directly.
class network_config : private detail::network_types_ready,
                       public system_config {
public:
  network_config() { load<caf::io::middleman>(); }
};

namespace portable {

/// The default address to listen on: this machine only.
inline constexpr const char* loopback = "127.0.0.1";

namespace detail {

// An empty address must not mean all interfaces, as it does for CAF.
inline caf::error no_address() {
  return make_error(errc::invalid_config,
                    rejection{"publish", duration::zero(), false,
                              "no address to listen at; all: 0.0.0.0 or ::"});
}

} // namespace detail

/// Publishes a gate at a TCP port of this machine, by a handle that allows
/// calls only (see call_handle.hpp). Pass the result of `spawn_gate`, or
/// `call_handle{actor}` for any other actor.
///
/// `port` 0: any free port. `address` is the local address to listen on: that
/// of one interface, or "0.0.0.0" or "::" for all; it cannot be empty. Returns
/// the port. A port left behind by a dead process can be reused at once. The
/// gate lives until it is stopped. Nothing is encrypted, and any node that
/// reaches the port can connect: see docs/security.md.
inline caf::expected<std::uint16_t>
publish(caf::actor_system& sys, const call_handle& gate, std::uint16_t port = 0,
        const std::string& address = loopback) {
  if (address.empty())
    return detail::no_address();
  return sys.middleman().publish(static_cast<const caf::actor&>(gate), port,
                                 address.c_str(), true);
}

/// As `publish`, but any node that reaches the port has full control of `gate`:
/// it can change its settings, force its breakers open, drain and stop it.
inline caf::expected<std::uint16_t>
publish_control(caf::actor_system& sys, const control_handle& gate,
                std::uint16_t port = 0, const std::string& address = loopback) {
  if (address.empty())
    return detail::no_address();
  return sys.middleman().publish(static_cast<const caf::actor&>(gate), port,
                                 address.c_str(), true);
}

/// Closes a published port. Nodes that are already connected stay connected,
/// and can still reach every address that they know. CAF 0.17 keeps the socket,
/// closed, of a port that ends within about a millisecond of its begin.
inline caf::expected<void> unpublish(caf::actor_system& sys,
                                     std::uint16_t port) {
  return sys.middleman().close(port);
}

/// The actor published at `host` and `port`. Blocks until the handshake with
/// the other node is complete, so do not call it from an actor except on a
/// thread of its own (see `worker::on_own_thread`). From then on that node is
/// connected and can also send messages to this one.
inline caf::expected<caf::actor>
connect(caf::actor_system& sys, const std::string& host, std::uint16_t port) {
  return sys.middleman().remote_actor(host, port);
}

} // namespace portable

} // namespace caisson

// -- encrypted, and with certificates on both sides ---------------------------

#ifdef CAISSON_TLS

namespace caisson {

/// Files in PEM format. All three are required.
struct tls_files {
  /// The certificate of this node, followed by any intermediate certificates.
  std::string certificate = {};
  /// The private key of that certificate.
  std::string key = {};
  /// The certificate of the authority that signed those of the other nodes. Any
  /// of its certificates is accepted, whatever its name: use an authority of
  /// your own for this purpose only.
  std::string authority = {};
  /// The passphrase of the key; empty if it has none.
  std::string passphrase = {};
};

namespace detail {

struct tls_types_ready {
  tls_types_ready() {
#if !CAISSON_CAF_LEGACY
    caf::openssl::manager::init_global_meta_objects();
#endif
  }
};

// CAF reads the files for each connection. If it cannot read them then, an
// exception ends the process.
inline problems problems_of(const tls_files& files) {
  problems found;
  auto check = [&](const char* key, const std::string& path) {
    std::string begin(10, ' ');
    std::ifstream file{path, std::ios::binary};
    if (path.empty())
      found.push_back({problem_kind::missing, key, "no file is given"});
    else if (!file.read(begin.data(), 10) || begin != "-----BEGIN")
      found.push_back({problem_kind::syntax, key,
                       "no file that can be read, or not in PEM format", path});
  };
  check("tls.certificate", files.certificate);
  check("tls.key", files.key);
  check("tls.authority", files.authority);
  return found;
}

} // namespace detail

/// A config for Caisson with CAF's network and certificates; derive from it or
/// use it directly. Throws `config_error` if a file is missing.
///
/// The certificates apply to `portable::publish_tls` and
/// `portable::connect_tls` only: `portable::publish` and `portable::connect`
/// still use plain text. Links against `caisson::tls`.
class tls_network_config : private detail::tls_types_ready,
                           public network_config {
public:
  explicit tls_network_config(const tls_files& files) {
    if (auto found = detail::problems_of(files); !found.empty())
      throw config_error{std::move(found)};
    load<caf::openssl::manager>();
#if CAISSON_CAF_LEGACY
    openssl_certificate = files.certificate;
    openssl_key = files.key;
    openssl_cafile = files.authority;
    openssl_passphrase = files.passphrase;
#else
    set("caf.openssl.certificate", files.certificate);
    set("caf.openssl.key", files.key);
    set("caf.openssl.cafile", files.authority);
    set("caf.openssl.passphrase", files.passphrase);
#endif
  }
};

namespace portable {

namespace detail {

// Without certificates CAF encrypts but authenticates no node.
inline caf::error no_certificates() {
  return make_error(errc::invalid_config,
                    rejection{"tls", duration::zero(), false,
                              "this system has no certificates; build it from "
                              "a tls_network_config"});
}

inline bool has_certificates(caf::actor_system& sys) {
  return sys.has_openssl_manager()
         && sys.openssl_manager().authentication_enabled();
}

} // namespace detail

/// As `publish`, but by TLS and only for nodes with a certificate of the same
/// authority. `sys` must be built from a `tls_network_config`.
inline caf::expected<std::uint16_t>
publish_tls(caf::actor_system& sys, const call_handle& gate,
            std::uint16_t port = 0, const std::string& address = loopback) {
  if (address.empty())
    return detail::no_address();
  if (!detail::has_certificates(sys))
    return detail::no_certificates();
  return caf::openssl::publish(static_cast<const caf::actor&>(gate), port,
                               address.c_str(), true);
}

/// As `publish_control`, but by TLS and only for nodes with a certificate of
/// the same authority. Each of them can change, drain and stop `gate`.
inline caf::expected<std::uint16_t>
publish_control_tls(caf::actor_system& sys, const control_handle& gate,
                    std::uint16_t port = 0,
                    const std::string& address = loopback) {
  if (address.empty())
    return detail::no_address();
  if (!detail::has_certificates(sys))
    return detail::no_certificates();
  return caf::openssl::publish(static_cast<const caf::actor&>(gate), port,
                               address.c_str(), true);
}

/// As `connect`, but by TLS and only to a node with a certificate of the same
/// authority.
inline caf::expected<caf::actor> connect_tls(caf::actor_system& sys,
                                             const std::string& host,
                                             std::uint16_t port) {
  if (!detail::has_certificates(sys))
    return detail::no_certificates();
  return caf::openssl::remote_actor(sys, host, port);
}

} // namespace portable

} // namespace caisson

#endif
