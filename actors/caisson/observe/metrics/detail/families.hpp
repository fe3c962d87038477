// Snapshots of gates as families of metrics of prometheus-cpp.
#pragma once

#include <caisson/observe/gate_watch.hpp>
#include <caisson/observe/metrics_config.hpp>

#include <prometheus/metric_family.h>

#include <vector>

namespace caisson::detail {

/// All metrics of these gates; docs/operation.md lists them.
[[nodiscard]] std::vector<prometheus::MetricFamily>
families_of(const std::vector<watched_gate>& gates, const metrics_config& c);

} // namespace caisson::detail
