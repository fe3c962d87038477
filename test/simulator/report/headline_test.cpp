// The sentence that says what happened in an arm.
#include <support/played_report.hpp>
#include <support/sim_results.hpp>

#include <simulator/report/headline.hpp>
#include <simulator/report/verdict.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

// One service with 10 servers; a fault from second 20 to 30.
arm_config one_service() {
  arm_config c;
  c.name = "arm";
  auto& s = c.services.emplace_back();
  s.name = "db";
  s.servers = 10;
  s.operations.emplace_back().name = "db";
  auto& load = c.loads.emplace_back();
  load.name = "users";
  load.mix = {{"db", 1}};
  c.faults.push_back({.target = "db", .at = 20s, .lasts = 10s});
  return c;
}

arm_result of(arm_config& c, const std::vector<stretch>& stretches) {
  auto r = result_with(stretches);
  c.length = r.length;
  if (!c.faults.empty())
    r.recovery_from = duration_sum(c.faults[0].at, c.faults[0].lasts);
  r.services.resize(1);
  for (auto& row : r.rows)
    row.services = {{.arrivals = 100, .completed = 100, .busy = 5}};
  decide_verdict(r);
  return r;
}

// From `second` on.
void set_service(arm_result& r, std::size_t second, const service_row& x) {
  for (auto i = second; i < r.rows.size(); ++i)
    r.rows[i].services[0] = x;
}

TEST(headline, reports_retries_that_hold_a_service) {
  auto c = one_service();
  auto r = of(c, {{20, 100, 100}, {10, 100, 30}, {30, 100, 12}});
  ASSERT_EQ(r.verdict, verdict_kind::stuck);
  set_service(r, 20,
              {.arrivals = 310, .completed = 90, .failed = 10, .busy = 10});
  EXPECT_EQ(headline(c, r),
            "retries hold db at 3.1 times its capacity after the fault is "
            "gone; at the end 12 % of the requests succeed in time");
}

TEST(headline, says_that_nothing_was_asked) {
  auto c = one_service();
  auto r = of(c, {{60, 0, 0}});
  ASSERT_EQ(r.totals.offered, 0u);
  EXPECT_EQ(headline(c, r), "no requests were sent");
  // Also without rows.
  EXPECT_EQ(headline(c, arm_result{}), "no requests were sent");
}

TEST(headline, reports_a_load_that_is_too_much_by_itself) {
  auto c = one_service();
  c.faults.clear();
  auto r = of(c, {{60, 100, 40}});
  r.verdict = verdict_kind::stuck;
  set_service(r, 0, {.arrivals = 100, .completed = 40, .busy = 10});
  EXPECT_EQ(headline(c, r),
            "the load holds db at 2.5 times its capacity to the end; at the "
            "end 40 % of the requests succeed in time");
}

// Of its cores, whatever its servers do.
TEST(headline, reports_cores_that_are_fully_busy) {
  auto c = one_service();
  c.services[0].servers = no_limit;
  c.services[0].cores = 4;
  c.services[0].replicas = 2;
  auto r = of(c, {{20, 100, 100}, {40, 100, 0}});
  set_service(r, 20,
              {.arrivals = 100, .completed = 40, .busy = 50, .cores_used = 8});
  EXPECT_TRUE(headline(c, r).starts_with("the load holds db at 2.5 times"))
    << headline(c, r);
  set_service(r, 20,
              {.arrivals = 100, .completed = 40, .busy = 50, .cores_used = 7});
  EXPECT_TRUE(headline(c, r).starts_with("at the end none")) << headline(c, r);
}

TEST(headline, reports_a_queue_that_does_not_shrink) {
  auto c = one_service();
  auto r = of(c, {{20, 100, 100}, {40, 100, 0}});
  set_service(r, 20,
              {.arrivals = 100, .completed = 99, .queue = 12'345, .busy = 10});
  EXPECT_EQ(headline(c, r),
            "db stays fully busy after the fault is gone, with a queue of "
            "12,345; at the end none of the requests succeed in time");
}

TEST(headline, blames_the_service_that_others_wait_for) {
  auto c = one_service();
  auto& web = c.services.emplace_back();
  web.name = "web";
  web.servers = 10;
  auto& op = web.operations.emplace_back();
  op.name = "web";
  op.steps.push_back({.calls = {{.to = "db"}}, .work = {}});
  c.loads[0].mix = {{"web", 1}};
  auto r = of(c, {{20, 100, 100}, {40, 100, 1}});
  for (auto& row : r.rows)
    row.services = {
      {.arrivals = 200, .completed = 100, .busy = 10},
      {.arrivals = 400, .completed = 100, .queue = 9, .busy = 10}};
  EXPECT_TRUE(headline(c, r).starts_with("the load holds db at 2.0 times"))
    << headline(c, r);
}

TEST(headline, reports_open_breakers_and_else_of_errors) {
  auto c = one_service();
  auto r = of(c, {{20, 100, 100}, {40, 100, 20}});
  EXPECT_EQ(headline(c, r), "at the end 20 % of the requests succeed in "
                            "time; most others end with timeout");
  for (auto& row : r.rows)
    row.breakers = {"open", "closed", "half_open"};
  EXPECT_EQ(headline(c, r), "at the end 20 % of the requests succeed in "
                            "time; 2 of 3 breakers are not closed");
}

TEST(headline, reports_how_long_it_took_to_recover) {
  auto c = one_service();
  auto r = of(c, {{20, 100, 100}, {10, 100, 0}, {5, 100, 50}, {30, 100, 100}});
  ASSERT_EQ(r.verdict, verdict_kind::recovered);
  EXPECT_EQ(headline(c, r), "healthy again 4 s after the fault is gone; until "
                            "then 14 % of the requests succeeded in time");
}

TEST(headline, reports_what_recovers_at_once) {
  auto c = one_service();
  auto r = of(c, {{20, 100, 100}, {10, 100, 42}, {30, 100, 100}});
  EXPECT_EQ(headline(c, r), "healthy again as soon as the fault is gone; until "
                            "then 42 % of the requests succeeded in time");
  r = of(c, {{20, 1000, 1000}, {10, 1000, 998}, {30, 1000, 1000}});
  EXPECT_EQ(headline(c, r), "stays healthy: 99.8 % of the requests succeed in "
                            "time until the fault is gone");
}

TEST(headline, reports_relapses_and_interruptions) {
  auto c = one_service();
  auto r = of(c, {{20, 100, 100}, {10, 100, 42}, {30, 100, 100}});
  r.relapses = {{.at = 45, .until = 50}};
  EXPECT_TRUE(headline(c, r).ends_with("; it relapsed at 45 s"));
  r.relapses.push_back({.at = 55, .until = 58});
  EXPECT_TRUE(headline(c, r).ends_with("; it relapsed 2 times, first at 45 s"));
  r.interrupted = true;
  EXPECT_EQ(headline(c, r), "was interrupted at 60 s");
}

TEST(headline, reports_runs_without_faults) {
  auto c = one_service();
  c.faults.clear();
  auto r = of(c, {{60, 1000, 999}});
  r.verdict = verdict_kind::no_fault;
  EXPECT_EQ(headline(c, r),
            "healthy throughout: 99.9 % of the requests succeed in time");
  r = of(c, {{10, 100, 10}, {50, 100, 100}});
  ASSERT_EQ(r.verdict, verdict_kind::recovered);
  EXPECT_EQ(headline(c, r), "healthy from 10 s on; before that 10 % of the "
                            "requests succeeded in time");
}

TEST(headline, takes_shares_for_what_they_are) {
  auto c = one_service();
  auto r = of(c, {{20, 1000, 1000}, {40, 1000, 9}});
  EXPECT_TRUE(headline(c, r).starts_with("at the end less than 1 % of the"));
}

// Retries at once make of a slow service one that is never well again.
TEST(headline, fits_what_is_run) {
  auto r = test::played_report(R"(
length = '40s'
drain = '1s'
[service.db]
workers = 10
time = { kind = 'exponential', mean = '20ms' }
[load.users]
rate = 400
target = 'db'
timeout = '200ms'
attempts = 4
[[fault]]
kind = 'slow'
target = 'db'
at = '5s'
for = '5s'
factor = 10
)");
  const auto& result = r.runs[0].arms[0];
  ASSERT_EQ(result.verdict, verdict_kind::stuck);
  auto text = headline(r.arms[0], result);
  EXPECT_TRUE(text.starts_with("retries hold db at 3.")) << text;
  EXPECT_NE(
    text.find("times its capacity after the fault is gone; at the end "),
    text.npos)
    << text;
}

} // namespace
} // namespace caisson::sim
