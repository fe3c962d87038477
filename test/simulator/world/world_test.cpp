// Properties of every run: it is the same each time, arms see the same world,
// and the statistics agree.
#include <simulator/world/world.hpp>

#include <support/simulated.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using test::arm_of;
using test::log_of;
using test::played;

// Everything at once: two loads, calls, policies of all kinds, faults.
const std::string busy = R"(
length = "20s"
[service.web]
workers = 20
queue = 50
time = { kind = "lognormal", mean = "5ms", cv = 1 }
calls = [
  { to = "db.read", count = 2 },
  ["cache", { to = "ad", optional = true, timeout = "20ms" }],
]
[service.db]
workers = 4
abandoned = "skip"
stack = "shed"
[service.db.op.read]
time = { kind = "exponential", mean = "8ms" }
[service.cache]
workers = "unlimited"
time = { kind = "uniform", min = "1ms", max = "3ms" }
errors = 0.01
[service.ad]
time = { kind = "bimodal", fast = "2ms", slow = "200ms", share = 0.1 }
abandoned = "cancel"
[load.people]
rate = 150
target = "web"
timeout = "500ms"
attempts = 2
[load.robots]
kind = "closed"
users = 5
think = "50ms"
target = "db.read"
[[edge]]
latency = { kind = "exponential", mean = "1ms" }
stack = "guard"
[[stack.guard.layer]]
kind = "retrier"
max_attempts = 3
[[stack.guard.layer]]
kind = "breaker"
open = "1s"
[[stack.guard.layer]]
kind = "deadline"
timeout = "200ms"
[[stack.shed.layer]]
kind = "semaphore"
permits = 10
max_waiters = 10
[[fault]]
kind = "slow"
target = "db"
at = "5s"
for = "3s"
[[fault]]
kind = "crash"
target = "cache"
at = "10s"
for = "1s"
[arm.guarded]
[arm.bare]
edge = [{ stack = "" }]
)";

TEST(simulated_world, is_the_same_with_the_same_seed) {
  EXPECT_EQ(log_of(busy, "guarded"), log_of(busy, "guarded"));
  auto a = played(busy, "guarded");
  auto b = played(busy, "guarded");
  EXPECT_EQ(a.digest, b.digest);
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.messages, b.messages);
}

TEST(simulated_world, is_another_one_with_another_seed) {
  std::set<std::uint64_t> digests;
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    digests.insert(played(busy, "guarded", seed).digest);
  EXPECT_EQ(digests.size(), 5u);
}

TEST(simulated_world, has_the_digest_of_its_log) {
  auto lines = log_of(busy, "guarded");
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const auto& line : lines)
    for (unsigned char c : line + "\n")
      h = (h ^ c) * 0x100000001b3u;
  auto r = played(busy, "guarded");
  EXPECT_EQ(r.digest, h);
  EXPECT_EQ(r.events, lines.size());
}

// A probe that listens to every gate is one more actor among the others.
TEST(simulated_world, does_not_change_when_it_is_observed) {
  auto s = parse_scenario(busy, "test.toml");
  auto digest = [&](bool watched) {
    world w{arm_of(s, "guarded"), 1, {}};
    auto probe = w.time().make_probe();
    if (watched)
      for (const auto& gate : w.all_gates())
        probe.send(gate, subscribe{});
    w.time().run_until_idle();
    for (auto t = 100ms; t < 20s; t += 100ms) {
      w.advance_to(t);
      if (watched)
        (void)w.gates();
    }
    EXPECT_EQ(probe.received().empty(), !watched);
    return w.recorder().log().digest();
  };
  EXPECT_EQ(digest(false), digest(true));
}

// -- common random numbers ----------------------------------------------------

std::vector<std::string> lines_with(const std::vector<std::string>& log,
                                    const std::string& word) {
  std::vector<std::string> out;
  for (const auto& line : log)
    if (line.find(word) != std::string::npos)
      out.push_back(line);
  return out;
}

TEST(simulated_arms, see_the_same_arrivals) {
  auto a = log_of(busy, "guarded");
  auto b = log_of(busy, "bare");
  EXPECT_NE(a, b);
  // Numbers are given to requests of both loads in their order of arrival.
  auto times = [](const std::vector<std::string>& log) {
    std::vector<std::string> out;
    for (const auto& line : lines_with(log, " offer people"))
      out.push_back(line.substr(0, line.find(' ')));
    return out;
  };
  EXPECT_EQ(times(a), times(b));
}

// How long each request was worked on, in a service that calls nobody.
std::map<std::string, std::int64_t> service_times(const std::string& order) {
  std::map<std::string, std::int64_t> out;
  for (const auto& line : log_of("length = '50s'\n[load.u]\nrate = 100\n"
                                 "target = 's'\n[service.s]\ntime = { kind = "
                                 "'exponential', mean = '9ms' }\norder = '"
                                 + order + "'")) {
    auto ns = std::stoll(line.substr(0, line.find('.'))) * 1'000'000'000
              + std::stoll(line.substr(line.find('.') + 1, 9));
    auto request = line.substr(line.find('#'));
    if (line.find(" begin ") != std::string::npos)
      out[request] -= ns;
    else if (line.find(" done ") != std::string::npos)
      out[request] += ns;
  }
  return out;
}

TEST(simulated_arms, see_the_same_service_times_in_whatever_order) {
  auto fifo = service_times("fifo");
  EXPECT_EQ(fifo, service_times("lifo"));
  EXPECT_GT(fifo.size(), 4500u);
}

// -- the statistics -----------------------------------------------------------

TEST(simulated_world, keeps_littles_law_in_every_service) {
  for (const auto* arm : {"guarded", "bare"}) {
    auto r = played(busy, arm);
    for (const auto& s : r.services) {
      EXPECT_LT(s.little_error, 1e-9) << arm << ' ' << s.name;
      EXPECT_GT(s.mean_inside, 0) << arm << ' ' << s.name;
    }
  }
}

TEST(simulated_world, keeps_littles_law_when_it_begins_late_and_ends_early) {
  auto r = played("warmup = '3s'\nlength = '10s'\ndrain = '0s'\n"
                  "[load.u]\nrate = 100\ntarget = 's'\n[service.s]\n"
                  "time = '15ms'");
  EXPECT_GT(r.unanswered, 100u);
  EXPECT_LT(r.services[0].little_error, 1e-9);
}

TEST(simulated_world, answers_every_request_once) {
  for (const auto* arm : {"guarded", "bare"})
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      auto r = played(busy, arm, seed);
      EXPECT_EQ(r.answered_twice, 0u);
      EXPECT_EQ(r.unanswered, 0u);
      EXPECT_EQ(r.totals.offered, r.totals.good + r.totals.failed);
      request_counts sum;
      for (const auto& row : r.rows) {
        sum.offered += row.requests.offered;
        sum.attempts += row.requests.attempts;
        sum.good += row.requests.good;
        sum.failed += row.requests.failed;
      }
      EXPECT_EQ(sum.offered, r.totals.offered);
      EXPECT_EQ(sum.attempts, r.totals.attempts);
      EXPECT_EQ(sum.good, r.totals.good);
      EXPECT_EQ(sum.failed, r.totals.failed);
    }
}

TEST(simulated_world, leaves_the_warm_up_out_of_the_totals) {
  auto r = played("warmup = '3s'\nlength = '10s'\n[load.u]\nkind = 'constant'\n"
                  "rate = 10\ntarget = 's'\n[service.s]\ntime = '1ms'");
  EXPECT_EQ(r.totals.offered, 70u);
  EXPECT_EQ(r.totals.good, 70u);
  EXPECT_EQ(r.latency.count, 70u);
  EXPECT_EQ(r.services[0].arrivals, 70u);
  EXPECT_EQ(r.rows.size(), 10u);
  EXPECT_EQ(r.rows[0].requests.offered, 10u);
}

// In each window there are answers to requests that began before it.
TEST(simulated_world, is_well_if_all_answers_come_in_time_however_late) {
  auto world = [](const std::string& timeout) {
    return "length = '60s'\n[load.u]\nrate = 3\ntarget = 's'\n" + timeout
           + "\n[service.s]\nworkers = 'unlimited'\n"
             "time = { kind = 'exponential', mean = '3s' }";
  };
  auto r = played(world("timeout = '60s'"));
  EXPECT_EQ(r.totals.failed, 0u);
  EXPECT_EQ(r.verdict, verdict_kind::no_fault);
  EXPECT_EQ(r.relapses, std::vector<relapse>{});
  // Those that are given up are a loss.
  r = played(world("timeout = '2s'"));
  EXPECT_NE(r.verdict, verdict_kind::no_fault);
}

// -- stopping -----------------------------------------------------------------

TEST(simulated_world, can_be_stopped_and_reports_its_progress) {
  auto s = parse_scenario(busy, "test.toml");
  std::atomic<bool> stop = false;
  run_options o;
  o.stop = &stop;
  o.progress = [&](double share) { stop = share >= 0.5; };
  auto r = run_arm(arm_of(s, "guarded"), o);
  EXPECT_TRUE(r.interrupted);
  EXPECT_EQ(r.length, 10s);
  EXPECT_EQ(r.rows.size(), 10u);
  EXPECT_LT(r.services[0].little_error, 1e-9);
}

// Tens of millions of messages within the first tenth of a second.
constexpr auto standing_still = R"(
length = '10s'
[service.s]
workers = 'unlimited'
time = '1ns'
[load.u]
kind = 'closed'
users = 10
target = 's'
)";

TEST(simulated_world, can_be_stopped_while_time_hardly_moves) {
  auto s = parse_scenario(standing_still, "test.toml");
  std::atomic<bool> stop = false;
  int looks = 0;
  run_options o;
  o.stop = &stop;
  o.progress = [&](double) { stop = ++looks == 20; };
  auto r = run_arm(s.arms[0], o);
  EXPECT_TRUE(r.interrupted);
  EXPECT_LT(r.length, 1ms);
  EXPECT_LT(r.messages, 10'000u);
  ASSERT_EQ(r.rows.size(), 1u);
  EXPECT_EQ(r.rows[0].requests.offered, r.totals.offered);
  EXPECT_GT(r.totals.offered, 0u);
  EXPECT_EQ(r.gates.size(), 1u);
  EXPECT_LT(r.services[0].little_error, 1e-9);
}

TEST(simulated_world, is_interrupted_in_the_drain_too) {
  auto s = parse_scenario("length = '1s'\n[service.s]\ntime = '5s'\n"
                          "workers = 'unlimited'\n[load.u]\n"
                          "kind = 'constant'\nrate = 10\ntarget = 's'",
                          "test.toml");
  std::atomic<bool> stop = false;
  run_options o;
  o.stop = &stop;
  int full = 0;
  o.progress = [&](double share) { stop = share >= 1 && ++full > 3; };
  auto r = run_arm(s.arms[0], o);
  EXPECT_TRUE(r.interrupted);
  EXPECT_EQ(r.length, 1s);
  EXPECT_EQ(r.unanswered, 10u);
}

TEST(simulated_world, is_not_built_to_its_end_when_it_is_stopped) {
  auto s = parse_scenario(busy, "test.toml");
  const auto& arm = arm_of(s, "guarded");
  std::atomic<bool> stop = true;
  world w{arm, 1, {}, &stop};
  EXPECT_FALSE(w.whole());
  EXPECT_TRUE(w.all_gates().empty());
  EXPECT_TRUE(w.gates().empty());
  run_options o;
  o.stop = &stop;
  auto r = run_arm(arm, o);
  EXPECT_TRUE(r.interrupted);
  EXPECT_TRUE(r.gates.empty());
  EXPECT_EQ(r.services.size(), 4u);
  stop = false;
  EXPECT_TRUE((world{arm, 1, {}, &stop}.whole()));
}

TEST(simulated_world, has_a_gate_for_each_route_and_each_guarded_service) {
  auto s = parse_scenario(busy, "test.toml");
  world w{arm_of(s, "guarded"), 1, {}};
  w.advance_to(20s);
  EXPECT_GT(w.messages(), 10'000u);
  EXPECT_EQ(w.gates().size(), 6u);
}

} // namespace
} // namespace caisson::sim
