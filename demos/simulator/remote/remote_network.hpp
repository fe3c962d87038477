// The network between a sweep and its workers: CAF's, in plain text or by TLS.
#pragma once

#include <simulator/remote/worker_address.hpp>

#include <caisson/caf/caf.hpp>
#include <caisson/caf/call_handle.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace caisson::sim {

/// Files in PEM format: all of them, or none.
struct remote_certificates {
  std::string certificate = {};
  std::string key = {};
  std::string authority = {};

  [[nodiscard]] bool any() const {
    return !certificate.empty() || !key.empty() || !authority.empty();
  }
};

/// Refuses what would let strangers in: an address that others can reach,
/// without certificates. `option` is where it comes from. Throws
/// `config_error`.
void require_safe(const worker_address& a, const remote_certificates& files,
                  bool insecure, const std::string& option);

/// The config of a system for sweeps and workers. Throws `config_error` if
/// certificates are not complete or cannot be read, or this build has no TLS.
[[nodiscard]] std::unique_ptr<caf::actor_system_config>
remote_config(const remote_certificates& files);

/// Lets sweeps call `gate` at an address. Port 0 is any free one. Returns the
/// port.
[[nodiscard]] caf::expected<std::uint16_t>
publish_worker(caf::actor_system& sys, const call_handle& gate,
               const worker_address& a, bool tls);

/// Connects to a worker. Blocks.
[[nodiscard]] caf::expected<caf::actor>
connect_worker(caf::actor_system& sys, const worker_address& a, bool tls);

} // namespace caisson::sim
