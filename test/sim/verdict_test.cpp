// Verdicts: windows of five seconds after the fault.
#include <support/sim_results.hpp>

#include <sim/report/verdict.hpp>

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
   degraded,
   {}},
  {"a pause of the load is no recovery",
   5s,
   {{5, 10, 0}, {5, 0, 0}, {5, 10, 10}},
   recovered,
   6},
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
};

class verdict_table : public testing::TestWithParam<verdict_case> {};

TEST_P(verdict_table, gives_the_verdict) {
  const auto& c = GetParam();
  auto r = result_with(c.seconds);
  r.recovery_from = c.recovery_from;
  decide_verdict(r);
  EXPECT_EQ(r.verdict, c.verdict);
  EXPECT_EQ(r.recovered_at, c.recovered_at);
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

TEST(decide_verdict, does_not_need_a_row_for_each_second) {
  auto r = result_with({{20, 10, 10}});
  std::erase_if(r.seconds, [](auto& row) { return row.index % 2 == 0; });
  decide_verdict(r);
  EXPECT_EQ(r.recovered_at, 0U);
}

TEST(decide_verdict, forgets_an_earlier_verdict) {
  auto r = result_with({{20, 10, 0}});
  r.verdict = recovered;
  r.recovered_at = 3;
  decide_verdict(r);
  EXPECT_EQ(r.verdict, degraded);
  EXPECT_EQ(r.recovered_at, std::nullopt);
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
