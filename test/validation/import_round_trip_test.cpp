// A world that is simulated, traced, imported and played again stays the same.
#include <support/scratch.hpp>
#include <support/source_dir.hpp>

#include <simulator/import/importer.hpp>
#include <simulator/import/span_reader.hpp>
#include <simulator/play/run.hpp>
#include <simulator/report/report.hpp>
#include <simulator/report/spans_file.hpp>
#include <simulator/scenario/scenario.hpp>
#include <simulator/world/world_plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

constexpr double tolerance = 0.05;

// The shop of demos/scenarios on a good day.
arm_config boutique() {
  auto s = load_scenario(test::source_path("demos/scenarios/boutique.toml"));
  auto arm = s.arms.at(0);
  arm.faults.clear();
  arm.expect = {};
  return arm;
}

// All calls are recorded.
arm_result traced(const arm_config& arm, std::uint64_t seed) {
  run_options how;
  how.seed = seed;
  how.trace = trace_settings{0s, arm.length, 40'000'000};
  return run_arm(arm, how);
}

struct edge_times {
  // Calls per second.
  double rate = 0;
  // Seconds that callers waited, ascending.
  std::vector<double> waits;

  [[nodiscard]] double quantile(double q) const {
    auto i = static_cast<std::size_t>(q * static_cast<double>(waits.size()));
    return waits.at(std::min(i, waits.size() - 1));
  }
};

// By `caller -> operation`.
std::map<std::string, edge_times> edges_of(const arm_config& arm,
                                           const arm_result& r) {
  world_plan plan{arm};
  std::map<std::string, edge_times> out;
  for (const auto& request : r.details->trace->requests)
    for (const auto& c : request.calls)
      out[plan.routes[c.route].from + " -> "
          + plan.operations[c.operation].name]
        .waits.push_back(to_seconds(c.ended.value() - c.sent_at));
  for (auto& [name, edge] : out) {
    std::ranges::sort(edge.waits);
    edge.rate = static_cast<double>(edge.waits.size()) / to_seconds(arm.length);
  }
  return out;
}

double off(double imported, double real) {
  return std::abs(imported / real - 1);
}

// How far a quantile is off beyond two standard deviations of the share of
// calls that both samples have below it.
double off_beyond_chance(const edge_times& imported, const edge_times& real,
                         double q) {
  auto chance = 2
                * std::sqrt(q * (1 - q)
                            * (1 / static_cast<double>(imported.waits.size())
                               + 1 / static_cast<double>(real.waits.size())));
  auto copied = imported.quantile(q);
  return std::max({0.0, real.quantile(q - chance) - copied,
                   copied - real.quantile(q + chance)})
         / real.quantile(q);
}

import_result imported(const arm_config& arm, arm_result r) {
  report all;
  all.file = "boutique.toml";
  all.arms = {arm};
  all.runs.push_back({1, {}});
  all.runs.back().arms.push_back(std::move(r));
  test::scratch_dir dir;
  {
    std::ofstream file{dir / "spans.json"};
    write_spans(file, all, "1.2.3");
  }
  all = {};
  std::ifstream file{dir / "spans.json"};
  span_set spans;
  read_spans(file, "spans.json", span_format::otlp, spans);
  return scenario_from_spans(std::move(spans), {.files = {"spans.json"}});
}

// The P99 of a thousand calls is that of the ten longest, which is off by more
// than that by chance: there, and only there, chance is left out.
constexpr std::size_t many_calls = 10'000;

TEST(import_of_the_boutique, keeps_rates_and_latencies_of_each_edge) {
  auto arm = boutique();
  arm.length = 60s;
  auto before = traced(arm, 1);
  auto real = edges_of(arm, before);
  auto p50 = before.latency.p50;
  auto p99 = before.latency.p99;
  auto again = imported(arm, std::move(before));
  SCOPED_TRACE(again.toml);
  auto copy = parse_scenario(again.toml, "imported").arms.at(0);
  copy.length = 120s;
  auto after = traced(copy, 2);
  EXPECT_LT(off(to_seconds(after.latency.p50), to_seconds(p50)), tolerance);
  EXPECT_LT(off(to_seconds(after.latency.p99), to_seconds(p99)), tolerance);
  auto copied = edges_of(copy, after);
  EXPECT_EQ(copied.size(), real.size());
  int edges_with_many = 0;
  for (const auto& [name, edge] : real) {
    SCOPED_TRACE(name + ", " + std::to_string(edge.waits.size()) + " calls");
    ASSERT_TRUE(copied.contains(name));
    EXPECT_LT(off(copied[name].rate, edge.rate), tolerance);
    EXPECT_LT(off(copied[name].quantile(0.5), edge.quantile(0.5)), tolerance);
    EXPECT_LT(off_beyond_chance(copied[name], edge, 0.99), tolerance);
    if (edge.waits.size() < many_calls)
      continue;
    ++edges_with_many;
    EXPECT_LT(off(copied[name].quantile(0.99), edge.quantile(0.99)), tolerance);
  }
  EXPECT_GE(edges_with_many, 8);
}

} // namespace
} // namespace caisson::sim
