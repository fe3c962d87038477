// Zones: what crosses them, what hits them, and what results report of them.
#include <simulator/report/expectations.hpp>
#include <simulator/report/html_data.hpp>
#include <simulator/report/json.hpp>
#include <simulator/report/metrics.hpp>
#include <simulator/report/text.hpp>
#include <simulator/scenario/fault_times.hpp>

#include <support/played_report.hpp>
#include <support/sim_scenarios.hpp>
#include <support/simulated.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using test::log_with;
using test::played;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using names = std::vector<std::string>;

// -- what crosses -------------------------------------------------------------

// Every answer of web takes 1 ms and the way to db and back.
std::string crossing(const std::string& edge, const std::string& more = {}) {
  return R"(
length = "60s"
[zones]
names = ["a", "b", "c"]
between = "2ms"
[service.web]
replicas = 3
workers = "unlimited"
calls = [{ to = "db", timeout = "100ms" }]
[service.db]
replicas = 3
workers = "unlimited"
time = "1ms"
[load.users]
rate = 500
target = "web"
[[edge]]
latency = "1ms"
)" + edge + "\n"
         + more;
}

double as_number(std::uint64_t n) {
  return static_cast<double>(n);
}

const edge_summary& web_db(const arm_result& r) {
  EXPECT_EQ(r.edges.size(), 1u);
  EXPECT_EQ(r.edges.at(0).name, "web -> db");
  return r.edges.at(0);
}

TEST(zones, make_two_of_three_messages_take_longer_at_random) {
  auto r = played(crossing("balancer = 'random'"));
  const auto& e = web_db(r);
  EXPECT_EQ(e.calls, r.totals.good);
  auto share = static_cast<double>(e.crossed) / static_cast<double>(e.calls);
  EXPECT_NEAR(share, 2.0 / 3, 0.01);
  EXPECT_EQ(metric_of(r, "edge.web -> db.crossed_share"), share);
  EXPECT_EQ(metric_of(r, "edge.web -> db.crossed"), as_number(e.crossed));
  EXPECT_NEAR(metric_of(r, "latency.mean"), 0.005 + share * 0.004, 1e-8);
  EXPECT_EQ(r.latency.max, 9ms);
}

TEST(zones, draw_each_message_for_itself) {
  auto r = played(crossing("balancer = 'random'",
                           "[arm.x]\nzones.between = { kind = "
                           "'bimodal', fast = '0s', slow = '10ms', "
                           "share = 0.5 }"));
  // Of those that cross, a quarter takes 0, 10 or 20 ms, each way for itself.
  auto share = metric_of(r, "edge.web -> db.crossed_share");
  EXPECT_NEAR(metric_of(r, "latency.mean"), 0.005 + share * 0.010, 0.0003);
  EXPECT_EQ(r.latency.max, 25ms);
}

TEST(zones, are_not_left_if_calls_are_local) {
  for (std::string balancer :
       {"round_robin", "random", "power_of_two", "least_pending"}) {
    auto r = played(
      crossing("zone_routing = 'local'\nbalancer = '" + balancer + "'"));
    EXPECT_EQ(web_db(r).crossed, 0u) << balancer;
    EXPECT_GT(r.totals.good, 29'000u) << balancer;
    EXPECT_EQ(r.latency.max, 5ms) << balancer;
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(r.services[0].replicas[i].arrivals,
                r.services[1].replicas[i].arrivals)
        << balancer << i;
  }
}

TEST(zones, cost_a_load_outside_of_them_nothing) {
  auto outside = played(crossing("", "[arm.x]\nservice.db.zones = 'a'\n"
                                     "service.web.zones = 'a'"));
  EXPECT_EQ(outside.latency.max, 5ms);
  auto inside = played(crossing("", "[arm.x]\nservice.db.zones = 'a'\n"
                                    "service.web.zones = 'a'\n"
                                    "load.users.zone = 'b'"));
  EXPECT_EQ(inside.latency.max, 9ms);
  EXPECT_EQ(inside.latency.mean, 9ms);
  ASSERT_EQ(inside.edges.size(), 2u);
  EXPECT_EQ(inside.edges[0].name, "web -> db");
  EXPECT_EQ(inside.edges[0].crossed, 0u);
  EXPECT_EQ(inside.edges[1].name, "users -> web");
  EXPECT_EQ(inside.edges[1].crossed, inside.edges[1].calls);
}

TEST(zones, are_left_where_the_callers_has_no_replica) {
  auto r = played(crossing("zone_routing = 'local'",
                           "[arm.x]\nservice.db.zones = ['a', 'b']"));
  // That of c takes any of the three.
  const auto& web = r.services[0].replicas;
  EXPECT_EQ(web_db(r).crossed, web[2].arrivals);
  EXPECT_EQ(r.services[1].replicas[0].zone, "a");
  EXPECT_EQ(r.services[1].replicas[2].zone, "a");
  EXPECT_NEAR(as_number(r.services[1].replicas[1].arrivals),
              as_number(web[1].arrivals) + as_number(web[2].arrivals) / 3, 1.0);
}

TEST(zones, report_calls_without_the_warmup) {
  auto r = played(crossing("", "[arm.x]\nwarmup = '30s'"));
  EXPECT_NEAR(as_number(web_db(r).crossed), 10'000, 500);
}

TEST(zones, are_not_in_the_results_without_any) {
  auto r = played(test::smallest_world);
  EXPECT_THAT(r.edges, IsEmpty());
  EXPECT_EQ(r.services[0].zone, "");
}

TEST(zones, spread_calls_as_the_replicas_if_they_are_proportional) {
  // Shares of callers: 1/3 each; of replicas: 0.4, 0.4 and 0.2.
  auto r = played(crossing("zone_routing = 'proportional'",
                           "[arm.x]\nservice.db.replicas = 5"));
  const auto& e = web_db(r);
  EXPECT_NEAR(as_number(e.crossed) / as_number(e.calls), 1.0 / 3 * 0.4, 0.01);
  for (const auto& x : r.services[1].replicas)
    EXPECT_NEAR(as_number(x.arrivals) / as_number(e.calls), 0.2, 0.01)
      << x.name;
}

TEST(zones, count_loads_as_callers_of_a_service) {
  // Each of two loads has half of the replicas in its zone.
  auto world = [](const std::string& zone) {
    return R"(
length = "60s"
zones.names = ["a", "b"]
[service.web]
replicas = 4
workers = "unlimited"
[load.here]
rate = 200
target = "web"
zone = "a"
[load.there]
rate = 200
target = "web"
zone = ")" + zone
           + "\"\n[[edge]]\nzone_routing = \"proportional\"\n";
  };
  for (const auto& e : played(world("b")).edges)
    EXPECT_EQ(e.crossed, 0u) << e.name;
  // If both are in one zone, half of their calls leave it.
  for (const auto& e : played(world("a")).edges)
    EXPECT_NEAR(as_number(e.crossed) / as_number(e.calls), 0.5, 0.02) << e.name;
}

// -- what hits them -----------------------------------------------------------

TEST(zones, fail_with_all_that_is_in_them) {
  auto r = played(crossing("", "[[fault]]\nkind = 'crash'\ntarget = 'b'\n"
                               "at = '10s'\nfor = '20s'"));
  for (const auto& s : r.services)
    for (const auto& x : s.replicas)
      EXPECT_EQ(x.down > 0, x.zone == "b") << x.name;
  EXPECT_EQ(r.totals.failed, r.services[0].replicas[1].down
                               + r.services[1].replicas[1].down
                               + r.services[1].replicas[1].lost
                               + r.services[0].replicas[1].lost);
  EXPECT_THAT(log_with(crossing("", "[[fault]]\nkind = 'crash'\ntarget = 'b'\n"
                                    "at = '10s'\nfor = '20s'"),
                       {"fault "}),
              ElementsAre("10.000000000 fault web#2 crash begins",
                          "10.000000000 fault db#2 crash begins",
                          "30.000000000 fault web#2 crash ends",
                          "30.000000000 fault db#2 crash ends"));
}

TEST(zones, fail_at_random_as_one) {
  auto text = crossing("", "[[fault]]\nkind = 'crash'\ntarget = 'a'\n"
                           "mtbf = '5s'\nmttr = '1s'");
  std::map<std::string, names> by_time;
  for (const auto& line : log_with(text, {"begins"}))
    by_time[line.substr(0, line.find(' '))].push_back(
      line.substr(line.find("fault ")));
  EXPECT_GT(by_time.size(), 3u);
  for (const auto& [time, lines] : by_time)
    EXPECT_THAT(
      lines, ElementsAre("fault web#1 crash begins", "fault db#1 crash begins"))
      << time;
  auto arm = test::only_arm(text);
  auto times = all_fault_times(arm, 0, 1);
  EXPECT_EQ(times.size(), by_time.size());
  EXPECT_EQ(times.at(0).replica, 0u);
  // Whatever its number, a replica fails with the others of its zone.
  auto third = fault_times(arm, 0, 2, draw_key{1});
  ASSERT_EQ(third.size(), times.size());
  for (std::size_t i = 0; i < third.size(); ++i)
    EXPECT_EQ(third[i].at, times[i].at);
}

TEST(zones, that_are_cut_off_lose_exactly_what_crosses) {
  const std::string cut = "[[fault]]\nkind = 'partition'\nfrom = 'a'\n"
                          "to = ['b', 'c']\nfor = '100s'\n";
  auto r = played(crossing("", cut));
  const auto& e = web_db(r);
  EXPECT_EQ(e.lost_calls, r.totals.failed);
  // Between b and c they pass: one of three that cross.
  EXPECT_NEAR(as_number(e.lost_calls), as_number(e.crossed) * 2 / 3, 5);
  EXPECT_EQ(r.latency.max, 9ms);
  auto all = played(crossing("", cut
                                   + "[[fault]]\nkind = 'partition'\n"
                                     "from = 'b'\nto = 'c'\nfor = '100s'"));
  EXPECT_EQ(web_db(all).lost_calls, web_db(all).crossed);
  EXPECT_EQ(all.totals.failed, web_db(all).crossed);
  auto local = played(crossing("zone_routing = 'local'", cut));
  EXPECT_EQ(local.totals.failed, 0u);
}

TEST(zones, can_be_in_groups) {
  auto r = played(crossing("", "[group]\nwest = ['a', 'b']\n[[fault]]\n"
                               "kind = 'partition'\nfrom = 'west'\nto = 'c'\n"
                               "for = '100s'"));
  EXPECT_EQ(r.totals.failed, web_db(r).lost_calls);
  EXPECT_NEAR(as_number(web_db(r).lost_calls),
              as_number(web_db(r).crossed) * 2 / 3, 5);
}

TEST(zones, that_are_far_delay_what_goes_there) {
  auto r = played(crossing("balancer = 'random'",
                           "[[fault]]\nkind = 'delay'\nfrom = 'c'\n"
                           "to = ['a', 'b']\ndelay = '3ms'\nfor = '100s'"));
  EXPECT_EQ(r.latency.max, 15ms);
}

TEST(zones, lose_their_connections_in_a_crash) {
  // One connection from each web to each db, and new ones to those of zone b.
  auto text = crossing("connections = 100",
                       "[[fault]]\nkind = 'crash'\ntarget = 'b'\nat = '30s'\n"
                       "for = '10ms'");
  auto with = played(text).edges;
  auto without = played(crossing("connections = 100")).edges;
  ASSERT_EQ(with.size(), 2u);
  EXPECT_GT(with[0].connections->opened, without[0].connections->opened);
}

// -- results ------------------------------------------------------------------

TEST(zone_results, are_in_json_only_if_there_are_any) {
  auto report = test::played_report(crossing(""));
  std::stringstream out;
  write_json(out, report);
  auto arm = nlohmann::json::parse(out.str())["runs"][0]["arms"][0];
  EXPECT_EQ(arm["edges"][0]["crossed"],
            report.runs[0].arms[0].edges[0].crossed);
  EXPECT_EQ(arm["services"][1]["replicas"][2]["zone"], "c");
  EXPECT_FALSE(arm["services"][1].contains("zone"));
  std::stringstream other;
  write_json(other, test::played_report(std::string{test::smallest_world}
                                        + "[[edge]]\njitter = '1ms'\n"));
  auto plain = nlohmann::json::parse(other.str())["runs"][0]["arms"][0];
  EXPECT_FALSE(plain["edges"][0].contains("crossed"));
  EXPECT_FALSE(plain["services"][0].contains("zone"));
}

TEST(zone_results, are_a_table) {
  auto report = test::played_report(crossing(
    "", "[arm.any]\n[arm.local]\nedge = [{ zone_routing = 'local' }]"));
  std::stringstream out;
  write_text(out, report, false);
  EXPECT_THAT(out.str(), HasSubstr("\ncalls to other zones  edge"));
  EXPECT_THAT(out.str(), HasSubstr("\nlocal                 web -> db"));
  EXPECT_THAT(out.str(), HasSubstr("        0   0.00 %\n"));
}

TEST(zone_results, have_metrics_where_calls_may_cross) {
  auto r = played(std::string{test::smallest_world}
                  + "[[edge]]\nconnections = 5\n");
  EXPECT_THROW((void)metric_of(r, "edge.users -> web.crossed"),
               std::invalid_argument);
  auto zoned = played(crossing(""));
  EXPECT_THROW((void)metric_of(zoned, "edge.web -> db.crossed", 0s, 5s),
               std::invalid_argument);
  EXPECT_THROW((void)metric_of(zoned, "edge.users -> web.crossed"),
               std::invalid_argument);
  auto expecting = test::only_arm(
    crossing("", "[expect]\ncheck = [{ metric = 'edge.web -> db.crossed', min "
                 "= 1 }]"));
  EXPECT_THAT(expectation_problems(expecting), IsEmpty());
}

TEST(zone_results, give_a_page_what_a_fault_hits) {
  auto report = test::played_report(
    crossing("", "[service.one]\nzones = 'c'\n[[fault]]\nkind = 'crash'\n"
                 "target = 'c'\nat = '10s'\nfor = '5s'"));
  auto fault = html_data(report, {})["arms"][0]["faults"];
  ASSERT_EQ(fault.size(), 1u);
  EXPECT_EQ(fault[0]["text"], "crash (zone c)");
  EXPECT_EQ(fault[0]["services"].dump(),
            R"({"web":false,"db":false,"one":true})");
}

} // namespace
} // namespace caisson::sim
