// The names of the numbers of a result.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// Counts of requests and what follows from them.
inline constexpr std::array<std::string_view, 11> count_metric_names{
  "success",       "offered",     "attempts",      "good",
  "failed",        "substituted", "amplification", "offered_rate",
  "attempts_rate", "goodput",     "failed_rate",
};

/// What is only known of a run as a whole.
inline constexpr std::array<std::string_view, 4> run_metric_names{
  "unanswered",
  "recovery",
  "recovered_at",
  "relapses",
};

/// What follows `latency.`, `operation.NAME.` and `load.NAME.`.
inline constexpr std::array<std::string_view, 7> latency_metric_names{
  "mean", "p50", "p90", "p95", "p99", "p999", "max",
};

/// What follows `load.NAME.`, beside the names of latencies.
inline constexpr std::array<std::string_view, 8> load_metric_names{
  "success",     "offered",      "good",    "failed",
  "substituted", "offered_rate", "goodput", "failed_rate",
};

/// What follows `service.NAME.`.
inline constexpr std::array<std::string_view, 20> service_metric_names{
  "arrivals",  "refused",     "refused_share", "shed",      "down",
  "completed", "failed",      "abandoned",     "lost",      "late",
  "started",   "waited",      "waited_share",  "wait",      "time",
  "sojourn",   "utilization", "inside",        "queue_max", "little_error",
};

/// What follows `edge.NAME.`.
inline constexpr std::array<std::string_view, 4> edge_metric_names{
  "calls", "lost_calls", "lost_answers", "repeated"};

/// The same, only of edges on which calls may cross zones.
inline constexpr std::array<std::string_view, 2> zone_metric_names{
  "crossed", "crossed_share"};

/// The same, only of edges whose connections are limited.
inline constexpr std::array<std::string_view, 10> connection_metric_names{
  "asked",  "waited", "refused", "expired",  "abandoned",
  "opened", "wait",   "used",    "used_max", "waiting_max"};

/// All names of numbers of any arm, those with a `*` standing for a name or an
/// error's kind.
[[nodiscard]] std::vector<std::string> metric_names();

} // namespace caisson::sim
