// The network of CAF: the other header, beside caf.hpp, that includes CAF. Only
// those who talk to other nodes need it.
//
// Who links caisson::tls has TLS in it, too. Others need no OpenSSL.
#pragma once

#include <caisson/caf.hpp>
#include <caisson/call_handle.hpp>
#include <caisson/error.hpp>

#include <caf/io/all.hpp>

#ifdef CAISSON_TLS
#if !__has_include(<caf/openssl/manager.hpp>)
#error "CAISSON_TLS needs CAF's OpenSSL module: libcaf-dev, or a CAF with it"
#endif
#include <caf/openssl/manager.hpp>
#include <caf/openssl/publish.hpp>
#include <caf/openssl/remote_actor.hpp>

#include <caisson/problem.hpp>

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

/// A config for caisson with CAF's network; derive from it or use it as it is.
class network_config : private detail::network_types_ready,
                       public system_config {
public:
  network_config() { load<caf::io::middleman>(); }
};

namespace portable {

/// Where other nodes can reach what is published, unless another address is
/// given: at this machine.
inline constexpr const char* loopback = "127.0.0.1";

namespace detail {

// An address that was forgotten must not mean all of them, as it does to CAF.
inline caf::error no_address() {
  return make_error(errc::invalid_config,
                    rejection{"publish", duration::zero(), false,
                              "no address to listen at; all: 0.0.0.0 or ::"});
}

} // namespace detail

/// Lets other nodes call a gate at a TCP port of this machine, by a handle with
/// which they cannot operate it (see call_handle.hpp). What `spawn_gate`
/// returns will do; for any other actor say `call_handle{actor}`.
///
/// `port` 0: any that is free. `address` is the local address to listen at:
/// that of one interface, or "0.0.0.0" or "::" for all; it cannot be empty.
/// Returns the port. A port that a dead process has left behind can be used
/// again at once. The gate lives until it is stopped. Nothing is encrypted, and
/// anybody who reaches the port gets in: see docs/security.md.
inline caf::expected<std::uint16_t>
publish(caf::actor_system& sys, const call_handle& gate, std::uint16_t port = 0,
        const std::string& address = loopback) {
  if (address.empty())
    return detail::no_address();
  return sys.middleman().publish(static_cast<const caf::actor&>(gate), port,
                                 address.c_str(), true);
}

/// As `publish`, but whoever reaches the port can do to `gate` what this
/// program can: change its settings, force its breakers open, drain and end it.
inline caf::expected<std::uint16_t>
publish_control(caf::actor_system& sys, const control_handle& gate,
                std::uint16_t port = 0, const std::string& address = loopback) {
  if (address.empty())
    return detail::no_address();
  return sys.middleman().publish(static_cast<const caf::actor&>(gate), port,
                                 address.c_str(), true);
}

/// Closes a port at which something is published. Nodes that are connected
/// stay so, and what they know the address of stays within their reach.
inline caf::expected<void> unpublish(caf::actor_system& sys,
                                     std::uint16_t port) {
  return sys.middleman().close(port);
}

/// The actor that is published at `host` and `port`. Blocks until the other
/// node has said who it is: from an actor, call it on a thread of its own (see
/// `worker::on_own_thread`). From then on that node is connected with this one
/// and can send it messages, too.
inline caf::expected<caf::actor>
connect(caf::actor_system& sys, const std::string& host, std::uint16_t port) {
  return sys.middleman().remote_actor(host, port);
}

} // namespace portable

} // namespace caisson

// -- encrypted, and with certificates on both sides ---------------------------

#ifdef CAISSON_TLS

namespace caisson {

/// Files in PEM format, all three needed.
struct tls_files {
  /// The certificate of this node, and behind it those between it and the
  /// authority's, if any.
  std::string certificate = {};
  /// The private key of that certificate.
  std::string key = {};
  /// The certificate of the authority that has signed those of the other nodes.
  /// Who has one of its certificates gets in, whatever name is in it: use an
  /// authority of your own and for this alone.
  std::string authority = {};
  /// Of the key; empty if it has none.
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

// CAF reads the files at each connection, and a process that cannot read them
// then is ended by an exception.
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

/// A config for caisson with CAF's network and certificates; derive from it or
/// use it as it is. Throws `config_error` if a file is missing.
///
/// The certificates are for `portable::publish_tls` and `portable::connect_tls`
/// alone: `portable::publish` and `portable::connect` go on in plain text.
/// Links against `caisson::tls`.
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

// Without certificates CAF encrypts and asks nobody who he is.
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

/// As `publish`, by TLS and only for nodes with a certificate of the same
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

/// As `publish_control`, by TLS and only for nodes with a certificate of the
/// same authority: each of them can change, drain and end `gate`.
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

/// As `connect`, by TLS and only to a node with a certificate of the same
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
