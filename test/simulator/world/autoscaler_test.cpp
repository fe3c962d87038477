// Decisions of an autoscaler, and a service that follows them.
#include <simulator/world/autoscaler.hpp>

#include <support/played_report.hpp>
#include <support/sim_scenarios.hpp>
#include <support/simulated.hpp>

#include <simulator/report/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <sstream>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using test::log_with;
using test::played;
using testing::ElementsAre;
using testing::IsEmpty;

const time_point scaler_start{1h};

autoscale_config config() {
  autoscale_config c;
  c.target = 0.5;
  c.min = 2;
  c.max = 50;
  c.cooldown = 0s;
  c.tolerance = 0.1;
  return c;
}

// Of 10 servers so many are busy for 10 s: how many there should be.
int change_with(autoscale_config c, std::uint64_t busy,
                std::size_t waiting = 0) {
  autoscaler x{c, 10, scaler_start};
  x.busy_is(scaler_start, busy);
  auto out = x.look(scaler_start + 10s, waiting);
  return static_cast<int>(out.start) - static_cast<int>(out.stop);
}

TEST(autoscaler, aims_at_a_utilization) {
  EXPECT_EQ(change_with(config(), 10), 10); // 10 · 1 / 0.5
  EXPECT_EQ(change_with(config(), 7), 4);   // 10 · 0.7 / 0.5
  EXPECT_EQ(change_with(config(), 5), 0);
  EXPECT_EQ(change_with(config(), 3), -4); // 10 · 0.3 / 0.5
  EXPECT_EQ(change_with(config(), 0), -8); // min
  auto c = config();
  c.target = 0.3;
  EXPECT_EQ(change_with(c, 10), 24); // 33.3, made whole
  c.max = 25;
  EXPECT_EQ(change_with(c, 10), 15);
}

TEST(autoscaler, ignores_small_differences) {
  auto c = config();
  c.target = 0.55;
  EXPECT_EQ(change_with(c, 5), 0); // 0.91 of the target
  EXPECT_EQ(change_with(c, 6), 0); // 1.09
  EXPECT_EQ(change_with(c, 4), -2);
  c.tolerance = 0;
  EXPECT_EQ(change_with(c, 6), 1);
}

// 11 waiting for each 10 is a tenth more than 10, but not in binary.
TEST(autoscaler, ignores_what_is_just_within_the_tolerance) {
  auto c = config();
  c.by = scaling::queue;
  c.min = 1;
  for (int tenths = 1; tenths <= 9; ++tenths)
    for (int target : {1, 3, 5, 7, 9, 11}) {
      c.target = target;
      c.tolerance = tenths / 10.0;
      auto most = static_cast<std::size_t>(target * (10 + tenths));
      auto least = static_cast<std::size_t>(target * (10 - tenths));
      EXPECT_EQ(change_with(c, 0, most), 0) << target << ' ' << tenths;
      EXPECT_GT(change_with(c, 0, most + 1), 0) << target << ' ' << tenths;
      EXPECT_EQ(change_with(c, 0, least), 0) << target << ' ' << tenths;
      EXPECT_LT(change_with(c, 0, least - 1), 0) << target << ' ' << tenths;
    }
}

// Whole numbers of servers, large or small, are not made one more.
TEST(autoscaler, wants_no_worker_for_a_rounding_error) {
  auto c = config();
  c.by = scaling::queue;
  c.max = 1'000'000;
  c.tolerance = 0;
  c.target = 0.1;
  EXPECT_EQ(change_with(c, 0, 3), 20);
  for (std::size_t n : {123u, 12'345u, 99'999u})
    EXPECT_EQ(change_with(c, 0, n), static_cast<int>(n * 10) - 10) << n;
}

TEST(autoscaler, counts_servers_that_end_their_request) {
  autoscaler x{config(), 4, scaler_start};
  x.busy_is(scaler_start, 1);
  x.busy_is(scaler_start + 10s, 4);
  // 4 · 0.25 / 0.5. All four are busy just then.
  EXPECT_EQ(x.look(scaler_start + 10s, 0).stop, 2u);
  EXPECT_EQ(x.servers(), 2u);
  // 2 · 1 / 0.5, as all of those that are still there are busy.
  EXPECT_EQ(x.look(scaler_start + 20s, 0).start, 2u);
}

TEST(autoscaler, aims_at_a_queue) {
  auto c = config();
  c.by = scaling::queue;
  c.target = 3;
  EXPECT_EQ(change_with(c, 10, 30), 0);
  EXPECT_EQ(change_with(c, 10, 61), 11); // 20.3, made whole
  EXPECT_EQ(change_with(c, 10, 12), -6);
  EXPECT_EQ(change_with(c, 10, 0), -8);
  EXPECT_EQ(change_with(c, 10, 1'000'000'000), 40);
}

TEST(autoscaler, takes_the_mean_since_the_last_decision) {
  autoscaler x{config(), 10, scaler_start};
  x.busy_is(scaler_start, 10);
  x.busy_is(scaler_start + 5s, 0);
  EXPECT_EQ(x.look(scaler_start + 10s, 0).start, 0u); // 0.5
  x.busy_is(scaler_start + 10s, 7);
  auto then = x.look(scaler_start + 20s, 0);
  EXPECT_EQ(then.start, 4u);
}

TEST(autoscaler, waits_after_a_decision) {
  auto c = config();
  c.cooldown = 30s;
  autoscaler x{c, 10, scaler_start};
  x.busy_is(scaler_start, 10);
  EXPECT_EQ(x.look(scaler_start + 10s, 0).start, 10u);
  x.started(scaler_start + 10s, 10);
  EXPECT_EQ(x.servers(), 20u);
  x.busy_is(scaler_start + 10s, 20);
  EXPECT_EQ(x.look(scaler_start + 39s, 0).start, 0u);
  EXPECT_EQ(x.look(scaler_start + 40s, 0).start, 20u);
}

TEST(autoscaler, counts_those_that_start) {
  autoscaler x{config(), 10, scaler_start};
  x.busy_is(scaler_start, 10);
  EXPECT_EQ(x.look(scaler_start + 10s, 0).start, 10u);
  // Ten that are busy want twenty, which is what there will be.
  EXPECT_EQ(x.look(scaler_start + 20s, 0).start, 0u);
  x.busy_is(scaler_start + 20s, 8);
  auto third = x.look(scaler_start + 30s, 0);
  EXPECT_EQ(third.start + third.stop, 0u);
  x.busy_is(scaler_start + 30s, 2);
  EXPECT_EQ(x.look(scaler_start + 40s, 0).stop, 6u);
  EXPECT_EQ(x.servers(), 4u);
  x.started(scaler_start + 50s, 10);
  EXPECT_EQ(x.servers(), 14u);
}

// -- as configuration ---------------------------------------------------------

TEST(scenario_autoscale, is_checked) {
  auto mistakes = [](const std::string& more) {
    return test::mistakes_in(std::string{test::smallest_world}
                             + "[service.db.autoscale]\n" + more);
  };
  using names = std::vector<std::string>;
  EXPECT_THAT(mistakes(""), IsEmpty());
  EXPECT_THAT(mistakes("by = 'queue'\ntarget = 10"), IsEmpty());
  EXPECT_EQ(mistakes("by = 'cpu'"), names{"range service.db.autoscale.by"});
  EXPECT_EQ(mistakes("target = 0"), names{"range service.db.autoscale.target"});
  EXPECT_EQ(mistakes("max = 0"), names{"range service.db.autoscale.max"});
  EXPECT_EQ(mistakes("min = 5\nmax = 4"),
            names{"relation service.db.autoscale.max"});
  EXPECT_EQ(mistakes("min = 2"), names{"relation service.db.autoscale"});
  EXPECT_EQ(mistakes("every = '0s'"),
            names{"range service.db.autoscale.every"});
  EXPECT_EQ(mistakes("delay = 5"), names{"type service.db.autoscale.delay"});
  EXPECT_EQ(mistakes("cooldown = '-1s'").size(), 1u);
  EXPECT_THAT(mistakes("target = 1"), IsEmpty());
  EXPECT_EQ(mistakes("target = 1.01"),
            names{"relation service.db.autoscale.target"});
  EXPECT_EQ(mistakes("tolerance = 2"),
            names{"range service.db.autoscale.tolerance"});
  EXPECT_EQ(mistakes("[service.x]\nworkers = 'unlimited'\nautoscale = {}"),
            names{"relation service.x.autoscale"});
}

// -- in a service -------------------------------------------------------------

const std::string staircase = R"(
length = "400s"
[service.server]
workers = 10
time = "100ms"
[service.server.autoscale]
target = 0.49
min = 5
every = "20s"
delay = "30s"
cooldown = "60s"
[load.users]
kind = "constant"
profile = [["0s", 50], ["60s", 200]]
target = "server"
)";

// Worked out in demos/scenarios/theory/autoscale.toml.
TEST(simulated_service, scales_in_steps) {
  EXPECT_THAT(log_with(staircase, {"scale"}),
              ElementsAre("110.000000000 scale server 21",
                          "170.000000000 scale server 43",
                          "230.000000000 scale server 63",
                          "260.000000000 scale server 41"));
}

TEST(simulated_service, reports_how_many_servers_it_has) {
  auto report = test::played_report(staircase);
  const auto& r = report.runs[0].arms[0];
  EXPECT_EQ(r.rows[109].services[0].servers, 10u);
  EXPECT_EQ(r.rows[110].services[0].servers, 21u);
  EXPECT_EQ(r.rows[399].services[0].servers, 41u);
  // (60 · 10 · 0.5 + 50 · 10 + 60 · 21 + 19.13 · 43 + 210.87 · 20) divided by
  // (110 · 10 + 60 · 21 + 60 · 43 + 30 · 63 + 140 · 41).
  EXPECT_NEAR(r.services[0].utilization, 7100.0 / 12570, 0.005);
  std::ostringstream out;
  write_json(out, report);
  auto data = nlohmann::json::parse(out.str())["runs"][0]["arms"][0];
  EXPECT_EQ(data["seconds"][110]["services"]["server"]["workers"], 21);
}

// Nine of twenty servers are busy when all but one are to go.
TEST(simulated_service, counts_servers_that_end_their_request) {
  for (std::string replicas : {"1", "2"}) {
    auto r = played("length = '20s'\n"
                    "[service.s]\nworkers = 20\ntime = '10s'\nreplicas = "
                    + replicas
                    + "\nautoscale = { by = 'queue', every = '1s', cooldown = "
                      "'0s' }\n"
                      "[load.u]\nkind = 'constant'\nrate = 10\n"
                      "target = 's'\nstop = '900ms'\n");
    EXPECT_LE(r.services[0].utilization, 1.0) << replicas;
    if (replicas == "1") {
      // 9 requests of 10 s, divided by 20 servers for 1 s, the 9 until each
      // has gone at 10 s to 10.8 s, and one from then on.
      auto busy = 9 * 10.0;
      auto servers = 20 * 1.0;
      for (int i = 0; i < 9; ++i)
        servers += 10 + i * 0.1 - 1;
      // The last of them to end its request is the one that stays.
      servers += 20 - 10.8;
      EXPECT_NEAR(r.services[0].utilization, busy / servers, 1e-6);
    }
  }
}

TEST(simulated_service, scales_each_replica_by_itself) {
  auto r = log_with("length = '100s'\n"
                    "service.s = { replicas = 2, workers = 2, time = '1s', "
                    "autoscale = { target = 0.5, delay = '0s', every = '10s' } "
                    "}\n"
                    "load.u = { kind = 'constant', rate = 2, target = 's' }\n"
                    "fault = [{ kind = 'slow', target = 's#2', for = '100s', "
                    "factor = 2 }]",
                    {"scale"});
  EXPECT_EQ(r.front(), "10.000000000 scale s#2 4");
}

TEST(simulated_service, has_fewer_servers_during_a_fault_all_the_same) {
  // It starts servers all the time, but the fault lets only one work.
  auto r = played("length = '60s'\n"
                  "service.s = { workers = 2, time = '1s', autoscale = { max = "
                  "9, delay = '1s', every = '5s', cooldown = '0s' } }\n"
                  "load.u = { kind = 'constant', rate = 5, target = 's' }\n"
                  "fault = [{ kind = 'capacity', target = 's', workers = 1, "
                  "for = '60s' }]\ndrain = '0s'");
  EXPECT_EQ(r.services[0].completed, 59u);
}

} // namespace
} // namespace caisson::sim
