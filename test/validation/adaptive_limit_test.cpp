// Services with and without an adaptive limit in front. docs/adaptive-limit.md
// has the results.
#include <simulator/report/report.hpp>

#include <support/simulated.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace caisson::sim {
namespace {

using test::played;

double good_per_second(const arm_result& r, std::size_t from, std::size_t to) {
  std::uint64_t n = 0;
  for (auto i = from; i < to; ++i)
    n += r.rows.at(i).requests.good;
  return static_cast<double>(n) / static_cast<double>(to - from);
}

// For a minute three of four servers are away: 120 requests a second can be
// answered, and 300 come.
const std::string fewer_servers = R"(
length = "240s"
recovery_from = "120s"

[service.store]
workers = 40
time = { kind = "uniform", min = "67ms", max = "100ms" }

[load.clients]
kind = "poisson"
target = "store"
timeout = "1s"
rate = 300

[[fault]]
kind = "capacity"
target = "store"
workers = 10
at = "60s"
for = "60s"

[arm.bare]

[arm.gradient]
[[arm.gradient.stack.client.layer]]
kind = "adaptive_limit"
[[arm.gradient.edge]]
from = "clients"
stack = "client"

[arm.vegas]
[[arm.vegas.stack.client.layer]]
kind = "adaptive_limit"
algorithm = "vegas"
max_baseline = "100ms"
[[arm.vegas.edge]]
from = "clients"
stack = "client"

[arm.aimd]
[[arm.aimd.stack.client.layer]]
kind = "adaptive_limit"
algorithm = "aimd"
timeout = "250ms"
[[arm.aimd.edge]]
from = "clients"
stack = "client"
)";

TEST(sim_adaptive_limit, lets_a_service_with_fewer_servers_answer_in_time) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    auto bare = played(fewer_servers, "bare", seed);
    // What is answered is too late, also a minute after the fault.
    EXPECT_LT(good_per_second(bare, 70, 120), 10) << seed;
    EXPECT_LT(good_per_second(bare, 120, 160), 10) << seed;
    for (auto arm : {"gradient", "vegas", "aimd"}) {
      auto limited = played(fewer_servers, arm, seed);
      EXPECT_GT(good_per_second(limited, 70, 120), 100) << arm << seed;
      EXPECT_GT(good_per_second(limited, 140, 160), 280) << arm << seed;
      EXPECT_GT(limited.totals.good, bare.totals.good * 3 / 2) << arm << seed;
    }
  }
}

// A service that has room for all calls: 25 are in flight.
const std::string at_ease = R"(
length = "300s"

[service.store]
workers = 100
time = { kind = "uniform", min = "67ms", max = "100ms" }

[load.clients]
kind = "poisson"
target = "store"
timeout = "5s"
rate = 300

[arm.bare]

[arm.refusing]
[[arm.refusing.stack.client.layer]]
kind = "adaptive_limit"
[[arm.refusing.edge]]
from = "clients"
stack = "client"

[arm.waiting]
[[arm.waiting.stack.client.layer]]
kind = "adaptive_limit"
max_waiters = 1000
[[arm.waiting.edge]]
from = "clients"
stack = "client"
)";

// Each measurement costs what does not fit into the pinned limit: the calls, or
// their time.
TEST(sim_adaptive_limit, costs_answers_while_it_measures) {
  auto bare = played(at_ease, "bare");
  auto refusing = played(at_ease, "refusing");
  auto waiting = played(at_ease, "waiting");
  auto share = [](const arm_result& r) {
    return static_cast<double>(r.totals.good)
           / static_cast<double>(r.totals.offered);
  };
  EXPECT_EQ(share(bare), 1);
  EXPECT_LT(share(refusing), 0.985);
  EXPECT_GT(share(refusing), 0.95);
  EXPECT_GT(share(waiting), 0.999);
  EXPECT_GT(refusing.totals.errors["queue_full"], 1'000u);
}

} // namespace
} // namespace caisson::sim
