// Names and help texts of metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace caisson::detail {

/// What the values of a metric are: a count that only rises, a number, or how
/// often something was within each of several bounds.
enum class metric_type : std::uint8_t { counter, gauge, histogram };

/// A number of a gate, and its metric.
struct gate_metric {
  const char* key;
  const char* name;
  metric_type type;
  const char* help;
};

[[nodiscard]] std::span<const gate_metric> gate_metrics();

/// How a gauge of a layer is exported.
struct gauge_form {
  std::string name;
  const char* help = "";
  /// Of one of its units, in those of the metric.
  double scale = 1;
  /// A negative value means that nothing is known.
  bool negative_is_none = false;
  /// What the gauge is about, of gauges that differ in this alone, such as the
  /// name of a level, and the name of that label.
  const char* label = "";
  std::string about;
};

/// Of a gauge with that name of a policy of that kind. Metrics have base units:
/// `_us` becomes `_seconds`, `_permille` becomes `_ratio`.
[[nodiscard]] gauge_form form_of_gauge(std::string_view kind,
                                       std::string_view name);

/// `policy_kind::states` of that kind; empty if there is none by that name.
[[nodiscard]] std::span<const std::string_view>
states_of_kind(std::string_view kind);

} // namespace caisson::detail
