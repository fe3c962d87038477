#include <caisson/metrics/server.hpp>

#include <caisson/metrics/collector.hpp>
#include <caisson/metrics/detail/address.hpp>

#include <fmt/format.h>
#include <prometheus/exposer.h>

#include <exception>
#include <stdexcept>
#include <vector>

namespace caisson {

namespace {

// The server's own default is half a minute for a client that says nothing,
// and there are two threads.
std::unique_ptr<prometheus::Exposer> exposer_at(const std::string& address) {
  std::vector<std::string> options{"listening_ports",    address,
                                   "num_threads",        "2",
                                   "request_timeout_ms", "5000"};
  try {
    return std::make_unique<prometheus::Exposer>(std::move(options));
  } catch (const std::exception& x) {
    throw std::runtime_error{
      fmt::format("cannot serve metrics on {}: {}", address, x.what())};
  }
}

} // namespace

struct metrics_server::parts {
  parts(caf::actor_system& sys, const std::string& address,
        const metrics_config& c)
    : collector(std::make_shared<metrics_collector>(sys, c)),
      exposer(exposer_at(address)) {
    exposer->RegisterCollectable(collector);
    auto ports = exposer->GetListeningPorts();
    port = ports.empty() ? 0 : ports.front();
  }

  std::shared_ptr<metrics_collector> collector;
  /// Ends first.
  std::unique_ptr<prometheus::Exposer> exposer;
  int port = 0;
};

metrics_server::metrics_server(caf::actor_system& sys,
                               const std::string& address, metrics_config c)
  : parts_(
    std::make_unique<parts>(sys, detail::listening_address(address), c)) {}

metrics_server::~metrics_server() = default;

std::uint16_t metrics_server::port() const noexcept {
  return static_cast<std::uint16_t>(parts_->port);
}

} // namespace caisson
