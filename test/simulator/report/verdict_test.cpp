// Verdicts: windows of five seconds after the fault.
#include <support/sim_results.hpp>

#include <simulator/report/verdict.hpp>
#include <simulator/report/warnings.hpp>
#include <simulator/scenario/faults.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

struct verdict_case {
  std::string what;
  std::optional<duration> recovery_from;
  std::vector<stretch> seconds;
  verdict_kind verdict;
  std::optional<std::uint32_t> recovered_at;
  std::vector<relapse> relapses = {};
};

void PrintTo(const verdict_case& x, std::ostream* out) {
  *out << x.what;
}

constexpr auto recovered = verdict_kind::recovered;
constexpr auto degraded = verdict_kind::degraded;
constexpr auto stuck = verdict_kind::stuck;
constexpr auto no_fault = verdict_kind::no_fault;

const verdict_case verdict_cases[] = {
  {"good throughout, without a fault", {}, {{20, 10, 10}}, no_fault, 0},
  {"without a fault, but bad at first",
   {},
   {{8, 10, 0}, {12, 10, 10}},
   recovered,
   8},
  {"good throughout, with a fault that ends at once",
   0s,
   {{20, 10, 10}},
   recovered,
   0},
  {"good throughout, from the end of the fault on",
   7s,
   {{20, 10, 10}},
   recovered,
   7},
  {"from the first whole second on", 7001ms, {{20, 10, 10}}, recovered, 8},
  {"exactly nine tenths are good", 0s, {{5, 10, 9}}, recovered, 0},
  {"one less than nine tenths in the only window",
   0s,
   {{4, 10, 9}, {1, 10, 8}},
   degraded,
   {}},
  {"the window moves by one second",
   2s,
   {{6, 10, 0}, {10, 10, 10}},
   recovered,
   6},
  {"half a second of trouble fits into a good window",
   2s,
   {{5, 10, 0}, {1, 10, 5}, {10, 10, 10}},
   recovered,
   5},
  {"what was good before does not count",
   10s,
   {{10, 10, 10}, {10, 10, 0}},
   stuck,
   {}},
  {"the last window that fits", 5s, {{15, 10, 0}, {5, 10, 10}}, recovered, 15},
  {"good for four seconds at the end only",
   5s,
   {{16, 10, 0}, {4, 10, 10}},
   degraded,
   {}},
  {"just below half to the end", 5s, {{19, 100, 49}, {1, 100, 50}}, stuck, {}},
  {"exactly half in one window", 5s, {{5, 10, 0}, {10, 10, 5}}, degraded, {}},
  {"nothing is good, but there was no fault", {}, {{20, 10, 0}}, degraded, {}},
  {"no load after the fault is neither good nor bad",
   5s,
   {{5, 10, 0}, {5, 0, 0}, {5, 10, 0}},
   stuck,
   {}},
  {"a pause of the load takes what comes after it into its windows",
   5s,
   {{5, 10, 0}, {5, 0, 0}, {5, 10, 10}},
   recovered,
   5},
  {"no load at all after the fault",
   5s,
   {{5, 10, 0}, {10, 0, 0}},
   recovered,
   5},
  {"late answers in a pause of the load are no recovery",
   5s,
   {{5, 10, 0}, {5, 0, 1}, {5, 10, 0}},
   degraded,
   {}},
  {"no window fits: the whole run is good",
   8s,
   {{8, 10, 10}, {4, 10, 5}},
   degraded,
   {}},
  {"no window fits: nine tenths of the run",
   8s,
   {{10, 10, 10}, {2, 10, 5}},
   recovered,
   8},
  {"a run that is too short for a window", {}, {{4, 10, 10}}, no_fault, 0},
  {"a run without a second", {}, {}, no_fault, 0},
  {"the fault ends after the load", 60s, {{20, 10, 0}}, degraded, {}},
  // Bad from second 11 on, which is a fifth of the window that ends at 12.
  {"well for a window only, and down again",
   5s,
   {{5, 10, 0}, {6, 10, 10}, {9, 10, 2}},
   stuck,
   {},
   {{12, {}}}},
  {"down again so late that nobody can say for how long",
   5s,
   {{5, 10, 0}, {12, 10, 10}, {3, 10, 0}},
   degraded,
   {},
   {{18, {}}}},
  {"down again, but not below a half",
   5s,
   {{5, 10, 0}, {10, 10, 10}, {25, 10, 6}},
   degraded,
   {},
   {{17, {}}}},
  {"well again after a relapse",
   5s,
   {{5, 10, 0}, {10, 10, 10}, {3, 10, 0}, {12, 10, 10}},
   recovered,
   18,
   {{16, 18}}},
  {"up and down to the end",
   0s,
   {{10, 10, 10}, {10, 10, 0}, {10, 10, 10}, {10, 10, 0}},
   stuck,
   {},
   {{11, 20}, {31, {}}}},
  {"a peak of the load without an end, and no fault",
   {},
   {{20, 10, 10}, {20, 10, 1}},
   stuck,
   {},
   {{21, {}}}},
  {"a peak of the load that passes, and no fault",
   {},
   {{20, 10, 10}, {10, 10, 1}, {20, 10, 10}},
   recovered,
   30,
   {{21, 30}}},
  {"a little less than nine tenths for some seconds is not a relapse",
   5s,
   {{10, 100, 100}, {5, 100, 80}, {40, 100, 100}},
   recovered,
   5},
  {"a little less than nine tenths for most of the time",
   0s,
   {{5, 100, 100}, {45, 100, 85}},
   degraded,
   {}},
  {"never well, with a time from which on it should be",
   1s,
   {{30, 10, 4}},
   stuck,
   {}},
  // One in ten fails, of one each second.
  {"few requests",
   0s,
   {{9, 1, 1}, {1, 1, 0}, {9, 1, 1}, {1, 1, 0}, {9, 1, 1}, {1, 1, 0}},
   recovered,
   0},
  {"hardly any requests",
   10s,
   {{10, 1, 1}, {9, 0, 0}, {1, 1, 1}, {9, 0, 0}, {1, 1, 1}, {9, 0, 0}},
   recovered,
   10},
  {"hardly any requests, and none is answered",
   10s,
   {{10, 1, 1}, {9, 0, 0}, {1, 1, 0}, {9, 0, 0}, {1, 1, 0}, {9, 0, 0}},
   stuck,
   {}},
};

class verdict_table : public testing::TestWithParam<verdict_case> {};

TEST_P(verdict_table, gives_the_verdict) {
  const auto& c = GetParam();
  auto r = result_with(c.seconds);
  r.recovery_from = c.recovery_from;
  decide_verdict(r);
  EXPECT_EQ(r.verdict, c.verdict);
  EXPECT_EQ(r.recovered_at, c.recovered_at);
  EXPECT_EQ(r.relapses, c.relapses);
}

INSTANTIATE_TEST_SUITE_P(sim, verdict_table, testing::ValuesIn(verdict_cases));

TEST(decide_verdict, ignores_what_is_answered_after_the_load) {
  auto r = result_with({{10, 10, 0}, {10, 10, 10}});
  r.recovery_from = 3s;
  r.length = 10s;
  decide_verdict(r);
  EXPECT_EQ(r.verdict, stuck);
}

TEST(decide_verdict, ignores_the_last_part_of_a_second) {
  auto r = result_with({{14, 10, 0}, {1, 1000, 1000}});
  r.recovery_from = 3s;
  r.length = 14'999ms;
  decide_verdict(r);
  EXPECT_EQ(r.verdict, stuck);
}

// Whatever they cover.
TEST(decide_verdict, does_not_need_rows) {
  auto r = result_with({{20, 10, 10}});
  r.rows.clear();
  decide_verdict(r);
  EXPECT_EQ(r.recovered_at, 0U);
}

TEST(decide_verdict, forgets_an_earlier_verdict) {
  auto r = result_with({{20, 10, 0}});
  r.verdict = recovered;
  r.recovered_at = 3;
  r.relapses = {{7, 8}};
  decide_verdict(r);
  EXPECT_EQ(r.verdict, degraded);
  EXPECT_EQ(r.recovered_at, std::nullopt);
  EXPECT_EQ(r.relapses, std::vector<relapse>{});
}

// Requests that are in progress at the ends of a window are no loss.
TEST(decide_verdict, counts_what_was_answered_soon_or_what_was_answered_then) {
  auto r = result_with({{20, 10, 0}});
  r.tallies[1].prompt = 10;
  decide_verdict(r);
  EXPECT_EQ(r.verdict, degraded);
  for (auto& x : r.tallies)
    x.prompt = 9;
  decide_verdict(r);
  EXPECT_EQ(r.verdict, no_fault);
}

// When the load is over, even a system that could not cope answers.
TEST(decide_verdict, takes_no_answer_in_the_drain_for_a_recovery) {
  auto r = result_with({{10, 10, 10}, {10, 10, 2}});
  for (std::size_t i = 15; i < 20; ++i)
    r.tallies[i].prompt_in_drain = 10;
  decide_verdict(r);
  EXPECT_EQ(r.verdict, stuck);
  // But what was well and is still in progress at the end is no loss.
  r = result_with({{15, 10, 10}, {5, 10, 2}});
  for (std::size_t i = 15; i < 20; ++i)
    r.tallies[i].prompt_in_drain = 10;
  for (std::size_t i = 0; i < 15; ++i)
    r.tallies[i].prompt = 10;
  decide_verdict(r);
  EXPECT_EQ(r.verdict, no_fault);
}

// -- warnings -----------------------------------------------------------------

arm_config flat_load(duration length) {
  arm_config c;
  c.length = length;
  auto& load = c.loads.emplace_back();
  load.name = "users";
  load.rate = 10;
  return c;
}

std::vector<std::string> warnings_of(const arm_config& c, arm_result r) {
  r.length = c.length;
  r.recovery_from = recovery_start(c);
  decide_verdict(r);
  return recovery_warnings(c, r);
}

using texts = std::vector<std::string>;

TEST(recovery_warnings, are_none_if_all_is_well_or_the_setting_is_there) {
  auto c = flat_load(20s);
  EXPECT_EQ(warnings_of(c, result_with({{20, 10, 10}})), texts{});
  c.recovery_from = 0s;
  EXPECT_EQ(warnings_of(c, result_with({{20, 10, 0}})), texts{});
  c = flat_load(20s);
  c.faults.push_back({.target = "web", .at = 2s, .lasts = 3s});
  EXPECT_EQ(warnings_of(c, result_with({{20, 10, 0}})), texts{});
}

TEST(recovery_warnings, report_trouble_without_a_fault) {
  auto c = flat_load(20s);
  EXPECT_EQ(warnings_of(c, result_with({{5, 10, 10}, {15, 10, 0}})),
            texts{"there is no fault and no recovery_from: the verdict is "
                  "about the whole run, from 0s on"});
  auto at_random = c;
  at_random.faults.push_back({.target = "web", .mtbf = 10s, .mttr = 1s});
  EXPECT_EQ(warnings_of(at_random, result_with({{5, 10, 10}, {15, 10, 0}})),
            texts{"there is no fault at a set time and no recovery_from: the "
                  "verdict is about the whole run, from 0s on"});
  auto& load = c.loads[0];
  load.start = 1s;
  load.profile = {{0s, 10}, {4s, 50}, {9s, 10}, {30s, 5}};
  EXPECT_EQ(warnings_of(c, result_with({{5, 10, 10}, {15, 10, 0}})),
            texts{"load users changes its rate at 10s, and there is no fault: "
                  "set recovery_from to when recovery should begin"});
  EXPECT_EQ(warnings_of(c, result_with({{20, 10, 10}})), texts{});
}

TEST(recovery_warnings, report_a_load_that_changes_after_the_fault) {
  auto c = flat_load(30s);
  c.faults.push_back({.target = "web", .at = 2s, .lasts = 3s});
  c.loads[0].profile = {{0s, 10}, {12s, 50}, {18s, 10}};
  auto dip = result_with({{13, 10, 10}, {5, 10, 0}, {12, 10, 10}});
  texts expected{"load users changes its rate at 18s, after the last fault: "
                 "set recovery_from to when recovery should begin"};
  EXPECT_EQ(warnings_of(c, dip), expected);
  c.faults[0].lasts = 17s;
  EXPECT_EQ(warnings_of(c, dip), texts{});
}

TEST(recovery_warnings, report_a_fault_that_leaves_no_window) {
  auto c = flat_load(20s);
  c.faults.push_back({.target = "web", .at = 2s, .lasts = 13s});
  EXPECT_EQ(recovery_warnings(c), texts{});
  c.faults[0].lasts = 13'001ms;
  texts expected{"no window of 5s fits between the end of the last fault, "
                 "which is 15001ms, and length, which is 20s: the verdict is "
                 "that of the whole run"};
  EXPECT_EQ(recovery_warnings(c), expected);
  EXPECT_EQ(warnings_of(c, result_with({{20, 10, 0}})), expected);
  c.recovery_from = 19s;
  EXPECT_EQ(recovery_warnings(c),
            texts{"no window of 5s fits between recovery_from, which is 19s, "
                  "and length, which is 20s: the verdict is that of the whole "
                  "run"});
}

TEST(recovery_time, counts_from_the_end_of_the_fault) {
  arm_result r;
  EXPECT_EQ(recovery_time(r), std::nullopt);
  r.recovery_from = 40'001ms;
  r.recovered_at = 93;
  EXPECT_EQ(recovery_time(r), 52'999ms);
}

TEST(recovery_time, is_never_negative) {
  arm_result r;
  r.recovery_from = 10s;
  r.recovered_at = 9;
  EXPECT_EQ(recovery_time(r), 0s);
}

} // namespace
} // namespace caisson::sim
