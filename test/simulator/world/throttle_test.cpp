// Services with and without a throttle in their clients. docs/throttle.md has
// the results.
#include <simulator/report/report.hpp>

#include <support/simulated.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace caisson::sim {
namespace {

using test::played;

// Good answers from second `from` on and before second `to`, per second.
double goodput(const arm_result& r, std::size_t from, std::size_t to) {
  std::uint64_t n = 0;
  for (auto i = from; i < to; ++i)
    n += r.rows.at(i).requests.good;
  return static_cast<double>(n) / static_cast<double>(to - from);
}

// A front can read 200 requests a second, and the store behind it answers 50 of
// them. For two minutes there are 300.
const std::string busy_rejecting = R"(
length = "300s"
recovery_from = "180s"

[service.front]
workers = 1
queue = 1000
time = "5ms"
async = true
calls = ["store"]

[service.store]
workers = 2
queue = 4
time = { kind = "exponential", mean = "40ms" }

[load.clients]
kind = "poisson"
target = "front"
timeout = "1s"
profile = [["0s", 20], ["60s", 300], ["180s", 20]]

[arm.bare]

[arm.throttled]
[[arm.throttled.stack.client.layer]]
kind = "throttle"
[[arm.throttled.edge]]
from = "clients"
stack = "client"

[arm.forgetful]
[[arm.forgetful.stack.client.layer]]
kind = "throttle"
window = "10s"
[[arm.forgetful.edge]]
from = "clients"
stack = "client"
)";

TEST(sim_throttle, lets_a_service_answer_that_would_be_busy_rejecting) {
  auto bare = played(busy_rejecting, "bare");
  auto throttled = played(busy_rejecting, "throttled");
  auto forgetful = played(busy_rejecting, "forgetful");
  // While the front has more to read than it can, what it reads is too late.
  EXPECT_LT(goodput(bare, 90, 180), 5);
  EXPECT_GT(goodput(throttled, 90, 180), 35);
  EXPECT_GT(goodput(forgetful, 90, 180), 40);
  EXPECT_GT(throttled.totals.good, 2 * bare.totals.good);
  EXPECT_LT(throttled.totals.attempts, bare.totals.attempts / 2);
  // Afterwards it costs answers, the longer the window, the more.
  EXPECT_GT(goodput(bare, 200, 240), 18);
  EXPECT_LT(goodput(throttled, 200, 240), 12);
  EXPECT_GT(goodput(forgetful, 200, 240), 18);
}

// It is no breaker: a store that was down for three minutes, and is well again.
const std::string down = R"(
length = "480s"
recovery_from = "240s"

[service.store]
workers = 10
time = { kind = "exponential", mean = "40ms" }

[load.clients]
kind = "poisson"
target = "store"
timeout = "1s"
rate = 100

[[fault]]
kind = "crash"
target = "store"
at = "60s"
for = "180s"

[arm.bare]

[arm.throttled]
[[arm.throttled.stack.client.layer]]
kind = "throttle"
[[arm.throttled.edge]]
from = "clients"
stack = "client"

[arm.breaker]
[[arm.breaker.stack.client.layer]]
kind = "breaker"
[[arm.breaker.edge]]
from = "clients"
stack = "client"
)";

TEST(sim_throttle, costs_answers_after_an_outage) {
  auto bare = played(down, "bare");
  auto throttled = played(down, "throttled");
  auto breaker = played(down, "breaker");
  EXPECT_GT(goodput(bare, 300, 330), 90);
  EXPECT_GT(goodput(breaker, 300, 330), 90);
  EXPECT_LT(goodput(throttled, 300, 330), 70);
  EXPECT_GT(goodput(throttled, 420, 480), 90);
  EXPECT_LT(throttled.totals.good, breaker.totals.good);
}

TEST(sim_throttle, has_its_own_kind_of_error) {
  auto r = played(busy_rejecting, "throttled");
  EXPECT_GT(r.totals.errors["throttled"], 10'000u);
}

} // namespace
} // namespace caisson::sim
