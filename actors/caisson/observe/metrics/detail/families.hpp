// Snapshots of gates as families of metrics.
#pragma once

#include <caisson/observe/gate_watch.hpp>
#include <caisson/observe/metrics/config.hpp>

#include <prometheus/metric_family.h>

#include <span>
#include <vector>

namespace caisson::detail {

/// The bounds of the buckets of all durations, each the end of a bucket of a
/// gate's histogram, so that the counts are exact: from 16 µs on by the factor
/// 4, from 1 ms to 34 s by the factor 2.
[[nodiscard]] std::span<const duration> duration_bounds();

/// All metrics of these gates; docs/operation.md lists them.
[[nodiscard]] std::vector<prometheus::MetricFamily>
families_of(const std::vector<watched_gate>& gates, const metrics_config& c);

} // namespace caisson::detail
