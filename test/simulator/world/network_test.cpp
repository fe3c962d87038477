// Networks that lose, repeat, delay and divide.
#include <simulator/report/expectations.hpp>
#include <simulator/report/json.hpp>
#include <simulator/report/metrics.hpp>
#include <simulator/scenario/edges.hpp>
#include <simulator/scenario/faults.hpp>
#include <simulator/world/message_faults.hpp>

#include <support/growth.hpp>
#include <support/played_report.hpp>
#include <support/sim_scenarios.hpp>
#include <support/simulated.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <random>
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
using testing::IsEmpty;
using names = std::vector<std::string>;

// -- as configuration ---------------------------------------------------------

names network_mistakes(const std::string& more) {
  return test::mistakes_in(std::string{test::smallest_world} + more);
}

TEST(scenario_network, is_checked) {
  struct row {
    std::string text;
    names expected;
  };
  const std::string cut = "[[fault]]\nkind = 'partition'\nfor = '1s'\n";
  const row rows[] = {
    {"[[edge]]\nloss = 1.1", {"range edge[0].loss"}},
    {"[[edge]]\nduplication = -1", {"range edge[0].duplication"}},
    {"[[edge]]\nbandwidth = -5", {"range edge[0].bandwidth"}},
    {"[[edge]]\ncall_size = -1", {"range edge[0].call_size"}},
    {"[[edge]]\nanswer_size = 'big'", {"type edge[0].answer_size"}},
    {"[[edge]]\njitter = 5", {"type edge[0].jitter"}},
    {"[group]\neast = ['web', 'users', 'web#1']", {}},
    {"[group]\neast = ['wbe']", {"unknown group.east[0]"}},
    {"[group]\neast = []", {"missing group.east"}},
    {"[group]\neast = 5", {"type group.east"}},
    {"[group]\nweb = ['users']", {"relation group.web"}},
    {"[group]\neast = ['users#1']", {"range group.east[0]"}},
    {cut, {"missing fault[0].from", "missing fault[0].to"}},
    {cut + "from = 'users'\nto = 'web'", {}},
    {cut + "from = 'web'\nto = '*'", {}},
    {cut + "from = 'wbe'\nto = ['web', 'web#2']",
     {"unknown fault[0].from", "range fault[0].to[1]"}},
    {cut + "from = 'web'\nto = 'web'", {"relation fault[0]"}},
    {cut + "from = 'users'\nto = 'web'\ntarget = 'web'",
     {"relation fault[0].target"}},
    {cut + "from = 'users'\nto = 'web'\nrate = 0.5",
     {"relation fault[0].rate"}},
    {cut + "from = 'users'\nto = 'web'\ndirection = 'up'",
     {"range fault[0].direction"}},
    {"[[fault]]\nkind = 'delay'\nfor = '1s'\nfrom = 'users'\nto = 'web'\n"
     "delay = '0s'",
     {"range fault[0].delay"}},
    {"[[fault]]\nkind = 'slow'\nfor = '1s'\ntarget = 'web'\nfrom = 'users'",
     {"relation fault[0].from"}},
  };
  for (const auto& x : rows)
    EXPECT_EQ(network_mistakes(x.text), x.expected) << x.text;
}

TEST(scenario_network, is_made_of_every_rule_that_matches) {
  auto arm = test::only_arm(std::string{test::smallest_world} + R"(
[[edge]]
loss = 0.1
jitter = "2ms"
bandwidth = 5000
[[edge]]
from = "users"
duplication = 0.5
bandwidth = 0
call_size = 7
answer_size = 8
)");
  auto of_users = edge_between(arm, "users", "web").network;
  EXPECT_EQ(of_users.loss, 0.1);
  EXPECT_EQ(of_users.jitter, 2ms);
  EXPECT_EQ(of_users.duplication, 0.5);
  EXPECT_EQ(of_users.bandwidth, 0);
  EXPECT_EQ(of_users.call_size, 7u);
  EXPECT_EQ(of_users.answer_size, 8u);
  auto of_others = edge_between(arm, "other", "web").network;
  EXPECT_EQ(of_others.duplication, 0);
  EXPECT_EQ(of_others.bandwidth, 5000);
  EXPECT_EQ(of_others.call_size, 1000u);
  EXPECT_EQ(of_others.answer_size, 1000u);
}

TEST(place_of, reports_what_a_fault_hits) {
  fault_config f;
  f.target = "db#3";
  EXPECT_EQ(place_of(f), "db#3");
  f.kind = fault_kind::partition;
  f.from = {"a", "b"};
  f.to = {"c"};
  EXPECT_EQ(place_of(f), "a, b <-> c");
  f.direction = fault_direction::one_way;
  EXPECT_EQ(place_of(f), "a, b -> c");
}

// -- which messages a fault hits ----------------------------------------------

arm_config with_fault(names from, names to, fault_direction direction) {
  arm_config arm;
  arm.groups = {{"east", {"web", "users"}}, {"west", {"db#2", "cache"}}};
  fault_config f;
  f.kind = fault_kind::partition;
  f.from = std::move(from);
  f.to = std::move(to);
  f.direction = direction;
  arm.faults.push_back(f);
  return arm;
}

// Of calls to replica 1, 2, ... and of answers from them: `x` is cut.
std::string cuts(const arm_config& arm, const route_ends& ends) {
  message_faults x{message_fault_index{arm}, ends};
  for (std::size_t i = 0; i < x.size(); ++i)
    x.begin(i);
  std::string out;
  for (std::uint32_t i = 0; i < ends.replicas; ++i)
    out += x.on_requests(i).cuts > 0 ? 'x' : '.';
  out += ' ';
  for (std::uint32_t i = 0; i < ends.replicas; ++i)
    out += x.on_answers(i).cuts > 0 ? 'x' : '.';
  return out;
}

TEST(message_faults, hit_messages_from_one_side_to_the_other) {
  constexpr auto both = fault_direction::both;
  constexpr auto one_way = fault_direction::one_way;
  struct row {
    names from;
    names to;
    fault_direction direction;
    route_ends ends;
    std::string expected;
  };
  const route_ends web_db{"web", 1, "db", 3};
  const route_ends users_web{"users", 0, "web", 1};
  const row rows[] = {
    {{"east"}, {"west"}, both, web_db, ".x. .x."},
    {{"west"}, {"east"}, both, web_db, ".x. .x."},
    {{"east"}, {"west"}, one_way, web_db, ".x. ..."},
    {{"west"}, {"east"}, one_way, web_db, "... .x."},
    {{"web"}, {"db"}, one_way, web_db, "xxx ..."},
    {{"web#1"}, {"db#1", "db#3"}, both, web_db, "x.x x.x"},
    {{"web#2"}, {"db"}, both, web_db, "... ..."},
    {{"*"}, {"db#1"}, one_way, web_db, "x.. ..."},
    {{"*"}, {"*"}, one_way, web_db, "xxx xxx"},
    {{"users"}, {"web#1"}, both, users_web, "x x"},
    {{"east"}, {"west"}, both, users_web, ". ."},
    {{"users"}, {"east"}, one_way, users_web, "x ."},
  };
  for (const auto& x : rows)
    EXPECT_EQ(cuts(with_fault(x.from, x.to, x.direction), x.ends), x.expected)
      << testing::PrintToString(x.from) << testing::PrintToString(x.to);
}

// A star of `n` services, each with a fault between it and the middle.
double plan_star(int n) {
  arm_config arm;
  arm.length = 1s;
  for (int i = 0; i < n; ++i) {
    fault_config f;
    f.kind = fault_kind::loss;
    f.from = {"middle"};
    f.to = {fmt::format("s{}", i)};
    arm.faults.push_back(std::move(f));
  }
  auto start = test::thread_seconds();
  message_fault_index all{arm};
  std::size_t found = 0;
  for (int i = 0; i < n; ++i) {
    auto name = fmt::format("s{}", i);
    message_faults from_middle{all, {"middle", 1, name}};
    message_faults to_middle{all, {name, 1, "middle"}};
    found += from_middle.size() + to_middle.size();
  }
  auto took = test::thread_seconds() - start;
  EXPECT_EQ(found, static_cast<std::size_t>(2 * n));
  return took;
}

TEST(message_faults, are_found_in_a_time_that_grows_with_their_number) {
  test::expect_linear(2'500, 20'000, plan_star);
}

// Whether it hits messages between `a#1` and one of two replicas of `b`.
bool is_between(const fault_config& f, const arm_config& arm) {
  group_map groups{arm};
  group_members from{f.from, groups};
  group_members to{f.to, groups};
  auto crosses = [](const group_members& x, const group_members& y) {
    return x.contains("a", 1, {})
           && (y.contains("b", 1, {}) || y.contains("b", 2, {}));
  };
  return crosses(from, to) || crosses(to, from);
}

TEST(message_faults, are_those_that_a_search_of_all_finds) {
  const names known{"a", "b", "a#1", "a#2", "b#2", "b#3", "c", "g", "h", "*"};
  for (std::uint32_t seed = 0; seed < 1'000; ++seed) {
    std::mt19937 random{seed};
    arm_config arm;
    arm.groups = {{"g", {"a", "c#1"}}, {"h", {"b", "c"}}};
    auto some = [&] {
      names out;
      for (auto k = random() % 3 + 1; k > 0; --k)
        out.push_back(known[random() % known.size()]);
      return out;
    };
    for (auto k = random() % 8; k > 0; --k) {
      fault_config f;
      f.kind = fault_kind::loss;
      f.from = some();
      f.to = some();
      arm.faults.push_back(std::move(f));
    }
    std::vector<const fault_config*> expected;
    for (const auto& f : arm.faults)
      if (is_between(f, arm))
        expected.push_back(&f);
    message_faults x{message_fault_index{arm}, {"a", 1, "b", 2}};
    std::vector<const fault_config*> found;
    for (std::size_t i = 0; i < x.size(); ++i)
      found.push_back(&x[i]);
    EXPECT_EQ(found, expected) << "seed " << seed;
  }
}

TEST(message_faults, add_up_while_they_last) {
  auto arm = with_fault({"web"}, {"db"}, fault_direction::both);
  auto add = [&](fault_kind kind) -> fault_config& {
    auto f = arm.faults[0];
    f.kind = kind;
    return arm.faults.emplace_back(f);
  };
  add(fault_kind::loss).rate = 0.5;
  add(fault_kind::loss).rate = 0.2;
  add(fault_kind::delay).delay = 10ms;
  add(fault_kind::delay).delay = 5ms;
  add(fault_kind::slow).target = "db";
  message_faults x{message_fault_index{arm}, {"web", 1, "db", 1}};
  ASSERT_EQ(x.size(), 5u);
  EXPECT_EQ(x.on_requests(0).passes, 1);
  for (std::size_t i = 0; i < 5; ++i)
    x.begin(i);
  EXPECT_EQ(x.on_requests(0).cuts, 1u);
  EXPECT_DOUBLE_EQ(x.on_answers(0).passes, 0.4);
  EXPECT_EQ(x.on_answers(0).delay, 15ms);
  x.end(0);
  x.end(2);
  x.end(3);
  EXPECT_EQ(x.on_requests(0).cuts, 0u);
  EXPECT_EQ(x.on_requests(0).passes, 0.5);
  EXPECT_EQ(x.on_requests(0).delay, 5ms);
}

// -- in a world ---------------------------------------------------------------

// A request every 100 ms, of 10 ms.
std::string lossy_world(const std::string& edge, const std::string& more = {}) {
  return "length = '1s'\ndrain = '2s'\n"
         "[service.s]\nworkers = 'unlimited'\ntime = '10ms'\n"
         "[load.u]\nkind = 'constant'\nrate = 10\ntarget = 's'\n"
         "timeout = '80ms'\n[[edge]]\n"
         + edge + "\n" + more;
}

TEST(network, that_loses_everything_answers_nothing) {
  auto r = played(lossy_world("loss = 1.0"));
  EXPECT_EQ(r.totals.errors.at("timeout"), 10u);
  EXPECT_EQ(r.services[0].arrivals, 0u);
  ASSERT_EQ(r.edges.size(), 1u);
  EXPECT_EQ(r.edges[0].name, "u -> s");
  EXPECT_EQ(r.edges[0].calls, 10u);
  EXPECT_EQ(r.edges[0].lost_calls, 10u);
  EXPECT_EQ(r.edges[0].lost_answers, 0u);
}

TEST(network, that_loses_a_call_reports_nothing) {
  auto text = lossy_world("loss = 1.0");
  auto timeout = text.find("timeout = '80ms'\n");
  auto r = played(text.erase(timeout, 17));
  EXPECT_EQ(r.unanswered, 10u);
}

TEST(network, loses_messages_during_a_fault_only) {
  const std::string fault = "[[fault]]\nkind = 'loss'\nfrom = 'u'\nto = 's'\n"
                            "at = '300ms'\nfor = '200ms'\n";
  EXPECT_EQ(played(lossy_world("", fault)).totals.good, 8u);
  EXPECT_EQ(played(lossy_world("", fault + "rate = 0.0")).totals.good, 10u);
  auto one_way = fault + "direction = 'one_way'\n";
  EXPECT_EQ(played(lossy_world("", one_way)).edges.at(0).lost_calls, 2u);
  auto r = played(lossy_world("", "[[fault]]\nkind = 'partition'\nfrom = 's'\n"
                                  "to = 'u'\ndirection = 'one_way'\n"
                                  "at = '305ms'\nfor = '200ms'\n"));
  // Answers leave 10 ms after the calls, at 310 and 410 ms.
  EXPECT_EQ(r.edges.at(0).lost_answers, 2u);
  EXPECT_EQ(r.totals.good, 8u);
  EXPECT_EQ(r.services[0].completed, 10u);
}

TEST(network, logs_faults_of_its_routes) {
  EXPECT_THAT(
    log_with(lossy_world("", "[[fault]]\nkind = 'delay'\nfrom = 'u'\n"
                             "to = 's'\nat = '300ms'\nfor = '200ms'\n"
                             "delay = '20ms'"),
             {"fault", " begin s", "answer"}),
    ElementsAre("0.000000000 begin s #1", "0.010000000 answer #1 good",
                "0.100000000 begin s #2", "0.110000000 answer #2 good",
                "0.200000000 begin s #3", "0.210000000 answer #3 good",
                "0.300000000 fault u -> s delay begins",
                "0.320000000 begin s #4", "0.350000000 answer #4 good",
                "0.420000000 begin s #5", "0.450000000 answer #5 good",
                "0.500000000 fault u -> s delay ends", "0.500000000 begin s #6",
                "0.510000000 answer #6 good", "0.600000000 begin s #7",
                "0.610000000 answer #7 good", "0.700000000 begin s #8",
                "0.710000000 answer #8 good", "0.800000000 begin s #9",
                "0.810000000 answer #9 good", "0.900000000 begin s #10",
                "0.910000000 answer #10 good"));
}

// The answer is lost, and the call arrives again 5 ms later, when the way back
// is well again.
TEST(network, repeats_a_call_whose_answer_was_lost_once) {
  const std::string cut = "[[fault]]\nkind = 'partition'\nfrom = 's'\n"
                          "to = 'u'\ndirection = 'one_way'\nat = '10ms'\n";
  const std::string edge = "latency = '5ms'\nduplication = 1.0";
  auto log = log_with(lossy_world(edge, cut + "for = '10ms'"), {"#1"});
  EXPECT_THAT(log,
              ElementsAre("0.000000000 offer u #1", "0.005000000 arrive s #1",
                          "0.005000000 begin s #1", "0.015000000 done s #1",
                          "0.020000000 arrive s #1", "0.020000000 begin s #1",
                          "0.030000000 done s #1", "0.035000000 answer #1 good",
                          "0.900000000 offer u #10", "0.905000000 arrive s #10",
                          "0.905000000 begin s #10", "0.915000000 done s #10",
                          "0.920000000 answer #10 good"));
  auto r = played(lossy_world(edge, cut + "for = '500ms'"));
  EXPECT_EQ(r.edges.at(0).repeated, 5u);
  EXPECT_EQ(r.edges.at(0).lost_answers, 10u);
  EXPECT_EQ(r.totals.good, 5u);
  EXPECT_EQ(r.services[0].completed, 15u);
}

// 100 bytes over 1,000 bytes per second: 100 ms each, one after the other.
TEST(network, sends_one_message_after_the_other) {
  const std::string text = R"(
length = "30ms"
service.s = { workers = "unlimited", time = "0s" }
load.u = { kind = "constant", rate = 100, target = "s" }
edge = [{ bandwidth = 1000, call_size = 100, answer_size = 10 }]
)";
  EXPECT_THAT(
    log_with(text, {"begin", "answer"}),
    ElementsAre("0.100000000 begin s #1", "0.110000000 answer #1 good",
                "0.200000000 begin s #2", "0.210000000 answer #2 good",
                "0.300000000 begin s #3", "0.310000000 answer #3 good"));
}

TEST(network, adds_jitter_to_the_latency) {
  auto r = played("length = '100s'\n[service.s]\nworkers = 'unlimited'\n"
                  "[load.u]\nrate = 1000\ntarget = 's'\n[[edge]]\n"
                  "latency = '10ms'\njitter = '5ms'");
  // Two of them: 2 · (10 + 5) ms, with a standard deviation of 7 ms.
  EXPECT_NEAR(std::chrono::duration<double>(r.latency.mean).count(), 0.030,
              0.0002);
  EXPECT_GE(r.latency.p50, 20ms);
}

TEST(network, divides_single_replicas) {
  auto r = played(R"(
length = "1s"
service.s = { replicas = 2, time = "1ms" }
load.u = { kind = "constant", rate = 10, target = "s", timeout = "50ms" }
fault = [{ kind = "partition", from = "u", to = "s#2", for = "2s" }]
)");
  EXPECT_EQ(r.totals.good, 5u);
  EXPECT_EQ(r.services[0].replicas.at(1).arrivals, 0u);
}

TEST(network, counts_a_lost_call_as_pending_until_its_caller_gives_up) {
  // The second replica cannot be reached.
  auto text = R"(
length = "500ms"
service.s = { replicas = 2, workers = "unlimited", time = "1ms" }
load.u = { kind = "constant", rate = 100, target = "s", timeout = "55ms" }
edge = [{ balancer = "least_pending" }]
fault = [{ kind = "partition", from = "u", to = "s#2", for = "2s" }]
)";
  auto r = played(text);
  // One is lost at 10 ms, and the next one after it was given up at 65 ms: at
  // 70 ms the second replica has not been chosen for longest. So every 60 ms.
  EXPECT_EQ(r.edges.at(0).lost_calls, 9u);
  EXPECT_EQ(r.totals.good, 41u);
}

TEST(network, is_in_metrics_and_json) {
  auto s = parse_scenario(lossy_world("loss = 0.5", R"([expect]
check = [
  { metric = "edge.u -> s.calls", min = 10, max = 10 },
  { metric = "edge.u -> s.repeated", max = 0 },
])"),
                          "test.toml");
  EXPECT_THAT(expectation_problems(s.arms[0]), IsEmpty());
  auto report = test::played_report(lossy_world("loss = 0.5"));
  std::ostringstream out;
  write_json(out, report);
  auto data = nlohmann::json::parse(out.str())["runs"][0]["arms"][0];
  EXPECT_EQ(data["edges"][0]["name"], "u -> s");
  EXPECT_EQ(data["edges"][0]["calls"], 10);
  const auto& r = report.runs[0].arms[0];
  EXPECT_EQ(metric_of(r, "edge.u -> s.lost_calls"), r.edges[0].lost_calls);
  EXPECT_GT(r.edges[0].lost_calls, 0u);
  EXPECT_THROW((void)metric_of(r, "edge.u -> s.lost"), std::invalid_argument);
  EXPECT_THROW((void)metric_of(r, "edge.s -> u.calls"), std::invalid_argument);
}

TEST(network, without_trouble_is_not_in_the_json) {
  auto r = played(lossy_world("latency = '1ms'\nloss = 0.0"));
  EXPECT_THAT(r.edges, IsEmpty());
}

} // namespace
} // namespace caisson::sim
