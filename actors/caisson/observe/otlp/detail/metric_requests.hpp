// Snapshots of gates as metrics of OpenTelemetry.
#pragma once

#include <caisson/observe/detail/metric_names.hpp>
#include <caisson/observe/gate_watch.hpp>
#include <caisson/observe/metrics_config.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::detail {

/// How a metric of the page for Prometheus is called in OpenTelemetry.
struct otlp_metric_name {
  std::string name;
  /// As UCUM writes it; empty: none.
  std::string_view unit;
};

/// Of a metric `caisson_…`: with dots between what it is about and what it
/// measures, and without the endings that say that it is a counter or in
/// seconds. Gauges of layers keep the latter: another one may have the rest of
/// the name.
[[nodiscard]] otlp_metric_name otlp_name_of(std::string_view prometheus,
                                            metric_type type);

/// Since when the counts of each gate are cumulative: the time of the
/// collection before the one that has seen it first, or a smaller count of its
/// calls than before. Times are in nanoseconds since 1970.
class gate_starts {
public:
  struct entry {
    std::uint64_t start = 0;
    double calls = 0;
    bool seen = true;
    /// Until when, on its own clock, examples of its calls were sent, and until
    /// when they are being sent.
    time_point sent = time_point::min();
    time_point sending = time_point::min();
  };

  explicit gate_starts(std::uint64_t now) : before_(now) {}

  /// That of the gate with these attributes, at the current collection.
  [[nodiscard]] entry& of(std::string_view attributes);

  /// The gate with this entry has had so many calls.
  void note_calls(entry& x, double calls) const;

  /// A collection at `now` is complete: gates that it has not seen are gone.
  void end(std::uint64_t now);

private:
  std::map<std::string, entry, std::less<>> all_;
  std::uint64_t before_;
};

/// A request is complete when the metrics in it have so many bytes.
inline constexpr std::size_t enough_metrics = std::size_t{1} << 20;

/// All metrics of these gates at `now`: a list of Metrics of OTLP in JSON for
/// each request, of which there is at least one. `offset` is the calendar's
/// time minus that of the gates' clock. Histograms of durations have those
/// examples that were published since they were last asked for.
[[nodiscard]] std::vector<std::vector<std::string>>
otlp_metrics(const std::vector<watched_gate>& gates, const metrics_config& c,
             gate_starts& starts, std::uint64_t now,
             std::size_t enough = enough_metrics,
             duration offset = duration::zero());

} // namespace caisson::detail
