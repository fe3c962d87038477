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
    std::vector<std::vector<double>> known;
    for (const auto& x : numbers_of(arm_result{}, output::brief)) {
      s.numbers.push_back({.column = x.column, .values = {}});
      known.emplace_back();
    }
    for (auto result : results_of(r, arm.name)) {
      if (result->interrupted)
        continue;
      ++s.runs;
      ++s.verdicts[static_cast<std::size_t>(result->verdict)];
      s.relapsed += !result->relapses.empty();
      std::size_t i = 0;
      for (const auto& x : numbers_of(*result, output::brief)) {
        if (x.value)
          known[i].push_back(*x.value);
        ++i;
      }
    }
    for (std::size_t i = 0; i < known.size(); ++i)
      s.numbers[i].values = spread_of(std::move(known[i]));
  }
  return out;
}

} // namespace caisson::sim
