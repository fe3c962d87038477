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
