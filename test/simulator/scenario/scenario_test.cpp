// Scenario files that are right, and what they become.
#include <simulator/scenario/edges.hpp>
#include <simulator/scenario/scenario.hpp>

#include <support/sim_results.hpp>
#include <support/sim_scenarios.hpp>

#include <caisson/config/stack_toml.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using test::only_arm;

using names = std::vector<std::string>;

// Everything that a scenario without arms can say.
constexpr std::string_view everything
  = R"(
title = "Everything"
seed = 42
length = "2min"
drain = "30s"
warmup = "5s"
recovery_from = "50s"

[service.web]
workers = 10
queue = 100
order = "lifo"
abandoned = "cancel"
async = true
propagate_deadline = false
errors = 0.25
slowdown = 0.5
slowdown_from = 20
slowdown_max = 8.0
slowdown_in_progress = true
cores = 6
stack = "careful"
time = { kind = "exponential", mean = "5ms" }
item_time = "1ms"
calls = [
  "db",
  { to = "db.get", count = 3, parallel = true, probability = 0.5, )"
    R"(optional = true, timeout = "100ms", cache_keys = 50, cache_ttl = "10s" },
  { work = "2ms" },
  ["db", { to = "db.get", count = 2 }],
]
[service.web.op.home]
calls = ["db"]
[service.web.op.about]
time = "3ms"
item_time = "2ms"

[service.db]
workers = "unlimited"
time = "1ms"
[service.db.op.get]

[[edge]]
latency = "500us"
[[edge]]
from = ["web", "users"]
to = "db.get"
stack = "careful"
idempotent = false

[load.users]
kind = "constant"
mix = { "web.home" = 3, "web" = 0.5 }
profile = [["0s", 100], ["60s", 300.5]]
ramps = true
scale = 2
start = "1s"
stop = "100s"
timeout = "2s"
attempts = 3
pause = "10ms"
retry = "timeout"
priority = -1

[load.staff]
kind = "closed"
target = "web.about"
users = 7
think = "1s"

[stack.careful]
[[stack.careful.layer]]
kind = "breaker"

[[fault]]
kind = "slow"
target = "db"
at = "30s"
for = "10s"
factor = 20
[[fault]]
kind = "capacity"
target = "web"
for = "1min"
workers = 0
[[fault]]
kind = "flush"
target = "web"
at = "40s"

[expect]
verdict = "stuck"
success_at_least = 0.5
success_at_most = 0.75
p99_at_most = "250ms"
recovers_within = "20s"
check = [
  { metric = "service.db.sojourn", min = "4ms", max = 0.005 },
  { metric = "goodput", max = 3, from = "10s", to = "50s" },
]
)";

const arm_config& all() {
  static const auto arm = only_arm(everything);
  return arm;
}

TEST(scenario, has_a_title_a_seed_and_one_arm_by_default) {
  auto s = parse_scenario(everything, "f");
  EXPECT_EQ(s.title, "Everything");
  EXPECT_EQ(s.seed, 42u);
  ASSERT_EQ(s.arms.size(), 1u);
  EXPECT_EQ(s.arms[0].name, "default");
  EXPECT_EQ(s.arms[0].title, "");
}

TEST(scenario, has_times) {
  EXPECT_EQ(all().length, 120s);
  EXPECT_EQ(all().drain, 30s);
  EXPECT_EQ(all().warmup, 5s);
  EXPECT_EQ(all().recovery_from, 50s);
}

// -- services -----------------------------------------------------------------

TEST(scenario_service, has_its_fields) {
  ASSERT_EQ(all().services.size(), 2u);
  const auto& web = all().services[0];
  EXPECT_EQ(web.name, "web");
  EXPECT_EQ(web.servers, 10u);
  EXPECT_EQ(web.queue, 100u);
  EXPECT_EQ(web.order, wait_order::lifo);
  EXPECT_EQ(web.abandoned, abandoned_work::cancel);
  EXPECT_TRUE(web.async);
  EXPECT_FALSE(web.propagate_deadline);
  EXPECT_EQ(web.errors, 0.25);
  EXPECT_EQ(web.slowdown, 0.5);
  EXPECT_EQ(web.slowdown_from, 20u);
  EXPECT_EQ(web.slowdown_max, 8);
  EXPECT_TRUE(web.slowdown_in_progress);
  EXPECT_EQ(web.cores, 6u);
  EXPECT_EQ(web.stack, "careful");
  EXPECT_EQ(all().services[1].name, "db");
  EXPECT_EQ(all().services[1].servers, no_limit);
}

TEST(scenario_service, has_operations_in_the_order_of_the_file) {
  const auto& web = all().services[0].operations;
  ASSERT_EQ(web.size(), 3u);
  EXPECT_EQ(web[0].name, "web");
  EXPECT_EQ(web[0].time, distribution::exponential(5ms));
  EXPECT_EQ(web[0].item_time, distribution{1ms});
  EXPECT_EQ(web[1].name, "web.home");
  EXPECT_TRUE(web[1].time.zero());
  EXPECT_TRUE(web[1].item_time.zero());
  EXPECT_EQ(web[1].steps.size(), 1u);
  EXPECT_EQ(web[2].name, "web.about");
  EXPECT_EQ(web[2].time, distribution{3ms});
  EXPECT_EQ(web[2].item_time, distribution{2ms});
  const auto& db = all().services[1].operations;
  ASSERT_EQ(db.size(), 2u);
  EXPECT_EQ(db[0].name, "db");
  EXPECT_EQ(db[1].name, "db.get");
  EXPECT_TRUE(db[1].time.zero());
}

TEST(scenario_service, does_steps_one_after_another) {
  const auto& steps = all().services[0].operations[0].steps;
  ASSERT_EQ(steps.size(), 4u);
  ASSERT_EQ(steps[0].calls.size(), 1u);
  const auto& plain = steps[0].calls[0];
  EXPECT_EQ(plain.to, "db");
  EXPECT_EQ(plain.count, 1u);
  EXPECT_FALSE(plain.parallel);
  EXPECT_EQ(plain.probability, 1);
  EXPECT_FALSE(plain.optional);
  EXPECT_EQ(plain.timeout, unlimited);
  EXPECT_EQ(plain.cache_keys, 0u);
  EXPECT_EQ(plain.cache_ttl, unlimited);
  ASSERT_EQ(steps[1].calls.size(), 1u);
  const auto& full = steps[1].calls[0];
  EXPECT_EQ(full.to, "db.get");
  EXPECT_EQ(full.count, 3u);
  EXPECT_TRUE(full.parallel);
  EXPECT_EQ(full.probability, 0.5);
  EXPECT_TRUE(full.optional);
  EXPECT_EQ(full.timeout, 100ms);
  EXPECT_EQ(full.cache_keys, 50u);
  EXPECT_EQ(full.cache_ttl, 10s);
  EXPECT_TRUE(steps[2].calls.empty());
  EXPECT_EQ(steps[2].work, distribution{2ms});
  ASSERT_EQ(steps[3].calls.size(), 2u);
  EXPECT_EQ(steps[3].calls[0].to, "db");
  EXPECT_EQ(steps[3].calls[1].to, "db.get");
  EXPECT_EQ(steps[3].calls[1].count, 2u);
}

// -- edges --------------------------------------------------------------------

TEST(scenario_edge, says_only_what_is_given) {
  ASSERT_EQ(all().edges.size(), 2u);
  const auto& any = all().edges[0];
  EXPECT_EQ(any.from, names{"*"});
  EXPECT_EQ(any.to, names{"*"});
  EXPECT_EQ(any.latency, distribution{500us});
  EXPECT_EQ(any.stack, std::nullopt);
  EXPECT_EQ(any.idempotent, std::nullopt);
  const auto& one = all().edges[1];
  EXPECT_EQ(one.from, (names{"web", "users"}));
  EXPECT_EQ(one.to, names{"db.get"});
  EXPECT_EQ(one.latency, std::nullopt);
  EXPECT_EQ(one.stack, "careful");
  EXPECT_EQ(one.idempotent, false);
}

TEST(scenario_edge, is_made_of_every_rule_that_matches) {
  auto get = edge_between(all(), "web", "db.get");
  EXPECT_EQ(get.latency, distribution{500us});
  EXPECT_EQ(get.stack, "careful");
  EXPECT_FALSE(get.idempotent);
  auto other = edge_between(all(), "web", "db");
  EXPECT_EQ(other.latency, distribution{500us});
  EXPECT_EQ(other.stack, "");
  EXPECT_TRUE(other.idempotent);
  EXPECT_EQ(edge_between(all(), "staff", "db.get").stack, "");
}

// -- loads --------------------------------------------------------------------

TEST(scenario_load, has_its_fields) {
  ASSERT_EQ(all().loads.size(), 2u);
  const auto& users = all().loads[0];
  EXPECT_EQ(users.name, "users");
  EXPECT_EQ(users.kind, load_kind::constant);
  using mix = std::vector<std::pair<std::string, double>>;
  EXPECT_EQ(users.mix, (mix{{"web.home", 3}, {"web", 0.5}}));
  ASSERT_EQ(users.profile.size(), 2u);
  EXPECT_EQ(users.profile[0].at, 0s);
  EXPECT_EQ(users.profile[0].rate, 100);
  EXPECT_EQ(users.profile[1].at, 60s);
  EXPECT_EQ(users.profile[1].rate, 300.5);
  EXPECT_TRUE(users.ramps);
  EXPECT_EQ(users.scale, 2);
  EXPECT_EQ(users.start, 1s);
  EXPECT_EQ(users.stop, 100s);
  EXPECT_EQ(users.timeout, 2s);
  EXPECT_EQ(users.attempts, 3u);
  EXPECT_EQ(users.pause, schedule::constant(10ms));
  EXPECT_TRUE(users.retry_timeouts_only);
  EXPECT_EQ(users.priority, -1);
  const auto& staff = all().loads[1];
  EXPECT_EQ(staff.name, "staff");
  EXPECT_EQ(staff.kind, load_kind::closed);
  EXPECT_EQ(staff.users, 7u);
  EXPECT_EQ(staff.think, distribution{1s});
  EXPECT_EQ(staff.mix, (mix{{"web.about", 1}}));
}

// -- faults and expectations --------------------------------------------------

TEST(scenario_fault, has_its_fields) {
  ASSERT_EQ(all().faults.size(), 3u);
  const auto& slow = all().faults[0];
  EXPECT_EQ(slow.kind, fault_kind::slow);
  EXPECT_EQ(slow.target, "db");
  EXPECT_EQ(slow.at, 30s);
  EXPECT_EQ(slow.lasts, 10s);
  EXPECT_EQ(slow.factor, 20);
  const auto& capacity = all().faults[1];
  EXPECT_EQ(capacity.kind, fault_kind::capacity);
  EXPECT_EQ(capacity.target, "web");
  EXPECT_EQ(capacity.at, 0s);
  EXPECT_EQ(capacity.lasts, 60s);
  EXPECT_EQ(capacity.servers, 0u);
  EXPECT_EQ(all().faults[2].kind, fault_kind::flush);
  EXPECT_EQ(all().faults[2].at, 40s);
  EXPECT_EQ(all().faults[2].lasts, 0s);
}

TEST(scenario_expect, turns_into_bounds) {
  EXPECT_EQ(all().expect.verdict, verdict_kind::stuck);
  struct bound {
    std::string metric;
    double min;
    double max;
    std::optional<duration> from = {};
    duration to = unlimited;
  };
  const bound expected[] = {
    {"success", 0.5, infinity},           {"success", -infinity, 0.75},
    {"latency.p99", -infinity, 0.25},     {"recovery", -infinity, 20},
    {"service.db.sojourn", 0.004, 0.005}, {"goodput", -infinity, 3, 10s, 50s},
  };
  const auto& found = all().expect.bounds;
  ASSERT_EQ(found.size(), std::size(expected));
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].metric, expected[i].metric);
    EXPECT_EQ(found[i].min, expected[i].min);
    EXPECT_EQ(found[i].max, expected[i].max);
    EXPECT_EQ(found[i].from, expected[i].from);
    EXPECT_EQ(found[i].to, expected[i].to);
  }
  EXPECT_EQ(found[0].place, "f:92:20");
  EXPECT_EQ(found[5].place, "f:98:3");
}

TEST(scenario_stacks, are_read_with_the_world) {
  ASSERT_EQ(all().stacks.size(), 1u);
  EXPECT_EQ(all().stacks.at("careful")->policies.names(), names{"breaker"});
}

} // namespace
} // namespace caisson::sim
