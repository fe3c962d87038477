// Reports of sweeps, from results that are made by hand.
#include <simulator/sweep/sweep_plan.hpp>
#include <simulator/sweep/sweep_report.hpp>
#include <simulator/sweep/sweep_table.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {
namespace {

using strings = std::vector<std::string>;

TEST(sweep_summary, is_of_the_runs_that_are_there) {
  sweep_plan p;
  p.parameters = {{"a",
                   "a",
                   {sweep_value_of({std::int64_t{1}, {}}),
                    sweep_value_of({std::int64_t{2}, {}})}}};
  p.arms = {"x"};
  p.seeds = 3;
  p.metrics = {"m"};
  sweep_report r{.plan = p, .runs = {}, .failures = {}};
  auto nan = std::numeric_limits<double>::quiet_NaN();
  r.runs = {run_result{verdict_kind::stuck, {{"m", 3}}},
            run_result{verdict_kind::stuck, {{"m", nan}}},
            run_result{verdict_kind::recovered, {{"m", 1}}},
            std::nullopt,
            std::nullopt,
            std::nullopt};
  auto s = summary_of(r, 0, 0);
  EXPECT_EQ(s.runs, 3u);
  EXPECT_EQ(s.verdicts[static_cast<std::size_t>(verdict_kind::stuck)], 2u);
  EXPECT_EQ(s.metrics[0].min, 1);
  EXPECT_EQ(s.metrics[0].median, 2);
  EXPECT_EQ(s.metrics[0].max, 3);
  EXPECT_EQ(summary_of(r, 1, 0).runs, 0u);
  std::ostringstream out;
  write_sweep_table(out, r);
  EXPECT_NE(out.str().find("2  -"), std::string::npos) << out.str();
}

TEST(sweep_plan, names_its_parameters_shortly) {
  auto names = [](const strings& paths) {
    std::vector<sweep_parameter> all;
    for (const auto& path : paths)
      all.push_back({path, setting_path{path}, {}});
    return short_names(all);
  };
  EXPECT_EQ(names({"service.db.workers", "load.u.rate"}),
            (strings{"workers", "rate"}));
  EXPECT_EQ(names({"service.db.workers", "service.web.workers", "length"}),
            (strings{"service.db.workers", "service.web.workers", "length"}));
}

TEST(metric_units, are_those_of_the_docs) {
  const std::pair<std::string, metric_unit> cases[] = {
    {"success", metric_unit::share},
    {"goodput", metric_unit::none},
    {"latency.p99", metric_unit::seconds},
    {"operation.web.home.max", metric_unit::seconds},
    {"operation.web.home.count", metric_unit::none},
    {"service.db.wait", metric_unit::seconds},
    {"service.db.utilization", metric_unit::share},
    {"service.db.queue_max", metric_unit::none},
    {"edge.a -> b.wait", metric_unit::seconds},
    {"edge.a -> b.crossed_share", metric_unit::share},
    {"edge.a -> b.used", metric_unit::none},
    {"recovery", metric_unit::seconds},
    {"gate.a -> b.time", metric_unit::none},
  };
  for (const auto& [name, unit] : cases)
    EXPECT_EQ(unit_of(name), unit) << name;
}

} // namespace
} // namespace caisson::sim
