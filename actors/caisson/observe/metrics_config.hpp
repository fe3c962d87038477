// Settings of the metrics of an actor system.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/settings/field.hpp>

#include <chrono>
#include <cstdint>

namespace caisson {

/// Which metrics of gates there are. What is said of Prometheus applies to a
/// collector of OpenTelemetry (otlp/exporter.hpp) as well.
struct metrics_config {
  /// A gate publishes changes at most this often, and at most this late: 10 ms
  /// to 1 h, default 1 s. A scrape shows what was published last.
  duration publish_every = std::chrono::seconds(1);

  /// How many gates have metrics at most, the first by name;
  /// `caisson_gates_left_out` counts the others. 1 to 1000000, default 10000.
  std::uint32_t max_gates = 10'000;

  /// How many keys of a layer with a policy for each key have metrics, the
  /// busiest first: 0 to 100, default none. The busiest keys change, and
  /// Prometheus keeps the series of each key that ever was among them.
  std::uint32_t keys_per_layer = 0;

  /// Whether counters that are zero have a series, default true. Without them a
  /// page is a third smaller, but `rate` and `increase` do not see the first
  /// event of each, and an alert on it is not raised.
  bool zero_counters = true;

  /// Whether histograms of what was never measured, as the durations of failed
  /// calls where none has failed, have their series, default false: there are
  /// a dozen for each, and no quantile of nothing.
  bool empty_histograms = false;
};

void describe(field_visitor& v, metrics_config& c);

} // namespace caisson
