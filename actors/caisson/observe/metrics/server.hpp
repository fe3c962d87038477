// Serves the metrics of all gates of a system over HTTP.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/observe/metrics/config.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace caisson {

/// Serves `/metrics` for Prometheus:
///
///     caf::actor_system system{config};
///     caisson::metrics_server metrics{system};
///
/// The server has threads of its own, and works as a `metrics_collector` does.
/// It ends with the object, which must not outlive the system.
///
/// Anyone who can reach the address can read the names of gates, layers and
/// keys, and how busy they are. By default only programs on this machine can.
class metrics_server {
public:
  static constexpr const char* default_address = "127.0.0.1:9464";

  /// `address` is where to listen: `host:port`, with the host as an IPv4
  /// address, an IPv6 address in brackets, or `localhost`; a port alone is one
  /// of 127.0.0.1. To listen on all networks, write `0.0.0.0:9464`. With the
  /// port 0 the machine chooses one (`port`).
  ///
  /// Throws `config_error` if the address or the configuration is not valid,
  /// and `std::runtime_error` if it cannot listen there, for instance because
  /// another program does.
  explicit metrics_server(caf::actor_system& sys,
                          const std::string& address = default_address,
                          metrics_config c = {});
  ~metrics_server();

  metrics_server(const metrics_server&) = delete;
  metrics_server& operator=(const metrics_server&) = delete;

  /// The port that it listens on.
  [[nodiscard]] std::uint16_t port() const noexcept;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace caisson
