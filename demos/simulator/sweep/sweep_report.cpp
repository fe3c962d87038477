#include <simulator/sweep/sweep_report.hpp>

#include <simulator/report/numbers.hpp>
#include <simulator/scenario/threshold.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace caisson::sim {

sweep_summary summary_of(const sweep_report& r, std::size_t point,
                         std::size_t arm) {
  sweep_summary out;
  const auto& names = r.plan.metrics;
  std::vector<std::vector<double>> all(names.size());
  for (std::size_t seed = 0; seed < r.plan.seeds; ++seed) {
    const auto& run = r.runs[r.plan.index_of({point, seed, arm})];
    if (!run)
      continue;
    ++out.runs;
    ++out.verdicts[static_cast<std::size_t>(run->verdict)];
    for (std::size_t i = 0; i < names.size(); ++i)
      if (auto x = run->metrics.find(names[i]);
          x != run->metrics.end() && !std::isnan(x->second))
        all[i].push_back(x->second);
  }
  for (auto& xs : all)
    out.metrics.push_back(spread_of(std::move(xs)));
  return out;
}

metric_unit unit_of(std::string_view metric) {
  constexpr std::string_view times[] = {"mean", "p50",    "p90", "p95",
                                        "p99",  "p999",   "max", "wait",
                                        "time", "sojourn"};
  constexpr std::string_view shares[] = {"utilization", "refused_share",
                                         "waited_share"};
  if (metric == "recovery" || metric == "recovered_at"
      || is_time_to_threshold(metric))
    return metric_unit::seconds;
  if (metric == "success")
    return metric_unit::share;
  auto last = metric.substr(metric.rfind('.') + 1);
  auto is_of = [&](std::string_view family) {
    return metric.starts_with(family);
  };
  if (is_of("load.") && last == "success")
    return metric_unit::share;
  if ((is_of("latency.") || is_of("operation.") || is_of("load.")
       || is_of("service."))
      && std::ranges::find(times, last) != std::end(times))
    return metric_unit::seconds;
  if (is_of("service.") && std::ranges::find(shares, last) != std::end(shares))
    return metric_unit::share;
  return metric_unit::none;
}

std::string metric_text(double x, metric_unit u) {
  if (std::isnan(x))
    return "-";
  if (std::isinf(x))
    return "never";
  switch (u) {
    case metric_unit::seconds:
      return short_time(from_seconds(x));
    case metric_unit::share:
      return percent(x);
    case metric_unit::none:
      break;
  }
  // Digits of what is no integer are not worth more.
  return x == std::floor(x) && std::abs(x) < 1e15 ? fmt::format("{:.0f}", x)
                                                  : fmt::format("{:.5g}", x);
}

std::string_view name_of(metric_unit u) {
  switch (u) {
    case metric_unit::seconds:
      return "time";
    case metric_unit::share:
      return "share";
    case metric_unit::none:
      break;
  }
  return "number";
}

} // namespace caisson::sim
