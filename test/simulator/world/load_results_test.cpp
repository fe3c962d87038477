// Results of the loads of an arm, each for itself.
#include <support/command_rig.hpp>
#include <support/scratch.hpp>
#include <support/sim_results.hpp>

#include <simulator/play/run.hpp>
#include <simulator/report/expectations.hpp>
#include <simulator/report/json_values.hpp>
#include <simulator/report/metrics.hpp>
#include <simulator/scenario/scenario.hpp>
#include <simulator/scenario/tune_goal.hpp>
#include <simulator/sweep/sweep_report.hpp>

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

// Buyers need the slow service, which fails for a time; visitors do not.
constexpr auto two_loads = R"(
length = "20s"
warmup = "2s"
[service.web]
workers = 50
time = "2ms"
[service.web.op.look]
time = "2ms"
[service.web.op.buy]
time = "2ms"
calls = ["pay"]
[service.pay]
workers = 50
time = { kind = "exponential", mean = "20ms" }
[load.visitors]
kind = "constant"
rate = 50
target = "web.look"
timeout = "200ms"
[load.buyers]
kind = "constant"
rate = 20
target = "web.buy"
timeout = "200ms"
[[fault]]
kind = "errors"
target = "pay"
rate = 1.0
at = "5s"
for = "5s"
)";

arm_result loads_played(const arm_config& arm) {
  run_options o;
  o.seed = 3;
  o.step = 1;
  return run_arm(arm, o);
}

arm_result loads_played(const std::string& text) {
  return loads_played(parse_scenario(text, "two.toml").arms.at(0));
}

TEST(load_results, are_of_one_load_each) {
  auto r = loads_played(two_loads);
  ASSERT_EQ(r.loads.size(), 2u);
  const auto& visitors = r.loads[0];
  const auto& buyers = r.loads[1];
  EXPECT_EQ(visitors.name, "visitors");
  EXPECT_EQ(buyers.name, "buyers");
  // 18 s without the warm-up; 5 s of them are bad for those who buy.
  EXPECT_EQ(visitors.offered, 900u);
  EXPECT_EQ(visitors.good, 900u);
  EXPECT_EQ(visitors.failed, 0u);
  EXPECT_EQ(buyers.offered, 360u);
  EXPECT_NEAR(static_cast<double>(buyers.failed), 100, 3);
  EXPECT_EQ(buyers.errors,
            (std::map<std::string, std::uint64_t>{{"failed", buyers.failed}}));
  EXPECT_LT(visitors.latency.max, 3ms);
  EXPECT_GT(buyers.latency.p50, 10ms);
  EXPECT_EQ(buyers.latency.count, buyers.good);
}

TEST(load_results, add_up_to_the_whole) {
  auto r = loads_played(two_loads);
  load_summary sum{.name = {}};
  for (const auto& x : r.loads) {
    sum.offered += x.offered;
    sum.good += x.good;
    sum.failed += x.failed;
    sum.latency.count += x.latency.count;
  }
  EXPECT_EQ(sum.offered, r.totals.offered);
  EXPECT_EQ(sum.good, r.totals.good);
  EXPECT_EQ(sum.failed, r.totals.failed);
  EXPECT_EQ(sum.latency.count, r.latency.count);
  for (const auto& row : r.rows) {
    ASSERT_EQ(row.loads.size(), 2u);
    EXPECT_EQ(row.loads[0].offered + row.loads[1].offered,
              row.requests.offered);
    EXPECT_EQ(row.loads[0].good + row.loads[1].good, row.requests.good);
    EXPECT_EQ(row.loads[0].failed + row.loads[1].failed, row.requests.failed);
  }
}

TEST(load_results, are_those_of_all_if_there_is_one_load) {
  std::string text = two_loads;
  auto begin = text.find("[load.visitors]");
  text.erase(begin, text.find("[load.buyers]") - begin);
  auto r = loads_played(text);
  ASSERT_EQ(r.loads.size(), 1u);
  EXPECT_EQ(r.loads[0].latency, r.latency);
  EXPECT_EQ(r.loads[0].offered, r.totals.offered);
  EXPECT_EQ(r.loads[0].errors, r.totals.errors);
}

TEST(load_results, have_names_as_metrics) {
  auto r = loads_played(two_loads);
  EXPECT_EQ(metric_of(r, "load.visitors.success"), 1);
  EXPECT_NEAR(metric_of(r, "load.buyers.success"), 260.0 / 360, 0.01);
  EXPECT_EQ(metric_of(r, "load.buyers.offered"), 360);
  EXPECT_EQ(metric_of(r, "load.buyers.offered_rate"), 20);
  EXPECT_NEAR(metric_of(r, "load.buyers.failed", 5s, 10s), 100, 3);
  EXPECT_LT(metric_of(r, "load.buyers.success", 5s, 10s), 0.1);
  EXPECT_NEAR(metric_of(r, "load.visitors.goodput", 5s, 10s), 50, 0.3);
  EXPECT_LT(metric_of(r, "load.visitors.p99"), 0.003);
  auto refusal = [&](std::string_view name, std::optional<duration> from) {
    try {
      return std::to_string(metric_of(r, name, from));
    } catch (const std::invalid_argument& e) {
      return std::string{e.what()};
    }
  };
  EXPECT_EQ(refusal("load.byers.success", {}),
            "load \"byers\" is not one of: visitors, buyers");
  EXPECT_TRUE(refusal("load.buyers.recovery", {})
                .starts_with("number of a load \"recovery\" is not one of: "))
    << refusal("load.buyers.recovery", {});
  EXPECT_EQ(refusal("load.buyers.p99", 5s).find("is not one of"),
            std::string::npos);
  EXPECT_NE(refusal("load.buyers.p99", 5s), std::to_string(0.0));
}

TEST(load_results, can_be_expected_and_have_a_time_to_threshold) {
  auto text = std::string{two_loads} + R"toml(
[expect]
check = [
  { metric = "load.visitors.success", min = 1.0 },
  { metric = "load.buyers.success", max = 0.1, from = "5s", to = "10s" },
  { metric = "first(load.buyers.success < 0.5)", min = "5s", max = "5s" },
  { metric = "load.buyers.success", min = 0.9 },
]
)toml";
  auto world = parse_scenario(text, "two.toml");
  auto r = loads_played(world.arms.at(0));
  auto failed = failed_expectations(world.arms[0], r);
  ASSERT_EQ(failed.size(), 1u) << failed.front();
  EXPECT_NE(failed[0].find("load.buyers.success is 0.7"), std::string::npos)
    << failed[0];
}

TEST(load_results, have_units_and_a_usual_sense) {
  EXPECT_EQ(unit_of("load.u.success"), metric_unit::share);
  EXPECT_EQ(unit_of("load.u.p99"), metric_unit::seconds);
  EXPECT_EQ(unit_of("load.u.offered"), metric_unit::none);
  EXPECT_EQ(usual_sense("load.u.success"), tune_sense::more);
  EXPECT_EQ(usual_sense("load.u.goodput"), tune_sense::more);
  EXPECT_EQ(usual_sense("load.u.failed"), tune_sense::less);
  EXPECT_EQ(usual_sense("load.u.p99"), tune_sense::less);
  EXPECT_EQ(usual_sense("load.u.offered"), std::nullopt);
}

// Neither rows nor a page are asked for.
TEST(load_results, and_reasons_are_in_the_terminal_at_once) {
  test::scratch_dir dir;
  // Half of what buyers ask for can be done.
  std::string text = two_loads;
  text.erase(text.find("[[fault]]"));
  text.replace(text.find("workers = 50\ntime = { kind"), 12, "workers = 1");
  text.replace(text.find("20ms"), 4, "100ms");
  auto file = dir.write("two.toml", text).string();
  std::ostringstream out;
  std::ostringstream err;
  command_parts parts;
  EXPECT_EQ(test::run_command({"run", file}, out, err, parts), 0) << err.str();
  auto reason = out.str().find("\n\ndefault: the load holds pay at ");
  ASSERT_NE(reason, std::string::npos) << out.str();
  EXPECT_NE(out.str().find("\n\narm      load      offered", reason),
            std::string::npos)
    << out.str();
}

TEST(load_results, are_in_json) {
  auto json = arm_values(loads_played(two_loads));
  const auto& loads = json.at("loads");
  ASSERT_EQ(loads.size(), 2u);
  EXPECT_EQ(loads[0]["name"], "visitors");
  EXPECT_EQ(loads[0]["success"], 1.0);
  EXPECT_EQ(loads[1]["errors"]["failed"], loads[1]["failed"]);
  EXPECT_EQ(loads[1]["unanswered"], 0);
  EXPECT_EQ(loads[1]["latency"]["count"], loads[1]["good"]);
}

} // namespace
} // namespace caisson::sim
