// Edges whose connections are limited, in a world.
#include <simulator/report/csv.hpp>
#include <simulator/report/expectations.hpp>
#include <simulator/report/html_data.hpp>
#include <simulator/report/json.hpp>
#include <simulator/report/metrics.hpp>
#include <simulator/report/text.hpp>
#include <simulator/scenario/edges.hpp>

#include <support/played_report.hpp>
#include <support/sim_scenarios.hpp>
#include <support/simulated.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using test::log_of;
using test::played;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// -- as configuration ---------------------------------------------------------

TEST(scenario_connections, are_checked) {
  const test::mistake rows[] = {
    {"[[edge]]\nconnections = 16\npending = 0\nwait = '1s'\nconnect = '1ms'\n"
     "idle = '10s'\ngiven_up = 'keep'",
     {}},
    {"[[edge]]\nconnections = 'unlimited'\npending = 'unlimited'\n"
     "wait = 'unlimited'\nidle = 'unlimited'",
     {}},
    {"[[edge]]\nconnections = 0", {"range edge[0].connections"}},
    {"[[edge]]\nconnections = 1000001", {"range edge[0].connections"}},
    {"[[edge]]\nconnections = 'many'", {"type edge[0].connections"}},
    {"[[edge]]\nconnections = 1\npending = -1", {"range edge[0].pending"}},
    {"[[edge]]\nconnections = 1\nwait = '0s'", {"range edge[0].wait"}},
    {"[[edge]]\nconnections = 1\nwait = 5", {"type edge[0].wait"}},
    {"[[edge]]\nconnections = 1\nidle = '0s'", {"range edge[0].idle"}},
    {"[[edge]]\nconnections = 1\ngiven_up = 'drop'",
     {"range edge[0].given_up"}},
    {"[[edge]]\npending = 5", {"relation edge[0].pending"}},
    {"[[edge]]\nidle = '5s'", {"relation edge[0].idle"}},
    {"[[edge]]\nwait = '1s'\n[[edge]]\nto = 'web'\nconnections = 5", {}},
  };
  for (const auto& x : rows)
    EXPECT_EQ(test::mistakes_in(std::string{test::smallest_world} + x.text),
              x.expected)
      << x.text;
}

TEST(scenario_connections, are_reported_where_they_have_no_effect) {
  EXPECT_THAT(test::complaint_about(std::string{test::smallest_world}
                                    + "[[edge]]\nto = 'web'\nwait = '1s'\n"),
              HasSubstr("f:9:8: edge[0].wait: has no effect without "
                        "connections, which nothing sets for these calls"));
}

TEST(scenario_connections, are_made_of_every_rule_that_matches) {
  auto arm = test::only_arm(std::string{test::smallest_world} + R"(
[[edge]]
connections = 10
pending = 3
wait = "1s"
connect = "2ms"
[[edge]]
from = "users"
connections = 4
idle = "9s"
given_up = "keep"
)");
  auto c = edge_between(arm, "users", "web").connections;
  EXPECT_EQ(c.most, 4u);
  EXPECT_EQ(c.pending, 3u);
  EXPECT_EQ(c.wait, 1s);
  EXPECT_EQ(c.connect, distribution{2ms});
  EXPECT_EQ(c.idle, 9s);
  EXPECT_EQ(c.given_up, after_giving_up::keep);
  EXPECT_EQ(edge_between(arm, "other", "web").connections.given_up,
            after_giving_up::close);
}

TEST(scenario_connections, without_a_limit_are_as_if_nothing_was_said) {
  auto arm = test::only_arm(std::string{test::smallest_world} + R"(
[[edge]]
connections = "unlimited"
pending = 3
)");
  EXPECT_EQ(edge_between(arm, "users", "web").connections, connection_config{});
}

// -- in a world ---------------------------------------------------------------

// So many requests at once at 100 ms, each of 10 ms.
std::string burst(unsigned n, const std::string& edge,
                  const std::string& load = {}, const std::string& more = {}) {
  return "length = '1s'\n[service.s]\nworkers = 'unlimited'\ntime = '10ms'\n"
         "[load.u]\nkind = 'closed'\nusers = "
         + std::to_string(n) + "\nthink = '100ms'\nstop = '150ms'\n"
         + "target = 's'\n" + load + "\n[[edge]]\n" + edge + "\n" + more;
}

const connection_summary& connections_in(const arm_result& r) {
  return r.edges.at(0).connections.value();
}

TEST(connections, that_are_all_in_use_let_calls_wait_in_order) {
  auto r = played(burst(5, "connections = 2"));
  EXPECT_EQ(r.totals.good, 5u);
  // Two at a time: 10, 10, 20, 20 and 30 ms.
  EXPECT_EQ(r.latency.mean, 18ms);
  EXPECT_EQ(r.latency.max, 30ms);
  const auto& c = connections_in(r);
  EXPECT_EQ(c.asked, 5u);
  EXPECT_EQ(c.waited, 3u);
  EXPECT_EQ(c.waiting_max, 3u);
  EXPECT_EQ(c.used_max, 2u);
  EXPECT_EQ(c.opened, 2u);
  EXPECT_EQ(c.mean_wait, 8ms);
  EXPECT_EQ(c.refused + c.expired + c.abandoned, 0u);
  // 50 ms of work in one second.
  EXPECT_NEAR(c.mean_used, 0.05, 1e-9);
  EXPECT_EQ(r.edges[0].calls, 5u);
}

TEST(connections, refuse_calls_when_too_many_wait) {
  auto r = played(burst(5, "connections = 2\npending = 1"));
  EXPECT_EQ(r.totals.good, 3u);
  EXPECT_EQ(r.totals.errors.at("no_connection"), 2u);
  EXPECT_EQ(connections_in(r).refused, 2u);
  EXPECT_EQ(r.services[0].arrivals, 3u);
}

TEST(connections, are_waited_for_as_long_as_may_be) {
  // One that is free at the very end of the wait is in time.
  auto r = played(burst(5, "connections = 2\nwait = '10ms'"));
  EXPECT_EQ(r.totals.good, 4u);
  EXPECT_EQ(r.totals.errors.at("no_connection"), 1u);
  EXPECT_EQ(connections_in(r).expired, 1u);
  EXPECT_EQ(played(burst(5, "connections = 2\nwait = '9ms'")).totals.good, 2u);
}

TEST(connections, take_time_to_open_and_none_when_they_are_open) {
  auto r = played(burst(3, "connections = 1\nconnect = '5ms'"));
  EXPECT_EQ(r.latency.max, 35ms);
  EXPECT_EQ(connections_in(r).opened, 1u);
}

TEST(connections, are_closed_when_they_were_idle) {
  auto text = [](const char* idle) {
    return std::string{"length = '1s'\nservice.s.time = '10ms'\n"
                       "[load.u]\nkind = 'constant'\nrate = 10\ntarget = 's'\n"
                       "[[edge]]\nconnections = 1\nconnect = '5ms'\nidle = '"}
           + idle + "'\n";
  };
  EXPECT_EQ(connections_in(played(text("91ms"))).opened, 1u);
  EXPECT_EQ(connections_in(played(text("80ms"))).opened, 10u);
}

TEST(connections, that_are_not_there_were_not_executed) {
  // So a retrier may repeat what must not be carried out twice.
  auto r = played(burst(
    2, "connections = 1\npending = 0\nidempotent = false\nstack = 'again'", "",
    "[[stack.again.layer]]\nkind = 'retrier'\nmax_attempts = 3\n"
    "backoff = '20ms'"));
  EXPECT_EQ(r.totals.good, 2u);
  EXPECT_EQ(r.latency.max, 30ms);
  EXPECT_EQ(connections_in(r).asked, 3u);
  EXPECT_EQ(connections_in(r).refused, 1u);
}

// -- giving up ----------------------------------------------------------------

// A service that answers nothing for a second; each client waits for 50 ms.
std::string stalled(const std::string& edge) {
  return "length = '2s'\n[service.s]\nworkers = 'unlimited'\ntime = '10ms'\n"
         "[load.u]\nkind = 'constant'\nrate = 100\ntarget = 's'\n"
         "timeout = '50ms'\n[[fault]]\nkind = 'stall'\ntarget = 's'\n"
         "at = '505ms'\nfor = '1s'\n[[edge]]\n"
         + edge + "\n";
}

TEST(connections, of_calls_that_were_given_up_are_closed) {
  auto r = played(stalled("connections = 3\npending = 0"));
  // Three of six requests get one, which is free just after the fifth one of
  // those that come meanwhile: half of the hundred during the stall.
  const auto& c = connections_in(r);
  EXPECT_EQ(c.used_max, 3u);
  EXPECT_NEAR(static_cast<double>(c.refused), 50, 3);
  EXPECT_NEAR(static_cast<double>(c.opened), 50, 4);
}

TEST(connections, that_are_kept_hang_for_as_long_as_the_service_does) {
  auto r = played(stalled("connections = 3\npending = 0\ngiven_up = 'keep'"));
  const auto& c = connections_in(r);
  // Of the hundred requests of the stall three hang, and all others find
  // nothing, until the service answers.
  EXPECT_EQ(r.totals.errors.at("timeout"), 3u);
  EXPECT_NEAR(static_cast<double>(c.refused), 97, 2);
  EXPECT_EQ(c.opened, 2u + 1u);
  EXPECT_EQ(r.totals.good + 3 + c.refused, r.totals.offered);
}

TEST(connections, are_not_waited_for_by_callers_that_have_given_up) {
  auto r = played(burst(3, "connections = 1", "timeout = '5ms'",
                        "[[fault]]\nkind = 'stall'\ntarget = 's'\n"
                        "at = '50ms'\nfor = '200ms'"));
  const auto& c = connections_in(r);
  EXPECT_EQ(r.totals.errors.at("timeout"), 3u);
  EXPECT_EQ(c.asked, 3u);
  EXPECT_EQ(r.edges[0].calls + c.abandoned, 3u);
}

// -- faults -------------------------------------------------------------------

TEST(connections, are_cut_by_a_crash) {
  // Idle connections are closed, too: those of before are no use after it.
  auto r = played("length = '1s'\nservice.s.time = '10ms'\n"
                  "[load.u]\nkind = 'constant'\nrate = 10\ntarget = 's'\n"
                  "timeout = '1s'\n"
                  "[[fault]]\nkind = 'crash'\ntarget = 's'\nat = '450ms'\n"
                  "for = '20ms'\n[[edge]]\nconnections = 1\nconnect = '5ms'\n");
  EXPECT_EQ(r.totals.good, 10u);
  EXPECT_EQ(connections_in(r).opened, 2u);
}

TEST(connections, in_use_at_a_crash_give_an_error_at_once) {
  auto r = played(burst(3, "connections = 1", "timeout = '1s'",
                        "[[fault]]\nkind = 'crash'\ntarget = 's'\n"
                        "at = '105ms'\nfor = '10ms'"));
  // The second and the third find the service down, at the same instant.
  EXPECT_EQ(r.totals.errors.at("worker_down"), 3u);
  EXPECT_EQ(connections_in(r).opened, 3u);
}

// A partition of 300 ms; callers wait for 50 ms.
std::string cut(const std::string& edge) {
  return "length = '1s'\n[service.s]\nworkers = 'unlimited'\ntime = '10ms'\n"
         "[load.u]\nkind = 'constant'\nrate = 100\ntarget = 's'\n"
         "timeout = '50ms'\n[[fault]]\nkind = 'partition'\nfrom = 'u'\n"
         "to = 's'\nat = '305ms'\nfor = '300ms'\n[[edge]]\n"
         + edge + "\n";
}

TEST(connections, hang_in_a_partition_until_callers_give_up) {
  auto r = played(cut("connections = 2\npending = 0"));
  EXPECT_EQ(connections_in(r).used_max, 2u);
  EXPECT_EQ(r.totals.errors.at("timeout"),
            r.edges[0].lost_calls + r.edges[0].lost_answers);
  EXPECT_GT(r.totals.errors.at("timeout"), 6u);
}

TEST(connections, that_are_kept_hang_until_the_partition_is_over) {
  auto r = played(cut("connections = 2\npending = 0\ngiven_up = 'keep'"));
  EXPECT_EQ(r.totals.errors.at("timeout"), 2u);
  // The answer to that of 300 ms hangs, and the call of 310 ms. Those from 320
  // to 600 ms get none.
  EXPECT_EQ(connections_in(r).refused, 29u);
  EXPECT_EQ(r.totals.good, 69u);
}

// -- pools --------------------------------------------------------------------

TEST(connections, are_those_of_each_caller_to_each_replica) {
  auto r = played(R"(
length = "1s"
service.a = { replicas = 2, workers = "unlimited", calls = ["b"] }
service.b = { replicas = 3, workers = "unlimited", time = "100ms" }
load.u = { kind = "constant", rate = 1000, target = "a" }
edge = [{ from = "a", to = "b", connections = 4, pending = 0 }]
)");
  EXPECT_EQ(connections_in(r).used_max, 2u * 3u * 4u);
}

TEST(connections, without_a_limit_change_nothing) {
  for (auto seed : {1u, 2u, 3u}) {
    const std::string world = R"(
length = "5s"
service.a = { replicas = 2, workers = 20, time = "1ms", calls = ["b"] }
service.b = { replicas = 3, workers = 2, time = "9ms", queue = 9 }
load.u = { rate = 500, target = "a", timeout = "100ms", attempts = 2 }
fault = [{ kind = "crash", target = "b#2", at = "2s", for = "1s" }]
)";
    auto without = log_of(world + "edge = [{ latency = '1ms' }]\n", {}, seed);
    EXPECT_EQ(log_of(world
                       + "edge = [{ latency = '1ms', connections = "
                         "'unlimited', pending = 3, given_up = 'keep' }]\n",
                     {}, seed),
              without);
  }
}

// -- theory -------------------------------------------------------------------

// Of `servers` that are busy for `load` on average, if nobody waits.
double erlang_b(unsigned servers, double load) {
  double b = 1;
  for (unsigned i = 1; i <= servers; ++i)
    b = load * b / (i + load * b);
  return b;
}

std::string poisson(const std::string& edge) {
  return "length = '510s'\nwarmup = '10s'\n[service.s]\n"
         "workers = 'unlimited'\ntime = { kind = 'exponential', mean = '10ms' }"
         "\n[load.u]\nrate = 400\ntarget = 's'\n[[edge]]\nconnections = 5\n"
         + edge + "\n";
}

TEST(connections, that_nobody_waits_for_lose_what_erlang_b_says) {
  auto r = played(poisson("pending = 0"));
  const auto& c = connections_in(r);
  auto share = static_cast<double>(c.refused) / static_cast<double>(c.asked);
  EXPECT_NEAR(share, erlang_b(5, 4), 0.006);
  EXPECT_NEAR(c.mean_used, 4 * (1 - erlang_b(5, 4)), 0.03);
}

TEST(connections, are_waited_for_as_long_as_erlang_c_says) {
  auto r = played(poisson(""));
  auto b = erlang_b(5, 4);
  auto waits = b / (1 - 4.0 / 5 * (1 - b));
  const auto& c = connections_in(r);
  auto share = static_cast<double>(c.waited) / static_cast<double>(c.asked);
  EXPECT_NEAR(share, waits, 0.02);
  // 10 ms / (5 - 4)
  EXPECT_NEAR(to_seconds(c.mean_wait), waits * 0.01, 0.0004);
  EXPECT_NEAR(c.mean_used, 4, 0.05);
}

// -- in results ---------------------------------------------------------------

TEST(connections, are_in_metrics) {
  auto text = burst(5, "connections = 2\npending = 1", "",
                    "[expect]\ncheck = [{ metric = 'edge.u -> s.refused', "
                    "min = 2, max = 2 }, { metric = 'edge.u -> s.used_max', "
                    "from = '0s', to = '1s', max = 2 }]");
  auto s = parse_scenario(text, "test.toml");
  EXPECT_THAT(expectation_problems(s.arms[0]), IsEmpty());
  auto r = played(text);
  EXPECT_THAT(failed_expectations(s.arms[0], r), IsEmpty());
  EXPECT_EQ(metric_of(r, "edge.u -> s.opened"), 2);
  EXPECT_EQ(metric_of(r, "edge.u -> s.refused", 0s, 1s), 2);
  EXPECT_EQ(metric_of(r, "errors.no_connection"), 2);
  EXPECT_THROW((void)metric_of(r, "edge.u -> s.opened", 0s, 1s),
               std::invalid_argument);
  EXPECT_THROW((void)metric_of(r, "edge.u -> s.calls", 0s, 1s),
               std::invalid_argument);
  EXPECT_EQ(metric_of(played(burst(5, "")), "errors.no_connection"), 0);
}

TEST(connections, that_are_not_limited_have_no_metrics) {
  auto r = played(burst(5, "jitter = '1ms'"));
  EXPECT_THROW((void)metric_of(r, "edge.u -> s.used"), std::invalid_argument);
}

TEST(connections, are_in_all_outputs) {
  auto report = test::played_report(burst(5, "connections = 2\npending = 1"));
  std::ostringstream json;
  write_json(json, report);
  auto arm = nlohmann::json::parse(json.str())["runs"][0]["arms"][0];
  EXPECT_EQ(arm["edges"][0]["connections"]["waited"], 1);
  EXPECT_EQ(arm["edges"][0]["connections"]["refused"], 2);
  auto row = arm["seconds"][0]["connections"]["u -> s"];
  EXPECT_EQ(row["used_max"], 2);
  EXPECT_EQ(row["used"], 0);
  EXPECT_EQ(row["refused"], 2);
  auto page = html_data(report, {})["arms"][0];
  EXPECT_EQ(page["edges"][0]["connections"], 2);
  // The only row of the column.
  EXPECT_EQ(page["edge_seconds"][0]["connections"]["no_connection"], 2);
  std::ostringstream csv;
  write_csv(csv, report);
  EXPECT_THAT(csv.str(), HasSubstr("edge.u -> s.used_max"));
  std::ostringstream text;
  write_text(text, report, false);
  EXPECT_THAT(text.str(),
              HasSubstr("default: u -> s: 2 in use at most, 1 of 5 calls "
                        "waited for one, 1 at once, 2 got none\n"));
}

TEST(connections, that_differ_between_arms_are_on_the_page) {
  auto report = test::played_report(
    burst(1, "connections = 4", "",
          "[arm.few]\n[arm.many]\nedge = [{ connections = 8 }]"));
  auto differences = html_data(report, {})["differences"];
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0]["what"], "edge u -> s: connections");
  EXPECT_EQ(differences[0]["values"], (nlohmann::ordered_json{"4", "8"}));
}

TEST(connections, that_nobody_missed_are_not_in_the_text) {
  auto report = test::played_report(burst(5, "connections = 5"));
  std::ostringstream text;
  write_text(text, report, false);
  EXPECT_THAT(text.str(), Not(HasSubstr("connections")));
}

} // namespace
} // namespace caisson::sim
