// Checks of a run when it is verified.
#include <simulator/play/run.hpp>
#include <simulator/report/expectations.hpp>
#include <simulator/report/quiescence.hpp>
#include <simulator/report/violations.hpp>

#include <support/random_world.hpp>
#include <support/sim_results.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> violation_texts(const std::vector<violation>& all) {
  std::vector<std::string> out;
  for (const auto& x : all)
    out.push_back(x.text);
  return out;
}

std::vector<std::string> violation_rules(const std::vector<violation>& all) {
  std::vector<std::string> out;
  for (const auto& x : all)
    out.push_back(x.rule);
  return out;
}

arm_result verified(const std::string& text, std::uint64_t seed = 1) {
  auto s = parse_scenario(text, "test.toml");
  run_options o;
  o.seed = seed;
  o.verify = true;
  return run_arm(s.arms.at(0), o);
}

// -- counts -------------------------------------------------------------------

// A result in which everything adds up.
arm_result right_result() {
  auto r = result_with({{3, 10, 8}});
  r.latency.count = r.totals.good;
  auto& s = r.services.emplace_back();
  s.name = "web";
  s.arrivals = 30;
  s.refused = 5;
  s.shed = 2;
  s.completed = 20;
  s.failed = 3;
  s.abandoned = 1;
  s.lost = 1;
  s.late = 4;
  s.started = 25;
  s.waited = 10;
  r.edges.push_back(
    {.name = "users -> web",
     .calls = 30,
     .lost_calls = 3,
     .lost_answers = 2,
     .repeated = 1,
     .connections = connection_summary{
       .asked = 37, .waited = 12, .refused = 4, .expired = 2, .abandoned = 1}});
  r.gates.push_back(
    {.name = "users -> web",
     .stack = "",
     .metrics = {{"calls", 30}, {"succeeded", 20}, {"failed", 10}},
     .layers = {}});
  return r;
}

TEST(count_violations, are_none_where_everything_adds_up) {
  EXPECT_THAT(count_violations(right_result()), IsEmpty());
}

TEST(count_violations, report_each_count_that_does_not) {
  struct row {
    const char* rule;
    std::function<void(arm_result&)> spoil;
  };
  const std::vector<row> rows = {
    {"count requests offered", [](auto& r) { ++r.unanswered; }},
    {"count requests failed", [](auto& r) { ++r.totals.errors["timeout"]; }},
    {"count requests substituted",
     [](auto& r) {
       r.totals.substituted = r.rows[0].requests.substituted = 25;
     }},
    {"count requests latency.count", [](auto& r) { --r.latency.count; }},
    {"count requests attempts", [](auto& r) { ++r.totals.attempts; }},
    {"count requests good", [](auto& r) { ++r.rows[1].requests.good; }},
    {"count service web shed", [](auto& r) { r.services[0].shed = 6; }},
    {"count service web late", [](auto& r) { r.services[0].late = 24; }},
    {"count service web waited", [](auto& r) { r.services[0].waited = 26; }},
    {"count service web the sum of ends",
     [](auto& r) { ++r.services[0].refused; }},
    {"count service web started", [](auto& r) { r.services[0].started = 31; }},
    {"count service web completed + failed",
     [](auto& r) { r.services[0].started = 22; }},
    {"count edge users -> web repeated",
     [](auto& r) { r.edges[0].repeated = 3; }},
    {"count edge users -> web lost_calls",
     [](auto& r) { r.edges[0].lost_calls = 32; }},
    {"count edge users -> web calls sent or without a connection",
     [](auto& r) { ++r.edges[0].connections->expired; }},
    {"count edge users -> web calls that waited",
     [](auto& r) { r.edges[0].connections->waited = 38; }},
    {"count gate users -> web succeeded + failed",
     [](auto& r) { ++r.gates[0].metrics["failed"]; }},
  };
  for (const auto& x : rows) {
    auto r = right_result();
    x.spoil(r);
    EXPECT_THAT(violation_rules(count_violations(r)), ElementsAre(x.rule));
  }
}

TEST(count_violations, compare_a_service_with_its_replicas) {
  auto r = right_result();
  auto half = r.services[0];
  half.name = "web#1";
  r.services[0].replicas = {half};
  EXPECT_THAT(count_violations(r), IsEmpty());
  --r.services[0].replicas[0].lost;
  EXPECT_THAT(violation_texts(count_violations(r)),
              ElementsAre("counts of service web do not add up: lost is 1, not "
                          "the sum of its replicas, which is 0"));
}

// The totals lack one end of what began in the warm-up.
TEST(count_violations, ask_for_less_after_a_warmup) {
  auto r = right_result();
  r.warmup = 1s;
  r.services[0].arrivals = 20;
  r.rows[0].requests.offered = 99;
  r.edges[0].calls = 0;
  EXPECT_THAT(count_violations(r), IsEmpty());
}

TEST(violations_of, are_those_of_little_and_twice_and_what_verifying_found) {
  auto r = right_result();
  r.services[0].little_error = 1;
  r.answered_twice = 2;
  r.violations = {{"a rule", "a text"}};
  EXPECT_THAT(violation_rules(violations_of(r)),
              ElementsAre("little web", "answered twice", "a rule"));
  EXPECT_THAT(failed_checks(r), testing::Contains("arm arm: a text"));
}

TEST(expectation_violations, have_a_rule_for_each_expectation) {
  auto r = right_result();
  r.verdict = verdict_kind::stuck;
  arm_config c;
  c.expect.verdict = verdict_kind::recovered;
  c.expect.bounds = {{.metric = "success", .min = 0.9, .place = "x.toml:1:1"},
                     {.metric = "offered", .min = 1},
                     {.metric = "goodput", .max = 1, .from = 1s, .to = 2s}};
  auto found = expectation_violations(c, r);
  EXPECT_THAT(violation_texts(found),
              ElementsAre("verdict is stuck, expected recovered",
                          "success is 0.8, expected at least 0.9",
                          "goodput from 1s to 2s is 8, expected at most 1"));
  EXPECT_EQ(found[1].rule, "expect success from 0s to unlimited, 0.9 to inf");
}

// -- rest ---------------------------------------------------------------------

constexpr auto quiet_world = R"(
length = "5s"
[service.web]
workers = 2
time = "10ms"
[load.users]
rate = 50
target = "web"
timeout = "1s"
)";

TEST(quiescence_check, changes_nothing_else) {
  auto text = test::random_world{3}.text();
  auto s = parse_scenario(text, "x.toml");
  auto plain = run_arm(s.arms.at(0), {});
  auto checked = verified(text);
  EXPECT_EQ(checked.digest, plain.digest);
  EXPECT_EQ(checked.events, plain.events);
  EXPECT_EQ(checked.totals.good, plain.totals.good);
}

TEST(quiescence_check, finds_nothing_in_random_worlds) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    auto text = test::random_world{seed}.text();
    EXPECT_THAT(violation_texts(violations_of(verified(text, seed))), IsEmpty())
      << text;
  }
}

// Nothing ends this call but its answer, and chaos keeps that.
constexpr auto mute_world = R"(
length = "1s"
drain = "1s"
[service.web]
time = "1ms"
[load.users]
kind = "constant"
rate = 2
target = "web"
[[edge]]
from = "users"
stack = "mute"
[stack.mute]
default_deadline = "unlimited"
[[stack.mute.layer]]
kind = "chaos"
enabled = true
error_rate = 0.0
latency_rate = 0.0
outcome_rate = 0.0
silence_rate = 1.0
silence = "365d"
)";

TEST(quiescence_check, reports_a_request_that_never_ends) {
  auto r = verified(mute_world);
  EXPECT_EQ(violation_rules(r.violations).at(0), "rest requests");
  EXPECT_EQ(r.violations[0].text, "2 requests of clients never ended");
  EXPECT_THAT(
    violation_texts(r.violations),
    testing::Contains("gate users -> web still has in_progress = 2 at "
                      "quiescence"));
}

TEST(quiescence_check,
     reports_it_after_work_of_days_unless_that_takes_too_long) {
  auto beside = [](const char* time) {
    auto work = R"(
[service.archive]
time = "{}"
[load.writers]
kind = "constant"
rate = 11
target = "archive"
timeout = "100ms"
)";
    return mute_world + fmt::format(fmt::runtime(work), time);
  };
  EXPECT_THAT(violation_rules(verified(beside("90h")).violations),
              testing::Contains("rest requests"));
  // 1,100 hours one after the other: nobody knows what will be then.
  EXPECT_THAT(verified(beside("100h")).violations, IsEmpty());
}

TEST(quiescence_check, waits_for_a_long_queue) {
  auto r = verified(R"(
length = "10s"
drain = "1s"
[service.web]
time = "100ms"
[load.users]
kind = "constant"
rate = 1000
target = "web"
timeout = "1s"
)");
  EXPECT_THAT(violation_texts(r.violations), IsEmpty());
}

// The clients have given up long before.
TEST(quiescence_check, waits_for_work_of_days) {
  for (auto web : {"time = \"90h\"\nworkers = 3", // One after the other.
                   "time = \"90h\"\nworkers = 3\ncores = 1",
                   "time = \"90h\"\nworkers = 3\nslowdown = 1\n"
                   "slowdown_in_progress = true"}) {
    auto r = verified(fmt::format(R"(
length = "1s"
drain = "1s"
[service.web]
{}
[load.users]
kind = "constant"
rate = 6
target = "web"
timeout = "100ms"
)",
                                  web));
    EXPECT_THAT(violation_texts(r.violations), IsEmpty()) << web;
  }
}

TEST(quiescence_check, says_nothing_of_calls_that_were_lost_and_have_no_end) {
  auto text = std::string{R"(
length = "2s"
drain = "1s"
[service.web]
[load.users]
rate = 100
target = "web"
[[edge]]
loss = 0.5
)"};
  EXPECT_THAT(violation_texts(verified(text).violations), IsEmpty());
  EXPECT_THAT(violation_texts(verified(text
                                       + "[load.users2]\nrate = 100\ntarget = "
                                         "\"web\"\ntimeout = \"1s\"\n")
                                .violations),
              IsEmpty());
}

TEST(quiescence_check, ends_when_it_is_stopped) {
  std::atomic<bool> stop{false};
  auto s = parse_scenario(quiet_world, "x.toml");
  run_options o;
  o.verify = true;
  o.stop = &stop;
  // The last one before the load is over.
  o.progress = [&](double share) { stop = share >= 1; };
  auto r = run_arm(s.arms.at(0), o);
  EXPECT_TRUE(r.interrupted);
}

TEST(all_calls_have_deadlines, if_there_is_a_deadline_on_each_way) {
  struct row {
    bool ends;
    const char* what;
  };
  const std::string world = R"(
length = "1s"
[service.web]
calls = [{ to = "db" }]
[service.db]
[load.users]
rate = 1
target = "web"
[stack.plain]
[stack.endless]
default_deadline = "unlimited"
)";
  const row rows[] = {
    {false, ""},
    {true, "[arm.a]\nload.users.timeout = \"1s\""},
    {true, "[arm.a]\nload.users.patience = \"1s\""},
    {false, "[arm.a]\nload.users.timeout = \"1s\"\n"
            "service.web.propagate_deadline = false"},
    {true, "[[edge]]\nstack = \"plain\""},
    {true, "[[edge]]\nfrom = \"users\"\nstack = \"plain\""},
    {false, "[[edge]]\nfrom = \"web\"\nstack = \"plain\""},
    {false, "[[edge]]\nstack = \"endless\""},
    {true, "[arm.a]\nload.users.timeout = \"1s\"\n"
           "service.web.propagate_deadline = false\n"
           "service.web.calls = [{ to = \"db\", timeout = \"1s\" }]"},
    {false, "[load.others]\nrate = 1\ntarget = \"db\"\n"
            "[arm.a]\nload.users.timeout = \"1s\""},
  };
  for (const auto& x : rows) {
    auto s = parse_scenario(world + x.what, "x.toml");
    EXPECT_EQ(all_calls_have_deadlines(s.arms.at(0)), x.ends) << x.what;
  }
}

} // namespace
} // namespace caisson::sim
