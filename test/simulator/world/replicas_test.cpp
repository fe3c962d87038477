// Services of several replicas, and how callers choose among them.
#include <simulator/report/expectations.hpp>
#include <simulator/report/json.hpp>
#include <simulator/report/metrics.hpp>
#include <simulator/scenario/replicas.hpp>
#include <simulator/world/balancer.hpp>

#include <support/played_report.hpp>
#include <support/sim_scenarios.hpp>
#include <support/simulated.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
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

// -- names --------------------------------------------------------------------

TEST(replica_target_in, distinguishes_a_service_from_its_replicas) {
  struct row {
    std::string_view text;
    std::string_view service;
    std::optional<std::uint32_t> number;
  };
  const row rows[] = {
    {"db", "db", {}},    {"db#3", "db", 3},  {"db#1000", "db", 1000},
    {"db#", "db", 0},    {"db#x", "db", 0},  {"db#3x", "db", 0},
    {"db#03", "db", 0},  {"db#-1", "db", 0}, {"db#99999999999", "db", 0},
    {"db#1#2", "db", 0}, {"#1", "", 1},
  };
  for (const auto& x : rows) {
    auto found = replica_target_in(x.text);
    EXPECT_EQ(found.service, x.service) << x.text;
    EXPECT_EQ(found.number, x.number) << x.text;
  }
}

TEST(scenario_replicas, are_checked_with_the_targets_of_faults) {
  auto mistakes = [](const std::string& more) {
    return test::mistakes_in(std::string{test::smallest_world} + more);
  };
  using names = std::vector<std::string>;
  auto fault = [](const std::string& target) {
    return "[service.db]\nreplicas = 3\n[[fault]]\nkind = 'stall'\n"
           "for = '1s'\ntarget = '"
           + target + "'";
  };
  EXPECT_EQ(mistakes("[service.db]\nreplicas = 0"),
            names{"range service.db.replicas"});
  EXPECT_EQ(mistakes("[service.db]\nreplicas = 1001"),
            names{"range service.db.replicas"});
  EXPECT_EQ(mistakes("[[edge]]\nbalancer = 'best'"),
            names{"range edge[0].balancer"});
  for (auto right : {"db", "db#1", "db#3", "web#1"})
    EXPECT_THAT(mistakes(fault(right)), IsEmpty()) << right;
  for (auto wrong : {"db#0", "db#4", "db#x", "web#2"})
    EXPECT_EQ(mistakes(fault(wrong)), names{"range fault[0].target"}) << wrong;
  EXPECT_EQ(mistakes(fault("bd#1")), names{"unknown fault[0].target"});
}

// -- the choice ---------------------------------------------------------------

std::vector<std::size_t> choices(balancer& x, std::size_t n,
                                 std::uint64_t seed = 1) {
  keyed_random random{draw_key{seed}};
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < n; ++i)
    out.push_back(x.choose(random));
  return out;
}

TEST(balancer, takes_one_after_the_other) {
  balancer x{balancing::round_robin, 3};
  EXPECT_THAT(choices(x, 7), ElementsAre(0, 1, 2, 0, 1, 2, 0));
  EXPECT_EQ(x.pending(0), 3u);
  EXPECT_EQ(x.pending(2), 2u);
}

TEST(balancer, takes_each_as_often_at_random) {
  balancer x{balancing::random, 5};
  (void)choices(x, 50'000);
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_NEAR(static_cast<double>(x.pending(i)), 10'000, 400) << i;
}

TEST(balancer, takes_the_less_busy_one_of_two_different_ones) {
  balancer x{balancing::power_of_two, 2};
  (void)choices(x, 100);
  EXPECT_EQ(x.pending(0), 50u);
  x.over(1);
  x.over(1);
  EXPECT_THAT(choices(x, 2), ElementsAre(1, 1));
  // Of three, the busiest one never wins against the others.
  balancer y{balancing::power_of_two, 3};
  (void)choices(y, 3000);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(static_cast<double>(y.pending(i)), 1000, 2) << i;
}

TEST(balancer, knows_the_only_one) {
  for (auto kind : {balancing::round_robin, balancing::random,
                    balancing::power_of_two, balancing::least_pending}) {
    balancer x{kind, 1};
    EXPECT_THAT(choices(x, 3), ElementsAre(0, 0, 0));
  }
}

// The fewest in progress; of several, the one that was not chosen for longest.
TEST(balancer, takes_the_least_busy_of_all_as_a_naive_model_does) {
  constexpr std::size_t n = 7;
  balancer x{balancing::least_pending, n};
  std::vector<std::uint64_t> pending(n);
  std::vector<std::uint64_t> last(n);
  keyed_random random{draw_key{5}};
  for (std::uint64_t step = 1; step <= 20'000; ++step) {
    auto busy = static_cast<std::size_t>(random.below(n));
    if (random.below(2) == 0 && pending[busy] > 0) {
      x.over(busy);
      --pending[busy];
      continue;
    }
    std::size_t best = 0;
    for (std::size_t i = 1; i < n; ++i)
      if (std::pair{pending[i], last[i]} < std::pair{pending[best], last[best]})
        best = i;
    ASSERT_EQ(x.choose(random), best) << step;
    ++pending[best];
    last[best] = step;
  }
}

// -- in a world ---------------------------------------------------------------

std::string five(const std::string& service, const std::string& more = {}) {
  return "length = '1s'\n[service.s]\nreplicas = 5\n" + service
         + "\n[load.u]\nkind = 'constant'\nrate = 100\ntarget = 's'\n" + more;
}

TEST(replicas, have_their_own_servers_and_queues) {
  const std::string text = R"(
length = "60ms"
service.s = { replicas = 2, time = "100ms", queue = 1 }
load.u = { kind = "constant", rate = 100, target = "s" }
)";
  EXPECT_THAT(
    log_with(text, {" begin s", " refuse", " done"}),
    ElementsAre("0.000000000 begin s #1 @1", //
                "0.010000000 begin s #2 @2", //
                "0.040000000 refuse s #5 @1", "0.050000000 refuse s #6 @2",
                "0.100000000 done s #1 @1", "0.100000000 begin s #3 @1",
                "0.110000000 done s #2 @2", "0.110000000 begin s #4 @2",
                "0.200000000 done s #3 @1", "0.210000000 done s #4 @2"));
  auto s = played(text).services.at(0);
  EXPECT_EQ(s.arrivals, 6u);
  EXPECT_EQ(s.refused, 2u);
  EXPECT_EQ(s.queue_max, 2u);
  ASSERT_EQ(s.replicas.size(), 2u);
  EXPECT_EQ(s.replicas[1].name, "s#2");
  EXPECT_EQ(s.replicas[1].arrivals, 3u);
  EXPECT_EQ(s.replicas[1].queue_max, 1u);
}

TEST(replicas, add_up_to_their_service) {
  auto r = played(five("time = { kind = 'exponential', mean = '45ms' }\n"
                       "queue = 2",
                       "[[edge]]\nbalancer = 'random'"));
  const auto& s = r.services.at(0);
  ASSERT_EQ(s.replicas.size(), 5u);
  service_summary sum;
  double inside = 0;
  double busy = 0;
  for (const auto& x : s.replicas) {
    sum.arrivals += x.arrivals;
    sum.refused += x.refused;
    sum.completed += x.completed;
    sum.started += x.started;
    sum.waited += x.waited;
    inside += x.mean_inside;
    busy += x.utilization;
    EXPECT_LT(x.little_error, 1e-9);
  }
  EXPECT_EQ(sum.arrivals, s.arrivals);
  EXPECT_EQ(sum.refused, s.refused);
  EXPECT_GT(sum.refused, 0u);
  EXPECT_EQ(sum.completed, s.completed);
  EXPECT_EQ(sum.started, s.started);
  EXPECT_EQ(sum.waited, s.waited);
  EXPECT_NEAR(inside, s.mean_inside, 1e-9);
  EXPECT_NEAR(busy / 5, s.utilization, 1e-9);
  EXPECT_LT(s.little_error, 1e-9);
}

TEST(replicas, suffer_alone_from_a_fault_of_one) {
  auto r = played(five("time = '5ms'", "[[fault]]\nkind = 'slow'\n"
                                       "target = 's#3'\nfor = '1s'\n"
                                       "factor = 4"));
  const auto& replicas = r.services.at(0).replicas;
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_EQ(replicas.at(i).mean_service, i == 2 ? 20ms : 5ms) << i;
  EXPECT_EQ(r.services[0].mean_service, 8ms);
}

TEST(replicas, fail_alone_when_one_crashes) {
  const auto text = five("time = '5ms'", "[[fault]]\nkind = 'crash'\n"
                                         "target = 's#2'\nfor = '500ms'");
  auto r = played(text);
  EXPECT_EQ(r.totals.good, 90u);
  EXPECT_EQ(r.totals.errors.at("worker_down"), 10u);
  EXPECT_EQ(r.services[0].replicas.at(1).down, 10u);
  EXPECT_THAT(log_with(text, {"fault"}),
              ElementsAre("0.000000000 fault s#2 crash begins",
                          "0.500000000 fault s#2 crash ends"));
}

// A replica that answers at once with an error always has the fewest calls.
TEST(replicas, that_are_down_draw_the_calls_of_those_who_count_them) {
  auto r = played(five("time = '95ms'",
                       "[[fault]]\nkind = 'crash'\ntarget = 's#2'\n"
                       "for = '1s'\n[[edge]]\nbalancer = 'least_pending'"));
  EXPECT_GT(r.services[0].replicas.at(1).down, 50u);
}

TEST(replicas, all_suffer_from_a_fault_of_the_service) {
  auto r = played(five("time = '5ms'", "[[fault]]\nkind = 'errors'\n"
                                       "target = 's'\nfor = '1s'"));
  EXPECT_EQ(r.totals.good, 0u);
  EXPECT_EQ(r.totals.errors.at("failed"), 100u);
}

TEST(replicas, have_their_own_policies) {
  // A single permit in all would reject every other request.
  auto r = played(R"(
length = "1s"
service.s = { replicas = 2, time = "18ms", stack = "one" }
stack.one.layer = [{ kind = "semaphore", permits = 1, max_waiters = 0 }]
load.u = { kind = "constant", rate = 100, target = "s" }
)");
  EXPECT_EQ(r.totals.good, 100u);
  std::set<std::string> gates;
  for (const auto& g : r.gates)
    gates.insert(g.name);
  EXPECT_EQ(gates, (std::set<std::string>{"-> s#1", "-> s#2", "u -> s"}));
}

TEST(replicas, that_call_have_their_own_gates_and_choices) {
  const std::string text = R"(
length = "40ms"
service.web = { replicas = 2, time = "0s", calls = ["db"] }
service.db = { replicas = 2, time = "1ms" }
load.u = { kind = "constant", rate = 100, target = "web" }
)";
  // Each of them takes its turn with both databases.
  EXPECT_THAT(
    log_with(text, {" begin"}),
    ElementsAre("0.000000000 begin web #1 @1", "0.000000000 begin db #1 @1",
                "0.010000000 begin web #2 @2", "0.010000000 begin db #2 @1",
                "0.020000000 begin web #3 @1", "0.020000000 begin db #3 @2",
                "0.030000000 begin web #4 @2", "0.030000000 begin db #4 @2"));
  std::set<std::string> gates;
  for (const auto& g : played(text).gates)
    gates.insert(g.name);
  EXPECT_EQ(gates,
            (std::set<std::string>{"u -> web", "web#1 -> db", "web#2 -> db"}));
}

TEST(replicas, are_notified_of_callers_that_give_up) {
  EXPECT_THAT(
    log_with(R"(
length = "25ms"
service.s = { replicas = 2, time = "50ms", abandoned = "cancel" }
load.u = { kind = "constant", rate = 100, target = "s", timeout = "20ms" }
)",
             {" begin s", " drop"}),
    ElementsAre("0.000000000 begin s #1 @1", "0.010000000 begin s #2 @2",
                "0.020000001 drop s #1 @1", "0.020000001 begin s #3 @1",
                "0.030000001 drop s #2 @2", "0.040000001 drop s #3 @1"));
}

// Nobody who was given up counts as in progress, though it is worked on still.
TEST(replicas, count_only_what_their_caller_waits_for) {
  const std::string text = R"(
length = "40ms"
[service.s]
replicas = 2
workers = 9
op.fast.time = "1ms"
op.slow.time = "1s"
[load]
slow = { kind = "constant", rate = 1, target = "s.slow", timeout = "15ms" }
fast = { kind = "constant", rate = 100, start = "10ms", target = "s.fast" }
)";
  auto with = text + "[[edge]]\nbalancer = 'least_pending'\n";
  // Different loads have gates of their own, and know nothing of each other.
  EXPECT_THAT(log_with(with, {" begin s"}),
              ElementsAre("0.000000000 begin s.slow #1 @1",
                          "0.010000000 begin s.fast #2 @1",
                          "0.020000000 begin s.fast #3 @2",
                          "0.030000000 begin s.fast #4 @1"));
  EXPECT_THAT(log_with(R"(
length = "40ms"
[service.web]
time = "0s"
workers = 99
op.a.calls = [{ to = "s.slow", timeout = "15ms" }]
op.b.calls = ["s.fast"]
[service.s]
replicas = 2
workers = 9
op.fast.time = "1ms"
op.slow.time = "1s"
[load]
slow = { kind = "constant", rate = 1, target = "web.a" }
fast = { kind = "constant", rate = 100, start = "10ms", target = "web.b" }
[[edge]]
balancer = "least_pending"
)",
                       {" begin s"}),
              ElementsAre("0.000000000 begin s.slow #1 @1",
                          "0.010000000 begin s.fast #2 @2",
                          "0.020000000 begin s.fast #3 @1",
                          "0.030000000 begin s.fast #4 @2"));
}

TEST(replicas, leave_the_log_of_single_services_as_it_was) {
  const std::string text = "length = '1s'\nload.u = { rate = 100, target = 's' "
                           "}\nservice.s = { time = '15ms'";
  EXPECT_EQ(played(text + " }").digest,
            played(text + ", replicas = 1 }").digest);
  EXPECT_NE(played(text + " }").digest,
            played(text + ", replicas = 2 }").digest);
}

TEST(replicas, have_samples_that_are_not_mixed_up) {
  auto s = parse_scenario(R"(
length = "2s"
service.web = { replicas = 3, time = "1ms", calls = ["db"] }
service.db = { replicas = 2, time = "30ms" }
load.u = { kind = "constant", rate = 60, target = "web" }
)",
                          "test.toml");
  run_options o;
  o.details = sample_settings{.requests = 60};
  auto r = run_arm(s.arms[0], o);
  ASSERT_EQ(r.details->samples.size(), 120u);
  for (const auto& x : r.details->samples) {
    ASSERT_EQ(x.calls.size(), 2u) << x.number;
    EXPECT_EQ(x.calls[1].parent, 0u) << x.number;
    for (const auto& call : x.calls) {
      ASSERT_EQ(call.works.size(), 1u) << x.number;
      EXPECT_EQ(call.works[0].how, "done") << x.number;
    }
    // The work at the database ends with the call to it.
    EXPECT_EQ(x.calls[1].works[0].left, x.calls[1].ended) << x.number;
  }
}

// -- in results ---------------------------------------------------------------

TEST(replicas, have_metrics_of_the_whole_run) {
  auto s = parse_scenario(five("time = '5ms'", R"([expect]
check = [
  { metric = "service.s#3.completed", min = 20, max = 20 },
  { metric = "service.s#5.utilization", min = 0.099, max = 0.101 },
  { metric = "service.s.completed", min = 100, max = 100 },
])"),
                          "test.toml");
  EXPECT_THAT(expectation_problems(s.arms[0]), IsEmpty());
  auto r = run_arm(s.arms[0], {});
  EXPECT_THAT(failed_expectations(s.arms[0], r), IsEmpty());
  EXPECT_THROW((void)metric_of(r, "service.s#6.completed"),
               std::invalid_argument);
  EXPECT_THROW((void)metric_of(r, "service.s#1.completed", 0s, 1s),
               std::invalid_argument);
}

TEST(replicas, are_in_the_json_of_their_service) {
  auto r = test::played_report(five("time = '5ms'"));
  std::ostringstream out;
  write_json(out, r);
  auto data = nlohmann::json::parse(out.str());
  const auto& service = data["runs"][0]["arms"][0]["services"][0];
  EXPECT_EQ(service["name"], "s");
  EXPECT_EQ(service["replicas"].size(), 5u);
  EXPECT_EQ(service["replicas"][4]["name"], "s#5");
  EXPECT_EQ(service["replicas"][4]["completed"], 20);
}

} // namespace
} // namespace caisson::sim
