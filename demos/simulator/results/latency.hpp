// Latencies of requests: the record and its columns.
#pragma once

#include <simulator/results/column.hpp>

namespace caisson::sim {

/// Latencies of a set of requests. Percentiles are exact to 1.6 %, the rest is
/// exact. All zero if `count` is.
struct latency_summary {
  std::uint64_t count = 0;
  duration mean = duration::zero();
  duration p50 = duration::zero();
  duration p90 = duration::zero();
  duration p95 = duration::zero();
  duration p99 = duration::zero();
  duration p999 = duration::zero();
  duration max = duration::zero();

  friend bool operator==(const latency_summary&, const latency_summary&)
    = default;
};

constexpr result_column<latency_summary>
latency_column(std::string_view name, duration latency_summary::*field,
               column_kind kind, std::string_view help, column_traits traits) {
  traits.unit = metric_unit::seconds;
  traits.sense = tune_sense::less;
  return {name, field, kind, help, traits};
}

/// In CSV their names follow `latency_`.
inline constexpr result_column<latency_summary> latency_columns[] = {
  {"count", &latency_summary::count, column_kind::sum,
   "requests answered with success", called(no_metric)},
  latency_column("mean", &latency_summary::mean, column_kind::mean,
                 "their mean latency", {.csv = 1}),
  latency_column(
    "p50", &latency_summary::p50, column_kind::percentile,
    "what 50 % of them do not exceed",
    {.csv = 1, .html = 1, .text = 1, .page = {.curve = 1, .card = 1}}),
  latency_column("p90", &latency_summary::p90, column_kind::percentile,
                 "what 90 % of them do not exceed", {}),
  latency_column("p95", &latency_summary::p95, column_kind::percentile,
                 "what 95 % of them do not exceed",
                 {.csv = 1, .html = 1, .page = {.curve = 1}}),
  latency_column("p99", &latency_summary::p99, column_kind::percentile,
                 "what 99 % of them do not exceed",
                 {.csv = 1,
                  .html = 1,
                  .text = 1,
                  .brief = 1,
                  .page = {.curve = 1, .card = 1}}),
  latency_column("p999", &latency_summary::p999, column_kind::percentile,
                 "what 99.9 % of them do not exceed", {}),
  latency_column("max", &latency_summary::max, column_kind::largest,
                 "the largest", {.csv = 1, .html = 1}),
};

} // namespace caisson::sim
