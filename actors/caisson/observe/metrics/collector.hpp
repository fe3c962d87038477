// The gates of a system as metrics, for an exposer of prometheus-cpp.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/observe/gate_watch.hpp>
#include <caisson/observe/metrics_config.hpp>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

namespace caisson {

/// Collects the metrics of all gates of a system; docs/operation.md lists them.
/// Register it with your own exposer:
///
///     auto gates = std::make_shared<caisson::metrics_collector>(system);
///     exposer.RegisterCollectable(gates);
///
/// From its construction on, the gates publish what they count (`gate_watch`).
/// `Collect` reads the last publications: it sends no message and waits for no
/// gate. It may be called from any thread. The collector must not outlive the
/// system.
class metrics_collector final : public prometheus::Collectable {
public:
  /// Throws `config_error` if the configuration is not valid.
  explicit metrics_collector(caf::actor_system& sys, metrics_config c = {});

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

private:
  const metrics_config config_;
  const gate_watch gates_;
};

} // namespace caisson
