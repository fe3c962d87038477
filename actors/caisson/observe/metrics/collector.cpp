#include <caisson/observe/metrics/collector.hpp>

#include <caisson/observe/metrics/detail/families.hpp>
#include <caisson/settings/settings.hpp>

namespace caisson {

metrics_collector::metrics_collector(caf::actor_system& sys, metrics_config c)
  : config_((require_valid(c), c)),
    gates_(sys, {.every = c.publish_every, .keys = c.keys_per_layer}) {}

std::vector<prometheus::MetricFamily> metrics_collector::Collect() const {
  return detail::families_of(gates_.gates(), config_);
}

} // namespace caisson
