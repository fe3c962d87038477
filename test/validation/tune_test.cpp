// `caisson tune` on scenarios whose best settings are known.
#include <support/tune_rig.hpp>

#include <caisson/base/time.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <string>

namespace caisson::sim {
namespace {

using namespace tuned;

using tuning = tune_rig;

// The mean wait of M/M/c, by Erlang's C formula.
double mean_wait(double rate, double service, int c) {
  auto a = rate * service;
  double blocked = 1; // By Erlang's B formula, step by step.
  for (int k = 1; k <= c; ++k)
    blocked = a * blocked / (k + a * blocked);
  auto wait = blocked / (1 - a / c * (1 - blocked));
  return wait * service / (c - a);
}

TEST_F(tuning, finds_the_workers_that_erlang_would) {
  write(R"(
length = "200s"
warmup = "20s"
[service.web]
workers = 12
time = { kind = "exponential", mean = "100ms" }
[load.users]
rate = 20
target = "web"
)");
  for (int c : {4, 5}) {
    // Between the waits with one worker less and with c.
    auto bound = std::sqrt(mean_wait(20, 0.1, c - 1) * mean_wait(20, 0.1, c));
    auto all = json_of({"--vary", "service.web.workers=3..12", "--need",
                        "service.web.wait<=" + std::to_string(bound), "--best",
                        "min:service.web.workers", "--seeds", "8", "--unseen",
                        "4", "--budget", "100"});
    EXPECT_EQ(winner(all)["service.web.workers"], c) << bound;
    EXPECT_EQ(all["verdict"], "holds");
    EXPECT_TRUE(all["complete"]);
  }
}

TEST_F(tuning, finds_how_many_attempts_are_needed) {
  // Each attempt fails with probability 0.1, so that k attempts succeed with
  // 1 - 0.1^k: three for 99.7 %, and more do no good.
  write(R"(
length = "60s"
[service.web]
workers = "unlimited"
errors = 0.1
[load.users]
rate = 100
target = "web"
)");
  auto all = json_of({"--vary", "load.users.attempts=1..6", "--need",
                      "success>=99.7%", "--best", "load.users.attempts"});
  EXPECT_EQ(winner(all)["load.users.attempts"], 3);
  EXPECT_NEAR(all["seen"]["metrics"]["success"]["best"].get<double>(), 0.999,
              0.0005);
  EXPECT_NEAR(all["seen"]["metrics"]["amplification"]["best"].get<double>(),
              1.11, 0.005);
  EXPECT_TRUE(all["seen"]["now_meets_needs"] == false);
  EXPECT_GT(all["seen"]["best_sure_of_needs"].get<double>(), 0.99);
}

TEST_F(tuning, finds_when_to_give_up_an_attempt) {
  // One call of ten takes 1 s instead of 10 ms. To wait longer than 10 ms for
  // an attempt, but less than 1 s, is best: the second attempt is quick.
  write(R"(
length = "30s"
[service.web]
workers = "unlimited"
time = { kind = "empirical", values = ["10ms", "10ms", "10ms", "10ms", "10ms",
                                      "10ms", "10ms", "10ms", "10ms", "1s"] }
[load.users]
rate = 50
target = "web"
timeout = "2s"
attempts = 5
)");
  auto all = json_of({"--vary", "load.users.timeout=1ms..5s", "--need",
                      "success>=99%", "--best", "latency.mean", "--budget",
                      "200", "--seeds", "4", "--unseen", "4"});
  auto best = parse_duration(
    winner(all)["load.users.timeout"].get<std::string>());
  ASSERT_TRUE(best);
  EXPECT_GE(*best, std::chrono::milliseconds(10));
  EXPECT_LE(*best, std::chrono::milliseconds(20));
  EXPECT_EQ(all["verdict"], "holds");
}

} // namespace
} // namespace caisson::sim
