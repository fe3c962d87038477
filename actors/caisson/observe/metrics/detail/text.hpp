// Snapshots of gates as the text that Prometheus scrapes.
#pragma once

#include <caisson/observe/gate_watch.hpp>
#include <caisson/observe/metrics_config.hpp>

#include <string>
#include <vector>

namespace caisson::detail {

/// The metrics of `families_of` in the text format 0.0.4 of Prometheus, the
/// same as prometheus-cpp writes.
[[nodiscard]] std::string text_of(const std::vector<watched_gate>& gates,
                                  const metrics_config& c);

} // namespace caisson::detail
