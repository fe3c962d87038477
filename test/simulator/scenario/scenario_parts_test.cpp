// Parts of scenario files: defaults, edges, recordings and descriptions.
#include <simulator/scenario/edges.hpp>
#include <simulator/scenario/faults.hpp>
#include <simulator/scenario/fields.hpp>
#include <simulator/scenario/scenario.hpp>

#include <support/scratch.hpp>
#include <support/sim_scenarios.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using test::only_arm;

using names = std::vector<std::string>;

TEST(scenario, has_defaults) {
  auto s = parse_scenario(test::smallest_world, "f");
  EXPECT_EQ(s.title, "");
  EXPECT_EQ(s.seed, 1u);
  const auto& arm = s.arms.at(0);
  EXPECT_EQ(arm.drain, 60s);
  EXPECT_EQ(arm.warmup, 0s);
  EXPECT_EQ(arm.recovery_from, std::nullopt);
  const auto& web = arm.services.at(0);
  EXPECT_EQ(web.replicas, 1u);
  EXPECT_EQ(web.servers, 1u);
  EXPECT_EQ(web.queue, no_limit);
  EXPECT_EQ(web.order, wait_order::fifo);
  EXPECT_EQ(web.waits.lifo_above, 10u);
  EXPECT_EQ(web.waits.codel_target, 5ms);
  EXPECT_EQ(web.waits.codel_interval, 100ms);
  EXPECT_EQ(web.waits.codel_keep, 1u);
  EXPECT_EQ(web.waits.aging, unlimited);
  EXPECT_EQ(web.abandoned, abandoned_work::finish);
  EXPECT_FALSE(web.async);
  EXPECT_TRUE(web.propagate_deadline);
  EXPECT_EQ(web.errors, 0);
  EXPECT_EQ(web.slowdown, 0);
  EXPECT_EQ(web.slowdown_from, 0u);
  EXPECT_EQ(web.slowdown_max, 100);
  EXPECT_FALSE(web.slowdown_in_progress);
  EXPECT_EQ(web.cores, no_limit);
  EXPECT_EQ(web.stack, "");
  const auto& users = arm.loads.at(0);
  EXPECT_EQ(users.kind, load_kind::poisson);
  EXPECT_EQ(users.rate, 10);
  EXPECT_EQ(users.scale, 1);
  EXPECT_TRUE(users.think.zero());
  EXPECT_EQ(users.start, 0s);
  EXPECT_EQ(users.stop, unlimited);
  EXPECT_EQ(users.timeout, unlimited);
  EXPECT_EQ(users.attempts, 1u);
  EXPECT_TRUE(users.pause.empty());
  EXPECT_FALSE(users.retry_timeouts_only);
  EXPECT_EQ(users.priority, 0);
  EXPECT_EQ(arm.expect.verdict, std::nullopt);
  EXPECT_TRUE(arm.expect.bounds.empty());
}

TEST(scenario_service, has_no_unnamed_operation_if_all_are_named) {
  auto arm = only_arm("length = '1s'\n[service.a.op.x]\n"
                      "[service.b]\nop = {}\n[service.c]\n"
                      "[service.d]\ncalls = ['c']\n[service.d.op.x]\n"
                      "[load.l]\ntarget = 'a.x'\nrate = 1");
  auto operations = [&](std::size_t i) {
    names out;
    for (const auto& op : arm.services.at(i).operations)
      out.push_back(op.name);
    return out;
  };
  EXPECT_EQ(operations(0), names{"a.x"});
  EXPECT_EQ(operations(1), names{"b"});
  EXPECT_EQ(operations(2), names{"c"});
  EXPECT_EQ(operations(3), (names{"d", "d.x"}));
}

// -- edges --------------------------------------------------------------------

TEST(scenario_edge, of_a_service_holds_for_all_of_its_operations) {
  arm_config arm;
  arm.edges.push_back({{"*"}, {"db"}, distribution{1ms}, {}, {}});
  EXPECT_EQ(edge_between(arm, "web", "db").latency, distribution{1ms});
  EXPECT_EQ(edge_between(arm, "web", "db.get").latency, distribution{1ms});
  EXPECT_TRUE(edge_between(arm, "web", "db2.get").latency.zero());
}

TEST(scenario_edge, of_a_later_rule_overrides_an_earlier_one) {
  arm_config arm;
  arm.edges.push_back(
    {{"*"}, {"db"}, distribution{1ms}, "a", false, balancing::random});
  arm.edges.push_back({{"web"}, {"*"}, {}, "", {}});
  auto edge = edge_between(arm, "web", "db");
  EXPECT_EQ(edge.latency, distribution{1ms});
  EXPECT_EQ(edge.stack, "");
  EXPECT_FALSE(edge.idempotent);
  EXPECT_EQ(edge.balancer, balancing::random);
  EXPECT_EQ(edge_between(arm, "web", "app").balancer, balancing::round_robin);
}

// -- load recordings ----------------------------------------------------------

class scenario_trace : public testing::Test {
protected:
  load_config load(const std::string& csv, const std::string& more) {
    scratch.write("x.csv", csv);
    auto file = scratch.write("s.toml", std::string{R"(length = "60s"
[service.web]
[load.users]
target = "web"
)"} + more);
    return load_scenario(file).arms.at(0).loads.at(0);
  }

  test::scratch_dir scratch;
};

TEST_F(scenario_trace, of_timestamps_is_looked_for_beside_the_scenario) {
  auto x = load("5\n6\n8\n",
                "trace = { file = 'x.csv', format = 'timestamps', speed = 2 }");
  EXPECT_EQ(x.arrivals, (std::vector<duration>{0s, 500ms, 1500ms}));
  EXPECT_TRUE(x.profile.empty());
}

TEST_F(scenario_trace, of_timestamps_is_scaled_by_copies) {
  auto x = load("5\n6\n", "scale = 2\n"
                          "trace = { file = 'x.csv', format = 'timestamps' }");
  EXPECT_EQ(x.arrivals, (std::vector<duration>{0s, 1us, 1s, 1s + 1us}));
}

TEST_F(scenario_trace, of_counts_becomes_a_profile_that_the_scale_multiplies) {
  auto x = load("0,100\n10,50\n", "kind = 'constant'\nscale = 0.5\n"
                                  "trace = { file = 'x.csv', format = "
                                  "'counts', column = 1 }");
  EXPECT_EQ(x.kind, load_kind::constant);
  EXPECT_EQ(x.scale, 0.5);
  EXPECT_FALSE(x.ramps);
  ASSERT_EQ(x.profile.size(), 3u);
  EXPECT_EQ(x.profile[0].rate, 10);
  EXPECT_EQ(x.profile[1].at, 10s);
  EXPECT_EQ(x.profile[1].rate, 5);
  EXPECT_EQ(x.profile[2].at, 20s);
  EXPECT_EQ(x.profile[2].rate, 0);
}

// -- the rest -----------------------------------------------------------------

TEST(scenario_recovery, is_looked_for_after_the_last_fault) {
  arm_config arm;
  EXPECT_EQ(recovery_start(arm), std::nullopt);
  arm.faults.resize(2);
  arm.faults[0].at = 10s;
  arm.faults[0].lasts = 30s;
  arm.faults[1].at = 20s;
  arm.faults[1].lasts = 5s;
  EXPECT_EQ(recovery_start(arm), 40s);
  arm.recovery_from = 0s;
  EXPECT_EQ(recovery_start(arm), 0s);
}

// -- descriptions -------------------------------------------------------------

template <class Config>
names keys_of() {
  names out;
  for (const auto& row : rows_of(Config{}))
    out.push_back(row.key);
  return out;
}

TEST(scenario_fields, are_those_of_the_docs) {
  EXPECT_EQ(
    keys_of<arm_config>(),
    (names{"length", "drain", "warmup", "recovery_from", "service", "zones",
           "group", "edge", "load", "stack", "fault", "expect"}));
  EXPECT_EQ(keys_of<operation_config>(), (names{"time", "item_time", "calls"}));
  EXPECT_EQ(keys_of<edge_rule>(),
            (names{"from", "to", "latency", "stack", "idempotent", "balancer",
                   "zone_routing", "jitter", "loss", "duplication", "bandwidth",
                   "call_size", "answer_size", "connections", "pending", "wait",
                   "connect", "idle", "given_up"}));
  EXPECT_EQ(keys_of<expectation>(),
            (names{"verdict", "success_at_least", "success_at_most",
                   "p99_at_most", "recovers_within", "check"}));
}

TEST(scenario_fields, of_a_service) {
  EXPECT_EQ(test::fields_of(service_config{}), R"(
replicas | integer | 1
  1 to 1000
zones | names | "*"
  the name of a zone, a list of them, or "*" for all
workers | count | 1
  1 to 1000000, or "unlimited"
cores | count | unlimited
  1 to 1000000, or "unlimited"
autoscale | table | -
  a table
queue | count | unlimited
  0 to 1000000000, or "unlimited"
order | choice | fifo
  fifo, lifo, adaptive_lifo, codel, deadline_first, priority, fair
lifo_above | integer | 10
  0 to 1000000000
codel_target | duration | 5ms
  1ns to 100h
codel_interval | duration | 100ms
  1ns to 100h
codel_keep | integer | 1
  0 to 1000000000
aging | duration | unlimited
  1ns to unlimited
abandoned | choice | finish
  finish, skip, cancel
async | boolean | false
  true, false
propagate_deadline | boolean | true
  true, false
errors | number | 0
  0 to 1
slowdown | number | 0
  0 to 1000000
slowdown_from | integer | 0
  0 to 1000000000
slowdown_max | number | 100
  1 to 1000000
slowdown_in_progress | boolean | false
  true, false
stack | string | ""
  any text
)");
}

TEST(scenario_fields, of_a_call) {
  EXPECT_EQ(test::fields_of(call_config{}), R"(
to | string | required
  the name of an operation
count | integer | 1
  1 to 10000
parallel | boolean | false
  true, false
probability | number | 1
  0 to 1
optional | boolean | false
  true, false
timeout | duration | unlimited
  1ns to unlimited
cache_keys | integer | 0
  0 to 1000000
cache_ttl | duration | unlimited
  1ns to unlimited
cache_skew | number | 0
  0 to 10
)");
}

TEST(scenario_fields, of_a_load) {
  EXPECT_EQ(test::fields_of(load_config{}), R"(
target | string | ""
  the name of an operation
mix | table | {}
  a table of operations and their weights, such as "web.home" = 1
zone | string | ""
  the name of a zone
kind | choice | poisson
  constant, poisson, closed
rate | number (per second) | 0
  1e-06 to 10000000
profile | list | []
  a list of points such as ["60s", 100]
trace | table | -
  a table with file and format
ramps | boolean | false
  true, false
scale | number | 1
  1e-06 to 1000000
burst | number | 1
  0 to 1000000
burst_every | duration | 1min
  1ms to 100h
burst_for | duration | 5s
  1ms to 100h
users | integer | 0
  1 to 1000000
think | distribution | 0s
  a duration of 0s to 100h, or a table with kind: constant, uniform, )"
                                            R"(exponential, erlang, )"
                                            R"(lognormal, bimodal, empirical, )"
                                            R"(normal, weibull, )"
                                            R"(hyperexponential, pareto
start | duration | 0s
  0s to 100h
stop | duration | unlimited
  1ns to unlimited
timeout | duration | unlimited
  1ns to unlimited
patience | distribution | -
  a duration of 0s to 100h, or a table with kind: constant, uniform, )"
                                            R"(exponential, erlang, )"
                                            R"(lognormal, bimodal, empirical, )"
                                            R"(normal, weibull, )"
                                            R"(hyperexponential, pareto
attempts | integer | 1
  1 to 100
pause | schedule | none
  a duration, a table or a list of durations or tables
retry | choice | failure
  failure, timeout
priority | integer | 0
  -2147483648 to 2147483647
keys | integer | 0
  0 to 1000000
key_skew | number | 0
  0 to 10
)");
}

TEST(scenario_fields, of_a_fault) {
  EXPECT_EQ(test::fields_of(fault_config{}), R"(
kind | choice | required
  slow, errors, stall, crash, capacity, flush, partition, loss, delay
target | string | ""
  the name of a service or a zone, or service#1, service#2, ...
from | names | []
  names of groups, zones, loads, services and replicas, or "*" for all
to | names | []
  names of groups, zones, loads, services and replicas, or "*" for all
direction | choice | both
  both, one_way
delay | duration | 100ms
  1ns to 100h
at | duration | 0s
  0s to 100h
for | duration | 0s
  1ns to 100h
mttr | duration | -
  1ns to 100h
for_requests | integer | -
  1 to 1000000000
mean_requests_to_repair | number | -
  1 to 1000000000
mtbf | duration | -
  1ms to 100h
mean_requests_between_failures | number | -
  1 to 1000000000
after_requests | integer | -
  1 to 1000000000
in_progress | boolean | false
  true, false
factor | number | 10
  1e-06 to 1000000
rate | number | 1
  0 to 1
workers | integer | 1
  0 to 1000000
)");
}

} // namespace
} // namespace caisson::sim
