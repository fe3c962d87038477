// Serves the metrics of all gates of a system over HTTP.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/observe/gate_watch.hpp>
#include <caisson/observe/metrics_config.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace caisson {

/// Says, of the state of all gates, why a program is not healthy or not ready,
/// in words for people; empty: it is. Called for each probe, by several threads
/// at once. What it throws counts as a reason.
using health_rule = std::function<std::string(
  const std::vector<watched_gate>&)>;

/// The rule of `/readyz` unless another one is set: the program is ready unless
/// one of its gates drains.
[[nodiscard]] std::string draining_gates(const std::vector<watched_gate>& all);

/// Serves `/metrics` for Prometheus, and probes of an orchestrator: `/healthz`
/// and `/readyz` are answered with 200, or with 503 and the reason. At `/`
/// a page has links to these.
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
  /// Where it listens by default: only programs of this machine can connect.
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

  /// Replaces the rule of `/healthz`, by which an orchestrator kills the
  /// program and starts it again. Without one, the program is healthy as long
  /// as it answers. From any thread.
  void set_healthy(health_rule rule);

  /// Replaces the rule of `/readyz`, by which load balancers send requests.
  /// From any thread.
  ///
  ///     std::atomic<bool> loaded{false};
  ///     metrics.set_ready([&](const auto& gates) {
  ///       return loaded ? draining_gates(gates) : "the catalog is not loaded";
  ///     });
  void set_ready(health_rule rule);

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace caisson
