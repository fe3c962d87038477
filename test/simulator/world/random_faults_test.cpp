// Faults that come at random.
#include <simulator/play/run.hpp>
#include <simulator/report/report.hpp>
#include <simulator/report/trace_file.hpp>
#include <simulator/scenario/fault_times.hpp>
#include <simulator/scenario/faults.hpp>

#include <support/sim_scenarios.hpp>
#include <support/simulated.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <sstream>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using test::log_with;
using test::played;
using testing::IsEmpty;
using testing::SizeIs;

double in_seconds(duration d) {
  return std::chrono::duration<double>(d).count();
}

arm_config with_fault(fault_config f) {
  arm_config arm;
  arm.length = 100h;
  arm.services.emplace_back();
  arm.services.back().name = "db";
  arm.services.back().replicas = 3;
  arm.faults.push_back(std::move(f));
  return arm;
}

fault_config crash(std::string target = "db") {
  fault_config f;
  f.kind = fault_kind::crash;
  f.target = std::move(target);
  return f;
}

TEST(fault_times, are_those_of_the_fault_unless_it_comes_at_random) {
  auto f = crash();
  f.at = 3s;
  f.lasts = 5s;
  auto arm = with_fault(f);
  for (std::uint32_t replica : {0, 1}) {
    auto times = fault_times(arm, 0, replica, draw_key{1});
    ASSERT_THAT(times, SizeIs(1));
    EXPECT_EQ(times[0].at, 3s);
    EXPECT_EQ(times[0].lasts, 5s);
  }
  EXPECT_THAT(all_fault_times(arm, 0, 1), SizeIs(1));
  EXPECT_EQ(all_fault_times(arm, 0, 1)[0].replica, 0u);
}

// 360,000 s of 10 s well and 2 s ill: 30,000 times.
TEST(fault_times, have_the_means_that_were_asked_for) {
  auto f = crash();
  f.at = 50s;
  f.mtbf = 10s;
  f.mttr = 2s;
  auto times = fault_times(with_fault(f), 0, 0, draw_key{1});
  EXPECT_NEAR(static_cast<double>(times.size()), 30'000, 500);
  duration ill = 0s;
  duration well = 0s;
  duration end = 50s;
  for (const auto& x : times) {
    ASSERT_GT(x.at, end);
    well += x.at - end;
    ill += x.lasts;
    end = x.at + x.lasts;
  }
  auto n = static_cast<double>(times.size());
  EXPECT_NEAR(in_seconds(well) / n, 10, 0.2);
  EXPECT_NEAR(in_seconds(ill) / n, 2, 0.05);
  EXPECT_LT(times.back().at, 100h);
}

TEST(fault_times, may_last_equally_long) {
  auto f = crash();
  f.mtbf = 1h;
  f.lasts = 7s;
  auto times = fault_times(with_fault(f), 0, 0, draw_key{1});
  ASSERT_GT(times.size(), 50u);
  for (const auto& x : times)
    EXPECT_EQ(x.lasts, 7s);
}

TEST(fault_times, depend_on_seed_place_and_replica_only) {
  auto f = crash();
  f.mtbf = 1h;
  f.mttr = 1min;
  auto arm = with_fault(f);
  arm.faults.push_back(f);
  auto first = [&](std::size_t index, std::uint32_t replica,
                   std::uint64_t seed) {
    return fault_times(arm, index, replica, draw_key{seed}).at(0).at;
  };
  EXPECT_EQ(first(0, 0, 1), first(0, 0, 1));
  EXPECT_NE(first(0, 0, 1), first(0, 1, 1));
  EXPECT_NE(first(0, 0, 1), first(1, 0, 1));
  EXPECT_NE(first(0, 0, 1), first(0, 0, 2));
}

TEST(fault_times, of_all_replicas_are_in_order_and_not_too_many) {
  auto f = crash();
  f.mtbf = 20h;
  f.mttr = 1min;
  auto arm = with_fault(f);
  auto all = all_fault_times(arm, 0, 1);
  ASSERT_GT(all.size(), 5u);
  for (std::size_t i = 1; i < all.size(); ++i)
    EXPECT_LE(all[i - 1].at, all[i].at);
  EXPECT_GT(all[0].replica, 0u);
  auto second = all_fault_times(with_fault([&] {
                                  auto one = f;
                                  one.target = "db#2";
                                  return one;
                                }()),
                                0, 1);
  for (const auto& x : second)
    EXPECT_EQ(x.replica, 2u);
  EXPECT_EQ(second.at(0).at, fault_times(arm, 0, 1, draw_key{1}).at(0).at);
  arm.faults[0].mtbf = 1min;
  EXPECT_THAT(all_fault_times(arm, 0, 1), SizeIs(500));
}

TEST(recovery_start, leaves_out_what_comes_at_random) {
  auto f = crash();
  f.mtbf = 1h;
  f.mttr = 1min;
  auto arm = with_fault(f);
  EXPECT_EQ(recovery_start(arm), std::nullopt);
  EXPECT_EQ(planned_faults(arm), 0u);
  auto planned = crash();
  planned.at = 5s;
  planned.lasts = 2s;
  arm.faults.push_back(planned);
  EXPECT_EQ(recovery_start(arm), 7s);
  EXPECT_EQ(planned_faults(arm), 1u);
}

TEST(scenario_random_fault, is_checked) {
  auto mistakes = [](const std::string& more) {
    return test::mistakes_in(std::string{test::smallest_world}
                             + "[[fault]]\ntarget = 'web'\n" + more);
  };
  using names = std::vector<std::string>;
  EXPECT_THAT(mistakes("kind = 'crash'\nmtbf = '5s'\nmttr = '1s'"), IsEmpty());
  EXPECT_THAT(mistakes("kind = 'crash'\nmtbf = '5s'\nfor = '1s'"), IsEmpty());
  EXPECT_THAT(mistakes("kind = 'flush'\nmtbf = '5s'"), IsEmpty());
  EXPECT_EQ(mistakes("kind = 'crash'\nmttr = '5s'"),
            names{"relation fault[0].mttr"});
  EXPECT_EQ(mistakes("kind = 'crash'\nmtbf = '5s'"),
            names{"missing fault[0].for"});
  EXPECT_EQ(mistakes("kind = 'crash'\nmtbf = '0s'\nmttr = '1s'"),
            names{"range fault[0].mtbf"});
  EXPECT_EQ(
    mistakes("kind = 'crash'\nmtbf = '1s'\nmttr = '1s'\nfor = '1s'").size(),
    1u);
  // 360,000 of one service, and of a thousand replicas of another.
  auto many = [](const std::string& service, const std::string& mtbf) {
    return test::mistakes_in("length = '1h'\nservice.s = " + service
                             + "\nload.u = { rate = 1, target = 's' }\nfault "
                               "= [{ kind = 'stall', target = 's', for = "
                               "'1ms', mtbf = '"
                             + mtbf + "' }]");
  };
  EXPECT_THAT(many("{}", "40ms"), IsEmpty());
  EXPECT_EQ(many("{}", "10ms"), names{"range fault[0].mtbf"});
  EXPECT_THAT(many("{ replicas = 1000 }", "40s"), IsEmpty());
  EXPECT_EQ(many("{ replicas = 1000 }", "10s"), names{"range fault[0].mtbf"});
}

// -- in a world ---------------------------------------------------------------

// 8 s well and 2 s ill, for 50 replicas and 1,000 s: 80 % of them are there.
TEST(random_faults, hit_each_replica_at_its_own_time) {
  auto r = played("length = '1000s'\n"
                  "service.s = { replicas = 50, time = '0s' }\n"
                  "load.u = { kind = 'constant', rate = 100, target = 's' }\n"
                  "fault = [{ kind = 'crash', target = 's', mtbf = '8s', mttr "
                  "= '2s' }]");
  EXPECT_NEAR(static_cast<double>(r.totals.good), 80'000, 1'000);
  std::uint64_t fewest = 2000;
  std::uint64_t most = 0;
  for (const auto& x : r.services[0].replicas) {
    fewest = std::min(fewest, x.down);
    most = std::max(most, x.down);
  }
  EXPECT_GT(most, fewest + 20);
  EXPECT_EQ(r.recovery_from, std::nullopt);
}

// What is between two groups is cut for all of their routes at once.
TEST(random_faults, of_messages_hit_all_routes_at_once) {
  auto log = log_with("length = '100s'\n"
                      "service.s = { time = '0s', op.x.time = '0s' }\n"
                      "load.u = { kind = 'constant', rate = 1, target = 's', "
                      "timeout = '10ms' }\n"
                      "load.v = { kind = 'constant', rate = 1, target = 's', "
                      "timeout = '10ms' }\n"
                      "fault = [{ kind = 'partition', from = '*', to = 's', "
                      "mtbf = '5s', mttr = '1s' }]",
                      {"begins"});
  ASSERT_GT(log.size(), 10u);
  ASSERT_EQ(log.size() % 2, 0u);
  for (std::size_t i = 0; i < log.size(); i += 2)
    EXPECT_EQ(log[i].substr(0, log[i].find(' ')),
              log[i + 1].substr(0, log[i + 1].find(' ')));
}

TEST(random_faults, of_caches_take_no_time) {
  auto log = log_with("length = '100s'\nservice.s = { time = '1ms' }\n"
                      "load.u = { rate = 1, target = 's' }\n"
                      "fault = [{ kind = 'flush', target = 's', mtbf = '5s' }]",
                      {"flush"});
  EXPECT_GT(log.size(), 8u);
  for (const auto& line : log)
    EXPECT_TRUE(line.ends_with("fault s flush begins")) << line;
}

// -- in traces ----------------------------------------------------------------

TEST(random_faults, are_traced_when_they_come) {
  report r;
  r.arms.push_back(test::only_arm(
    "length = '60s'\nservice.s = { replicas = 2, time = '1ms' }\n"
    "load.u = { kind = 'constant', rate = 20, target = 's' }\n"
    "fault = [{ kind = 'crash', target = 's', mtbf = '5s', mttr = '2s' }, "
    "{ kind = 'errors', target = 's#2', after_requests = 90, for_requests = 3 "
    "}]"));
  run_options o;
  o.trace = trace_settings{};
  r.runs.push_back({.seed = 1, .arms = {run_arm(r.arms[0], o)}});
  std::ostringstream out;
  write_trace(out, r, "1");
  auto all = nlohmann::json::parse(out.str());
  std::vector<double> crashes;
  std::vector<double> errors;
  for (const auto& e : all["traceEvents"])
    if (e["ph"] == "X" && e["name"] == "crash")
      crashes.push_back(e["ts"].get<double>() / 1e6);
    else if (e["ph"] == "X" && e["name"] == "errors")
      errors.push_back(e["dur"].get<double>() / 1e6);
  auto expected = all_fault_times(r.arms[0], 0, 1);
  ASSERT_GT(expected.size(), 5u);
  ASSERT_THAT(crashes, SizeIs(expected.size()));
  for (std::size_t i = 0; i < crashes.size(); ++i)
    EXPECT_NEAR(crashes[i], in_seconds(expected[i].at), 1e-6);
  // Three requests, 100 ms apart.
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_NEAR(errors[0], 0.3, 1e-6);
}

} // namespace
} // namespace caisson::sim
