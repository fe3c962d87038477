#include <simulator/report/metrics.hpp>
#include <simulator/report/report.hpp>

#include <algorithm>
#include <cstddef>

namespace caisson::sim {

spread spread_of(std::vector<double> xs) {
  if (xs.empty())
    return {};
  std::ranges::sort(xs);
  auto half = xs.size() / 2;
  auto median = xs.size() % 2 == 1 ? xs[half] : (xs[half - 1] + xs[half]) / 2;
  return {xs.front(), median, xs.back()};
}

void arm_speed::add(const arm_result& r) {
  wall_seconds += r.wall_seconds;
  simulated_seconds += to_seconds(r.length);
  messages += r.messages;
  for (const auto& row : r.rows)
    requests += row.requests.offered;
}

std::vector<const arm_result*> results_of(const report& r,
                                          std::string_view arm) {
  std::vector<const arm_result*> out;
  for (const auto& run : r.runs)
    for (const auto& result : run.arms)
      if (result.name == arm)
        out.push_back(&result);
  return out;
}

std::vector<arm_summary> summaries(const report& r) {
  std::vector<arm_summary> out;
  for (const auto& arm : r.arms) {
    auto& s = out.emplace_back();
    s.name = arm.name;
    std::vector<double> recovery;
    std::vector<double> success;
    std::vector<double> p99;
    for (auto result : results_of(r, arm.name)) {
      if (result->interrupted)
        continue;
      ++s.runs;
      ++s.verdicts[static_cast<std::size_t>(result->verdict)];
      s.relapsed += !result->relapses.empty();
      if (result->verdict != verdict_kind::no_fault)
        recovery.push_back(metric_of(*result, "recovery"));
      if (result->totals.offered > 0)
        success.push_back(metric_of(*result, "success"));
      if (result->latency.count > 0)
        p99.push_back(to_seconds(result->latency.p99));
    }
    s.recovery = spread_of(std::move(recovery));
    s.success = spread_of(std::move(success));
    s.p99 = spread_of(std::move(p99));
  }
  return out;
}

} // namespace caisson::sim
