// `caisson tune` and `caisson explore` with the policies and queues that keep a
// service from more than it can do.
#include <support/tune_rig.hpp>

#include <gtest/gtest.h>

#include <string>

namespace caisson::sim {
namespace {

using namespace tuned;

// Half as many requests again as there are servers for.
constexpr auto crowded_shop = R"(
length = "5s"
[service.web]
workers = 4
time = { kind = "exponential", mean = "20ms" }
stack = "guarded"
[load.users]
rate = 300
target = "web"
timeout = "300ms"
keys = 10
[[stack.guarded.layer]]
kind = "shedder"
mode = "observe"
[[stack.guarded.layer]]
kind = "adaptive_limit"
algorithm = "aimd"
initial_limit = 4
min_limit = 4
max_limit = 4
max_waiters = 200
)";

class capacity_commands : public tune_rig {
protected:
  capacity_commands() { write(crowded_shop); }

  json best(strings more) {
    return winner(
      json_of(joined(std::move(more),
                     {"--best", "success", "--seeds", "2", "--unseen", "2"})));
  }
};

// Under overload the oldest first serves those that are about to give up.
TEST_F(capacity_commands, tune_finds_the_order_of_a_queue) {
  const auto* order = "stack.guarded.layer[1].order";
  EXPECT_EQ(best({"--vary", std::string{order} + "=fifo,lifo,fair"})[order],
            "lifo");
}

// With a queue of 200 in front of four servers all answers are late; the
// shedder keeps it short.
TEST_F(capacity_commands, tune_finds_what_a_shedder_is_worth) {
  const auto* decrease = "stack.guarded.layer[0].decrease";
  write(std::string{crowded_shop}.replace(
    std::string{crowded_shop}.find("\"observe\""), 9, "\"enforce\""));
  auto found = best({"--vary", std::string{decrease} + "=0.001,0.3"});
  EXPECT_EQ(found[decrease], 0.3);
}

TEST_F(capacity_commands, explore_finds_faults_behind_them) {
  write(std::string{R"(
title = "A guarded shop"
length = "20s"
[service.web]
workers = 4
time = "5ms"
calls = ["db"]
stack = "server"
[service.db]
workers = 2
time = "10ms"
order = "fair"
queue = 50
[load.users]
rate = 100
target = "web"
timeout = "300ms"
keys = 5
priority = 1
[[edge]]
from = "web"
to = "db"
stack = "client"
[[stack.server.layer]]
kind = "shedder"
[[stack.server.layer]]
kind = "semaphore"
permits = 10
max_waiters = 20
order = "priority"
[[stack.client.layer]]
kind = "throttle"
[[stack.client.layer]]
kind = "adaptive_limit"
max_waiters = 10
order = "fair"
[expect]
success_at_least = 0.95
)"});
  EXPECT_EQ(test::run_command(
              {"explore", file_, "--out", path("found"), "--runs", "20"}, out_,
              err_, parts_),
            1)
    << err_.str();
  EXPECT_NE(out_.str().find("expected at least 0.95\n   faults: "),
            std::string::npos)
    << out_.str();
  // And nothing else: calls have one answer, and nothing is left.
  EXPECT_NE(out_.str().find("\n1 finding in 21 runs"), std::string::npos)
    << out_.str();
}

} // namespace
} // namespace caisson::sim
