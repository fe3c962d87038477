// Services with and without a shedder. docs/shedder.md has the results.
#include <simulator/world/busy_servers.hpp>

#include <support/simulated.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>

using namespace std::chrono_literals;

namespace caisson::sim {
namespace {

using test::played;

// How many gates have shed, by their names.
std::int64_t shed_by(const arm_result& r, std::string_view gate) {
  std::int64_t n = 0;
  for (const auto& g : r.gates)
    for (const auto& l : g.layers)
      if (g.name == gate && l.kind == "shedder")
        n += l.metrics.at("shed_cpu") + l.metrics.at("shed_in_flight");
  return n;
}

// The front calls a store that has too much to do; itself it is idle.
const std::string two_tiers = R"(
length = "60s"

[service.front]
workers = 100
async = true
time = "1ms"
calls = ["store"]

[service.store]
workers = 2
queue = 20
time = "20ms"

[load.clients]
kind = "poisson"
target = "front"
timeout = "1s"
rate = 200

[stack.shedding]
[[stack.shedding.layer]]
kind = "shedder"
in_flight_factor = 0.0

[arm.store]
service.store.stack = "shedding"

[arm.front]
service.front.stack = "shedding"

[arm.edge]
[[arm.edge.edge]]
from = "front"
to = "store"
stack = "shedding"

[arm.client]
[[arm.client.edge]]
from = "clients"
stack = "shedding"
)";

TEST(sim_shedder, reads_how_busy_the_service_of_its_gate_is) {
  EXPECT_GT(shed_by(played(two_tiers, "store"), "-> store"), 1'000);
  EXPECT_EQ(shed_by(played(two_tiers, "front"), "-> front"), 0);
  EXPECT_EQ(shed_by(played(two_tiers, "edge"), "front -> store"), 0);
  EXPECT_EQ(shed_by(played(two_tiers, "client"), "clients -> front"), 0);
}

TEST(sim_shedder, does_the_same_with_the_same_seed) {
  auto a = played(two_tiers, "store", 3);
  auto b = played(two_tiers, "store", 3);
  EXPECT_EQ(a.totals.good, b.totals.good);
  EXPECT_EQ(shed_by(a, "-> store"), shed_by(b, "-> store"));
}

TEST(busy_servers, are_the_share_of_servers_at_work) {
  busy_servers x;
  auto at = [](duration d) { return time_point{} + 1h + d; };
  x.set(at(0s), 0, 4);
  EXPECT_FALSE(x.read(at(0s), 250ms).cpu);
  x.set(at(500ms), 4, 4);
  EXPECT_FALSE(x.read(at(249ms), 250ms).cpu) << "it was read just now";
  x.set(at(1s), 2, 4);
  EXPECT_DOUBLE_EQ(x.read(at(1s), 250ms).cpu.value_or(-1), 0.5);
  // A second counts half of what was before.
  x.set(at(2s), 0, 0);
  EXPECT_DOUBLE_EQ(x.read(at(2s), 250ms).cpu.value_or(-1), 0.75);
  EXPECT_FALSE(x.read(at(2s), 250ms).memory);
}

} // namespace
} // namespace caisson::sim
