// Arms: overlays over the world of the file.
#include <simulator/scenario/edges.hpp>
#include <simulator/scenario/scenario.hpp>

#include <support/sim_scenarios.hpp>

#include <caisson/config/stack_toml.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

using names = std::vector<std::string>;

// A world in which there is something to be changed.
constexpr std::string_view world = R"(title = "base"
length = "60s"
[service.web]
workers = 10
calls = ["db.get"]
[service.web.op.home]
time = "5ms"
calls = ["db.get"]
[service.db]
workers = 4
[service.db.op.get]
time = { kind = "erlang", mean = "5ms", k = 4 }
[load.users]
target = "web"
rate = 10
timeout = "1s"
[[edge]]
to = "db"
latency = "1ms"
[[fault]]
kind = "stall"
target = "db"
at = "10s"
for = "5s"
[stack.s]
default_deadline = "5s"
[[stack.s.layer]]
kind = "breaker"
[expect]
success_at_least = 0.5
p99_at_most = "1s"
)";

// The world with the arm `x`, which consists of `text`.
arm_config with(const std::string& text, std::string_view base = world) {
  auto s = parse_scenario(std::string{base} + text, "f");
  EXPECT_EQ(s.arms.size(), 1u);
  return s.arms.at(0);
}

// `world` with another load.
std::string with_load(const std::string& load) {
  std::string out{world};
  auto begin = out.find("target = \"web\"\n");
  auto end = out.find("[[edge]]");
  return out.replace(begin, end - begin, load + "\n");
}

TEST(scenario_arms, are_in_the_order_of_the_file_with_names_and_titles) {
  auto s = parse_scenario(std::string{world}
                            + "[arm.zero]\n"
                              "[arm.b.service.web]\nworkers = 1\n"
                              "[arm.a]\ntitle = 'an a'\n"
                              "[arm.b]\ntitle = 'a b'\n",
                          "f");
  EXPECT_EQ(s.title, "base");
  ASSERT_EQ(s.arms.size(), 3u);
  EXPECT_EQ(s.arms[0].name, "zero");
  EXPECT_EQ(s.arms[0].title, "");
  EXPECT_EQ(s.arms[1].name, "b");
  EXPECT_EQ(s.arms[1].title, "a b");
  EXPECT_EQ(s.arms[2].name, "a");
  EXPECT_EQ(s.arms[2].title, "an a");
}

TEST(scenario_arms, that_say_nothing_are_the_world_of_the_file) {
  auto arm = with("[arm.x]");
  EXPECT_EQ(arm.length, 60s);
  EXPECT_EQ(arm.services.size(), 2u);
  EXPECT_EQ(arm.services[0].servers, 10u);
  EXPECT_EQ(arm.edges.size(), 1u);
  EXPECT_EQ(arm.loads.size(), 1u);
  EXPECT_EQ(arm.faults.size(), 1u);
  EXPECT_EQ(arm.stacks.size(), 1u);
  EXPECT_EQ(arm.expect.bounds.size(), 2u);
}

TEST(scenario_arms, do_not_change_each_other) {
  auto s = parse_scenario(std::string{world}
                            + "[arm.a]\nlength = '2min'\n"
                              "[arm.a.service.db]\nworkers = 1\n[arm.b]\n",
                          "f");
  EXPECT_EQ(s.arms.at(0).length, 120s);
  EXPECT_EQ(s.arms.at(0).services.at(1).servers, 1u);
  EXPECT_EQ(s.arms.at(1).length, 60s);
  EXPECT_EQ(s.arms.at(1).services.at(1).servers, 4u);
}

// -- services -----------------------------------------------------------------

TEST(scenario_arms, change_single_fields_of_services) {
  auto arm = with("[arm.x.service.web]\nqueue = 5");
  const auto& web = arm.services.at(0);
  EXPECT_EQ(web.servers, 10u);
  EXPECT_EQ(web.queue, 5u);
  EXPECT_EQ(web.operations.size(), 2u);
}

TEST(scenario_arms, change_single_fields_of_operations) {
  auto arm = with("[arm.x.service.web.op.home]\ntime = '1ms'");
  const auto& home = arm.services.at(0).operations.at(1);
  EXPECT_EQ(home.name, "web.home");
  EXPECT_EQ(home.time, distribution{1ms});
  EXPECT_EQ(home.steps.size(), 1u);
}

TEST(scenario_arms, replace_distributions_and_calls_as_a_whole) {
  auto arm = with("[arm.x.service.db.op.get]\n"
                  "time = { kind = 'exponential', mean = '2ms' }\n"
                  "[arm.x.service.web]\ncalls = []\n");
  EXPECT_EQ(arm.services.at(1).operations.at(0).time,
            distribution::exponential(2ms));
  EXPECT_TRUE(arm.services.at(0).operations.at(0).steps.empty());
}

TEST(scenario_arms, add_services_operations_and_loads) {
  auto arm = with("[arm.x.service.cache]\n"
                  "[arm.x.service.db.op.put]\n"
                  "[arm.x.load.staff]\ntarget = 'db.put'\nrate = 1\n");
  ASSERT_EQ(arm.services.size(), 3u);
  EXPECT_EQ(arm.services[2].name, "cache");
  ASSERT_EQ(arm.services[1].operations.size(), 2u);
  EXPECT_EQ(arm.services[1].operations[1].name, "db.put");
  ASSERT_EQ(arm.loads.size(), 2u);
  EXPECT_EQ(arm.loads[1].name, "staff");
}

// -- edges, faults, stacks, expectations --------------------------------------

TEST(scenario_arms, append_edges_and_faults) {
  auto arm = with("[[arm.x.edge]]\nto = 'db'\nstack = 's'\n"
                  "[[arm.x.fault]]\nkind = 'flush'\ntarget = 'web'\n");
  ASSERT_EQ(arm.edges.size(), 2u);
  EXPECT_EQ(arm.edges[1].stack, "s");
  auto edge = edge_between(arm, "web", "db.get");
  EXPECT_EQ(edge.latency, distribution{1ms});
  EXPECT_EQ(edge.stack, "s");
  ASSERT_EQ(arm.faults.size(), 2u);
  EXPECT_EQ(arm.faults[0].kind, fault_kind::stall);
  EXPECT_EQ(arm.faults[1].kind, fault_kind::flush);
}

TEST(scenario_arms, replace_a_stack_as_a_whole_and_add_others) {
  auto arm = with("[[arm.x.stack.s.layer]]\nkind = 'limiter'\n"
                  "[arm.x.stack.t]\n");
  EXPECT_EQ(arm.stacks.size(), 2u);
  EXPECT_EQ(arm.stacks.at("s")->policies.names(), names{"limiter"});
  // 30 s is the library's default.
  EXPECT_EQ(arm.stacks.at("s")->policies.config().default_deadline, 30s);
  EXPECT_EQ(arm.stacks.at("t")->policies.size(), 0u);
}

TEST(scenario_arms, merge_expectations) {
  auto arm = with("[arm.x.expect]\nverdict = 'stuck'\nsuccess_at_least = 0.1");
  EXPECT_EQ(arm.expect.verdict, verdict_kind::stuck);
  ASSERT_EQ(arm.expect.bounds.size(), 2u);
  EXPECT_EQ(arm.expect.bounds[0].min, 0.1);
  EXPECT_EQ(arm.expect.bounds[1].max, 1);
}

// -- alternatives of loads ----------------------------------------------------

TEST(scenario_arm_load, changes_single_fields) {
  auto arm = with("[arm.x.load.users]\nrate = 99\nattempts = 3");
  const auto& users = arm.loads.at(0);
  EXPECT_EQ(users.rate, 99);
  EXPECT_EQ(users.attempts, 3u);
  EXPECT_EQ(users.timeout, 1s);
}

TEST(scenario_arm_load, drops_the_target_for_a_mix_and_the_other_way_round) {
  using mix = std::vector<std::pair<std::string, double>>;
  auto arm = with("[arm.x.load.users]\nmix = { 'web.home' = 2 }");
  EXPECT_EQ(arm.loads.at(0).mix, (mix{{"web.home", 2}}));
  arm = with("[arm.x.load.users]\ntarget = 'web.home'",
             with_load("mix = { web = 1, 'db.get' = 5 }\nrate = 1"));
  EXPECT_EQ(arm.loads.at(0).mix, (mix{{"web.home", 1}}));
  // Mixes are not merged.
  arm = with("[arm.x.load.users]\nmix = { 'web.home' = 1 }",
             with_load("mix = { web = 1, 'db.get' = 5 }\nrate = 1"));
  EXPECT_EQ(arm.loads.at(0).mix, (mix{{"web.home", 1}}));
}

TEST(scenario_arm_load, drops_the_rate_for_a_profile) {
  auto arm = with("[arm.x.load.users]\nprofile = [['0s', 5]]\nscale = 2");
  const auto& users = arm.loads.at(0);
  ASSERT_EQ(users.profile.size(), 1u);
  EXPECT_EQ(users.profile[0].rate, 5);
  EXPECT_EQ(users.scale, 2);
  EXPECT_EQ(users.rate, 0);
}

TEST(scenario_arm_load, drops_the_profile_with_its_ramps_for_a_rate) {
  auto arm = with("[arm.x.load.users]\nrate = 7",
                  with_load("target = 'web'\nprofile = [['0s', 5]]\n"
                            "ramps = true\nscale = 2"));
  const auto& users = arm.loads.at(0);
  EXPECT_EQ(users.rate, 7);
  EXPECT_TRUE(users.profile.empty());
  EXPECT_FALSE(users.ramps);
  EXPECT_EQ(users.scale, 1);
}

TEST(scenario_arm_load, keeps_the_scale_of_another_profile) {
  auto arm = with("[arm.x.load.users]\nprofile = [['0s', 6]]",
                  with_load("target = 'web'\nprofile = [['0s', 5]]\n"
                            "ramps = true\nscale = 2"));
  const auto& users = arm.loads.at(0);
  EXPECT_EQ(users.profile.at(0).rate, 6);
  EXPECT_TRUE(users.ramps);
  EXPECT_EQ(users.scale, 2);
}

TEST(scenario_arm_load, keeps_the_rate_if_the_kind_stays_open) {
  auto arm = with("[arm.x.load.users]\nkind = 'constant'");
  EXPECT_EQ(arm.loads.at(0).kind, load_kind::constant);
  EXPECT_EQ(arm.loads.at(0).rate, 10);
}

TEST(scenario_arm_load, drops_the_rate_for_users_and_the_other_way_round) {
  auto arm = with("[arm.x.load.users]\nkind = 'closed'\nusers = 3");
  EXPECT_EQ(arm.loads.at(0).kind, load_kind::closed);
  EXPECT_EQ(arm.loads.at(0).users, 3u);
  EXPECT_EQ(arm.loads.at(0).rate, 0);
  arm = with("[arm.x.load.users]\nkind = 'poisson'\nrate = 3",
             with_load("target = 'web'\nkind = 'closed'\nusers = 9\n"
                       "think = '1s'"));
  EXPECT_EQ(arm.loads.at(0).kind, load_kind::poisson);
  EXPECT_EQ(arm.loads.at(0).users, 0u);
  EXPECT_TRUE(arm.loads.at(0).think.zero());
  EXPECT_EQ(arm.loads.at(0).rate, 3);
}

// -- orders -------------------------------------------------------------------

// `world` with an order of the database, and what belongs to it.
std::string with_order(const std::string& order) {
  std::string out{world};
  std::string_view db = "[service.db]\n";
  return out.insert(out.find(db) + db.size(), order + "\n");
}

TEST(scenario_arm_service, drops_what_belongs_to_another_order) {
  auto lifo = with_order("order = 'adaptive_lifo'\nlifo_above = 5");
  auto arm = with("[arm.x]\nservice.db.order = 'fifo'", lifo);
  EXPECT_EQ(arm.services.at(1).order, wait_order::fifo);
  EXPECT_EQ(arm.services.at(1).waits.lifo_above,
            service_config{}.waits.lifo_above);
  auto codel = with_order(
    "order = 'codel'\ncodel_target = '1s'\ncodel_interval = '2s'");
  arm = with("[arm.x.service.db]\norder = 'adaptive_lifo'\nlifo_above = 7",
             codel);
  EXPECT_EQ(arm.services.at(1).order, wait_order::adaptive_lifo);
  EXPECT_EQ(arm.services.at(1).waits.lifo_above, 7u);
  EXPECT_EQ(arm.services.at(1).waits.codel_target,
            service_config{}.waits.codel_target);
}

TEST(scenario_arm_service, keeps_what_belongs_to_the_same_order) {
  auto lifo = with_order("order = 'adaptive_lifo'\nlifo_above = 5");
  auto arm = with("[arm.x.service.db]\norder = 'adaptive_lifo'", lifo);
  EXPECT_EQ(arm.services.at(1).waits.lifo_above, 5u);
  arm = with("[arm.x.service.db]\nworkers = 9", lifo);
  EXPECT_EQ(arm.services.at(1).waits.lifo_above, 5u);
  EXPECT_EQ(arm.services.at(1).servers, 9u);
}

TEST(scenario_arm_service, complains_of_what_does_not_go_with_its_own_order) {
  auto lifo = with_order("order = 'adaptive_lifo'\nlifo_above = 5");
  auto complaint = test::complaint_about(
    lifo + "[arm.x.service.db]\norder = 'fifo'\nlifo_above = 5");
  EXPECT_NE(complaint.find("arm.x.service.db.lifo_above: "), std::string::npos)
    << complaint;
}

// -- problems -----------------------------------------------------------------

std::string complaint(const std::string& text) {
  return test::complaint_about(std::string{world} + text);
}

TEST(scenario_arm_problems, have_the_key_within_the_arm) {
  EXPECT_EQ(complaint("[arm.x.service.web]\nworkers = 0"),
            "f:33:11: arm.x.service.web.workers: 0 is out of range, allowed: "
            "1 to 1000000, or \"unlimited\"");
}

TEST(scenario_arm_problems, count_edges_and_faults_from_the_arms_own_first) {
  EXPECT_EQ(complaint("[[arm.x.edge]]\n[[arm.x.edge]]\nto = 'dv'\n"
                      "[[arm.x.fault]]\nkind = 'flush'\ntarget = 'dv'\n"),
            "f:34:6: arm.x.edge[1].to: \"dv\" is not a target, did you mean "
            "\"db\"? known targets: web, db, web.home, db.get\n"
            "f:37:10: arm.x.fault[0].target: \"dv\" is not a service, did you "
            "mean \"db\"? known services: web, db");
}

TEST(scenario_arm_problems, of_the_common_part_are_reported_once) {
  EXPECT_EQ(
    test::complaint_about(with_load("target = 'wev'\nrate = 1")
                          + "[arm.x]\n[arm.y]\n"),
    "f:14:10: load.users.target: \"wev\" is not an operation, did you mean "
    "\"web\"? known operations: web, web.home, db.get");
}

TEST(scenario_arm_problems, that_only_some_arms_have_say_which) {
  EXPECT_EQ(test::complaint_about(with_load("target = 'cache'\nrate = 1")
                                  + "[arm.x]\n[arm.y]\n"
                                    "[arm.z.service.cache]\n"),
            "f:14:10: load.users.target: \"cache\" is not an operation, known "
            "operations: web, web.home, db.get (in arm x, y)");
}

TEST(scenario_arm_problems, name_the_keys_that_an_arm_can_have) {
  EXPECT_EQ(complaint("[arm.x]\nseed = 3"),
            "f:33:8: arm.x.seed: unknown key, known keys: title, length, "
            "drain, warmup, recovery_from, service, zones, group, edge, load, "
            "stack, fault, expect");
  EXPECT_EQ(complaint("[arm.x]\nserivce = {}"),
            "f:33:11: arm.x.serivce: unknown key, did you mean \"service\"? "
            "known keys: title, length, drain, warmup, recovery_from, service, "
            "zones, group, edge, load, stack, fault, expect");
}

TEST(scenario_arm_problems, of_shape_and_name) {
  EXPECT_EQ(test::complaint_about("arm = 5\n" + std::string{world}),
            "f:1:7: arm: 5 is not a table");
  EXPECT_EQ(complaint("[arm]\nx = 5"), "f:33:5: arm.x: 5 is not a table");
  EXPECT_EQ(complaint("[arm.'x y']"),
            "f:32:1: arm.x y: \"x y\" is not a name, allowed: letters, digits, "
            "\"_\" and \"-\"");
}

TEST(scenario_arm_problems, of_relations_stand_where_the_arm_breaks_them) {
  EXPECT_EQ(complaint("[arm.x]\nlength = '10s'"),
            "f:23:6: fault[0].at: 10s is not before length, which is 10s");
  EXPECT_EQ(complaint("[arm.x]\nwarmup = '60s'"),
            "f:33:10: arm.x.warmup: 1min is not less than length, which is "
            "1min");
}

} // namespace
} // namespace caisson::sim
