#include <simulator/remote/remote_network.hpp>

#include <simulator/remote/messages.hpp>
#include <simulator/remote/reachable.hpp>

#include <caisson/caf/caf_io.hpp>
#include <caisson/settings/problem.hpp>

#include <fmt/format.h>

#include <chrono>

namespace caisson::sim {

namespace {

// Runs before the base class config is constructed, as CAF 1.x wants it.
struct remote_types_ready {
  remote_types_ready() { init_remote_types(); }
};

template <class Base>
class config_for_remote : private remote_types_ready, public Base {
public:
  template <class... Ts>
  explicit config_for_remote(const Ts&... xs) : Base(xs...) {
    add_remote_types(*this);
    // They have little to do: runs have threads of their own.
    portable::set_threads(*this, 2);
    portable::share_work(*this);
  }
};

} // namespace

void require_safe(const worker_address& a, const remote_certificates& files,
                  bool insecure, const std::string& option) {
  if (insecure || files.any() || a.is_loopback())
    return;
  throw config_error{
    {{problem_kind::relation,
      setting_path{} / option,
      fmt::format("{} can be reached from other machines, and whoever "
                  "connects can run scenarios of their own here: pass "
                  "--certificate, --key and --ca, or --insecure if every "
                  "machine in that network may do so",
                  a.text()),
      {}}}};
}

std::unique_ptr<caf::actor_system_config>
remote_config(const remote_certificates& files) {
  if (!files.any())
    return std::make_unique<config_for_remote<caisson::network_config>>();
  auto missing = [](const std::string& option) {
    throw config_error{{{problem_kind::missing,
                         setting_path{} / option,
                         "is required with certificates",
                         {}}}};
  };
  if (files.certificate.empty())
    missing("--certificate");
  if (files.key.empty())
    missing("--key");
  if (files.authority.empty())
    missing("--ca");
#ifdef CAISSON_TLS
  return std::make_unique<config_for_remote<tls_network_config>>(
    tls_files{files.certificate, files.key, files.authority, {}});
#else
  throw config_error{{{problem_kind::relation,
                       setting_path{} / "--certificate",
                       "this build has no TLS, as CAF was built without its "
                       "OpenSSL module",
                       {}}}};
#endif
}

caf::expected<std::uint16_t>
publish_worker(caf::actor_system& sys, const call_handle& gate,
               const worker_address& a, [[maybe_unused]] bool tls) {
#ifdef CAISSON_TLS
  if (tls)
    return portable::publish_tls(sys, gate, a.port, a.host);
#endif
  return portable::publish(sys, gate, a.port, a.host);
}

caf::expected<caf::actor> connect_worker(caf::actor_system& sys,
                                         const worker_address& a,
                                         [[maybe_unused]] bool tls) {
#ifdef CAISSON_TLS
  // Without looking first, since a connection that ends before its handshake
  // can cost the worker others (see docs/security.md).
  if (tls)
    return portable::connect_tls(sys, a.host, a.port);
#endif
  // CAF would wait for minutes, and connect to no other worker meanwhile.
  if (auto why = why_unreachable(a, std::chrono::seconds(3)); !why.empty())
    return make_error(errc::worker_down,
                      rejection{"connect", duration::zero(), false, why});
  return portable::connect(sys, a.host, a.port);
}

} // namespace caisson::sim
