// The results of a sweep, for those that print them.
#pragma once

#include <simulator/play/run_result.hpp>
#include <simulator/report/report.hpp>
#include <simulator/scenario/metric_names.hpp>
#include <simulator/sweep/sweep_plan.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

struct sweep_report {
  const sweep_plan& plan;
  /// By number of the run; nothing of what was not executed to its end.
  std::vector<std::optional<run_result>> runs;
  bool interrupted = false;
  /// Checks that failed, one line each.
  std::vector<std::string> failures;
};

/// An arm at a point, over all seeds.
struct sweep_summary {
  std::uint64_t runs = 0;
  /// By `verdict_kind`.
  std::array<std::uint64_t, all_verdicts.size()> verdicts = {};
  /// In the order of the plan's metrics; runs without such a number are left
  /// out.
  std::vector<spread> metrics;
};

[[nodiscard]] sweep_summary summary_of(const sweep_report& r, std::size_t point,
                                       std::size_t arm);

/// `12.3 ms`, `99.90 %`, `12.345`; `-` if there is none, `never` if it is
/// infinite.
[[nodiscard]] std::string metric_text(double x, metric_unit u);
/// `time`, `share` or `number`, as pages call it.
[[nodiscard]] std::string_view name_of(metric_unit u);

} // namespace caisson::sim
