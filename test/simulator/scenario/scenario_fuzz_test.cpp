// Scenarios that were right, with random changes: each is read, or refused with
// the place and the reason.
#include <support/mutated_text.hpp>
#include <support/rounds.hpp>
#include <support/source_dir.hpp>

#include <simulator/scenario/scenario.hpp>

#include <caisson/settings/problem.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

// Load recordings that it names are not there.
constexpr auto rich_scenario = R"(
title = "All of it"
length = "60s"
warmup = "5s"
seed = 3
recovery_from = "20s"
rows = "2s"
[zones]
names = ["a", "b"]
latency = "1ms"
[service.web]
workers = 10
replicas = 2
queue = 100
order = "codel"
codel_target = "5ms"
time = { kind = "log_normal", median = "2ms", p99 = "20ms" }
calls = ["db.read", { to = "ad", optional = true, probability = 0.5 }]
[service.db]
workers = 4
cores = 2
abandoned = "skip"
autoscale = { min = 2, max = 9, utilization = 0.7 }
[service.db.op.read]
time = { kind = "exponential", mean = "10ms" }
[service.ad]
time = "3ms"
[load.users]
kind = "poisson"
rate = 100
mix = { web = 1 }
timeout = "300ms"
attempts = 3
pause = { kind = "exponential", first = "10ms", max = "1s" }
[load.batch]
kind = "closed"
users = 5
think = "1s"
target = "web"
[stack.guard]
[[stack.guard.layer]]
kind = "breaker"
trip = "consecutive"
threshold = 5
[[stack.guard.layer]]
kind = "retrier"
max_attempts = 2
[[edge]]
from = "web"
to = "db"
stack = "guard"
latency = "1ms"
loss = 0.01
connections = 20
[[fault]]
kind = "slow"
target = "db"
at = "10s"
for = "10s"
factor = 5
[[fault]]
kind = "crash"
target = "web"
at = "30s"
mtbf = "10s"
mttr = "1s"
[expect]
verdict = "recovered"
success_at_least = 0.9
check = [{ metric = "load.users.p99", max = 1.0 }]
[sweep.set]
"service.db.workers" = "2..8/2"
[arm.bare]
[arm.wide]
service.web.workers = 50
[[arm.wide.fault]]
kind = "errors"
target = "ad"
rate = 0.5
at = "1s"
for = "2s"
)";

std::vector<std::string> right_scenarios() {
  std::vector<std::string> out{rich_scenario};
  auto folder = test::source_path("demos/scenarios");
  for (const auto& x : std::filesystem::directory_iterator{folder})
    if (x.path().extension() == ".toml") {
      std::ifstream in{x.path()};
      out.emplace_back(std::istreambuf_iterator<char>{in},
                       std::istreambuf_iterator<char>{});
    }
  return out;
}

// What is wrong with the refusal of a text; empty if it was read.
std::string fault_of_refusal(const std::string& text, bool& good) {
  try {
    static_cast<void>(parse_scenario(text, "fuzz.toml"));
    good = true;
  } catch (const config_error& e) {
    for (const auto& p : e.all())
      if (p.message.empty() || (p.place.empty() && p.key.empty()))
        return "says too little: " + to_text(p);
  } catch (const std::exception& e) {
    return std::string{"not refused by its problems: "} + e.what();
  }
  return {};
}

TEST(scenario_with_random_changes, is_read_or_refused_with_place_and_reason) {
  auto all = right_scenarios();
  ASSERT_GT(all.size(), 5u);
  const auto texts = test::rounds(1'500);
  std::uint64_t good = 0;
  for (std::uint64_t seed = 1; seed <= texts; ++seed) {
    random_source random{seed};
    auto text = test::mutated(all[random.below(all.size())], random);
    auto read = false;
    auto wrong = fault_of_refusal(text, read);
    good += read;
    ASSERT_EQ(wrong, "") << "seed " << seed << "\n" << text;
  }
  // Most changes are noticed, and some are not.
  EXPECT_GT(good, texts / 120);
  EXPECT_LT(good, texts / 2);
}

} // namespace
} // namespace caisson::sim
