// Numbers of a result by name, and what is expected of them.
#include <support/sim_results.hpp>

#include <simulator/report/expectations.hpp>
#include <simulator/report/metrics.hpp>
#include <simulator/scenario/metric_names.hpp>
#include <simulator/scenario/scenario.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

std::string metric_refusal(const arm_result& r, std::string_view name,
                           std::optional<duration> from = {},
                           duration to = unlimited) {
  try {
    return "no refusal, but " + to_text(metric_of(r, name, from, to));
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
}

// -- values -------------------------------------------------------------------

TEST(metric_of, knows_every_number_of_a_run) {
  const std::map<std::string, double> expected{
    {"success", 0.75},
    {"offered", 20},
    {"attempts", 30},
    {"good", 15},
    {"failed", 4},
    {"unanswered", 1},
    {"substituted", 1},
    {"amplification", 1.5},
    {"errors.timeout", 3},
    {"errors.queue_full", 1},
    {"errors.failed", 0},
    {"errors.breaker_open", 0},
    {"offered_rate", 10},
    {"attempts_rate", 15},
    {"goodput", 7.5},
    {"failed_rate", 2},
    {"latency.mean", 0.005},
    {"latency.p50", 0.004},
    {"latency.p90", 0.008},
    {"latency.p95", 0.009},
    {"latency.p99", 0.0015},
    {"latency.p999", 0.011},
    {"latency.max", 1},
    {"operation.web.home.mean", 0.005},
    {"operation.web.home.p999", 0.011},
    {"operation.web.home.count", 15},
    {"recovery", 0.5},
    {"recovered_at", 1},
    {"relapses", 0},
    {"service.web.arrivals", 30},
    {"service.web.refused", 3},
    {"service.web.refused_share", 0.1},
    {"service.web.shed", 2},
    {"service.web.down", 1},
    {"service.web.completed", 20},
    {"service.web.failed", 2},
    {"service.web.abandoned", 4},
    {"service.web.lost", 5},
    {"service.web.late", 6},
    {"service.web.started", 25},
    {"service.web.waited", 5},
    {"service.web.waited_share", 0.2},
    {"service.web.wait", 0.002},
    {"service.web.time", 0.003},
    {"service.web.sojourn", 0.005},
    {"service.web.utilization", 0.75},
    {"service.web.inside", 1.5},
    {"service.web.queue_max", 9},
    {"service.web.busy_max", 7},
    {"service.web.little_error", 0},
    {"gate.users -> web.calls", 20},
    {"gate.users -> web.guard.opened", 2},
  };
  auto r = small_result();
  for (const auto& [name, value] : expected)
    EXPECT_DOUBLE_EQ(metric_of(r, name), value) << name;
}

TEST(metric_of, knows_the_seconds_of_what_is_kept_per_second) {
  const std::map<std::string, double> expected{
    {"success", 3.0 / 8},
    {"offered", 8},
    {"attempts", 17},
    {"good", 3},
    {"failed", 4},
    {"substituted", 0},
    {"amplification", 17.0 / 8},
    {"errors.timeout", 3},
    {"offered_rate", 8},
    {"attempts_rate", 17},
    {"goodput", 3},
    {"failed_rate", 4},
    {"service.web.arrivals", 17},
    {"service.web.refused", 2},
    {"service.web.completed", 9},
    {"service.web.failed", 1},
    {"service.web.queue_max", 4},
    {"service.web.busy_max", 3},
  };
  auto r = small_result();
  for (const auto& [name, value] : expected)
    EXPECT_DOUBLE_EQ(metric_of(r, name, 1s, 2s), value) << name;
}

TEST(metric_of, adds_seconds_and_divides_rates_by_their_number) {
  auto r = result_with({{10, 100, 100}, {10, 100, 50}});
  EXPECT_EQ(metric_of(r, "good", 8s, 12s), 300);
  EXPECT_EQ(metric_of(r, "goodput", 8s, 12s), 75);
  EXPECT_EQ(metric_of(r, "errors.timeout", 8s, 12s), 100);
  EXPECT_EQ(metric_of(r, "success", 8s, 12s), 0.75);
}

TEST(metric_of, takes_the_largest_of_the_longest_queues) {
  auto r = small_result();
  EXPECT_EQ(metric_of(r, "service.web.queue_max", 0s, 2s), 9);
}

TEST(metric_of, ends_with_the_load_if_no_end_is_given) {
  auto r = result_with({{10, 100, 100}, {5, 0, 20}});
  r.length = 10s;
  EXPECT_EQ(metric_of(r, "good", 6s), 400);
  EXPECT_EQ(metric_of(r, "goodput", 6s), 100);
  EXPECT_EQ(metric_of(r, "good", 6s, 12s), 440);
}

TEST(metric_of, leaves_the_warm_up_out_of_rates) {
  auto r = small_result();
  r.length = 12s;
  r.warmup = 2s;
  EXPECT_DOUBLE_EQ(metric_of(r, "goodput"), 1.5);
}

TEST(metric_of, gives_numbers_for_a_run_without_requests) {
  arm_result r;
  r.services.emplace_back().name = "web";
  EXPECT_EQ(metric_of(r, "success"), 1);
  EXPECT_EQ(metric_of(r, "amplification"), 1);
  EXPECT_EQ(metric_of(r, "goodput"), 0);
  EXPECT_THROW((void)metric_of(r, "latency.p99"), std::invalid_argument);
  EXPECT_EQ(metric_of(r, "service.web.refused_share"), 0);
  EXPECT_EQ(metric_of(r, "service.web.waited_share"), 0);
}

TEST(metric_of, is_infinite_for_what_never_recovers) {
  arm_result r;
  EXPECT_EQ(metric_of(r, "recovery"), infinity);
  EXPECT_EQ(metric_of(r, "recovered_at"), infinity);
}

TEST(metric_of, takes_the_longest_gate_name_that_fits) {
  arm_result r;
  for (auto name : {"a -> b", "a -> b.get"}) {
    auto& g = r.gates.emplace_back();
    g.name = name;
    g.metrics = {{"calls", r.gates.size()}};
  }
  EXPECT_EQ(metric_of(r, "gate.a -> b.calls"), 1);
  EXPECT_EQ(metric_of(r, "gate.a -> b.get.calls"), 2);
}

// -- refusals -----------------------------------------------------------------

TEST(metric_of, says_which_names_there_are) {
  auto r = small_result();
  EXPECT_EQ(metric_refusal(r, "service.db.wait"),
            "service \"db\" is not one of: web");
  EXPECT_EQ(
    metric_refusal(r, "service.web.speed"),
    "number of a service \"speed\" is not one of: arrivals, refused, "
    "refused_share, shed, down, completed, failed, abandoned, lost, late, "
    "started, waited, waited_share, wait, time, sojourn, utilization, "
    "inside, queue_max, busy_max, little_error");
  EXPECT_EQ(metric_refusal(r, "latency.p75"),
            "latency \"p75\" is not one of: mean, p50, p90, p95, p99, p999, "
            "max");
  EXPECT_EQ(metric_refusal(r, "operation.web.mean"),
            "operation \"web\" is not one of: web.home");
  EXPECT_EQ(metric_refusal(r, "operation.web.home.p75"),
            "latency \"p75\" is not one of: mean, p50, p90, p95, p99, p999, "
            "max, count");
  EXPECT_EQ(metric_refusal(r, "gate.users -> db.calls"),
            "gate \"users -> db\" is not one of: users -> web");
  EXPECT_EQ(metric_refusal(r, "gate.users -> web.gaurd.opened"),
            "layer of \"users -> web\" \"gaurd\" is not one of: guard");
  EXPECT_EQ(metric_refusal(r, "gate.users -> web.guard.closed"),
            "number of a gate or layer \"closed\" is not one of: opened");
  EXPECT_EQ(metric_refusal(r, "errors.broken"),
            "error kind \"broken\" is not one of: failed, timeout, "
            "no_connection, "
            "breaker_open, queue_full, wait_timeout, rate_limited, "
            "deadline_exceeded, cancelled, worker_down, budget_exhausted, "
            "shed, batch_failed, no_such_permit, invalid_config, draining, "
            "callback_failed, call_loop, injected, feature_off, "
            "internal_error, throttled");
  EXPECT_TRUE(
    metric_refusal(r, "speed")
      .starts_with("metric \"speed\" is not one of: success, offered, "));
  EXPECT_EQ(metric_refusal({}, "service.db.wait"),
            "service \"db\" does not exist: this run has none");
}

TEST(metric_of, refuses_seconds_for_what_is_only_known_as_a_whole) {
  auto r = small_result();
  for (std::string name :
       {"latency.p99", "recovery", "recovered_at", "relapses", "unanswered",
        "service.web.wait", "service.web.utilization",
        "operation.web.home.mean", "gate.users -> web.calls"})
    EXPECT_EQ(metric_refusal(r, name, 0s, 1s),
              name
                + " is not kept per second: it cannot have from and to, nor "
                  "be within first(...)");
}

TEST(metric_of, refuses_seconds_that_do_not_exist) {
  auto r = result_with({{20, 10, 10}});
  EXPECT_EQ(metric_refusal(r, "good", 1500ms),
            "from is 1500ms, allowed: whole seconds, not negative");
  EXPECT_EQ(metric_refusal(r, "good", 0s, 2500us),
            "to is 2500us, allowed: whole seconds, not negative");
  EXPECT_EQ(metric_refusal(r, "good", -1s),
            "from is -1s, allowed: whole seconds, not negative");
  EXPECT_EQ(metric_refusal(r, "good", 5s, 5s),
            "from is 5s and must be before to, 5s");
  EXPECT_EQ(metric_refusal(r, "good", 20s, 30s),
            "from is 20s and must be before 20s, the end of the load");
}

TEST(metric_names, has_each_name_once_and_patterns_for_families) {
  auto names = metric_names();
  for (auto name :
       {"success", "recovery", "errors.*", "latency.p99", "operation.*.p99",
        "operation.*.count", "load.*.success", "load.*.p99",
        "service.*.sojourn", "gate.*.*", "gate.*.*.*"})
    EXPECT_EQ(std::ranges::count(names, name), 1) << name;
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(metric_names, are_all_known_to_metric_of) {
  auto r = small_result();
  r.edges.push_back({.name = "users -> web",
                     .zoned = true,
                     .connections = connection_summary{}});
  r.threshold_times.push_back({.metric = "first(goodput < 5)"});
  auto known = [&](std::string name) {
    auto put = [&](std::string_view pattern, std::string_view with) {
      if (name.starts_with(pattern))
        name = std::string{with} + name.substr(pattern.size());
    };
    put("errors.*", "errors.timeout");
    put("operation.*", "operation.web.home");
    put("load.*", "load.users");
    put("service.*", "service.web");
    put("edge.*", "edge.users -> web");
    put("gate.*.*.*", "gate.users -> web.guard.opened");
    put("gate.*.*", "gate.users -> web.calls");
    put("first(*)", "first(goodput < 5)");
    return metric_refusal(r, name).starts_with("no refusal");
  };
  for (const auto& name : metric_names())
    EXPECT_TRUE(known(name)) << name;
}

// -- expectations -------------------------------------------------------------

metric_bound bound(std::string metric, double min, double max,
                   std::optional<duration> from = {}, duration to = unlimited,
                   std::string place = {}) {
  return {std::move(metric), min, max, from, to, std::move(place)};
}

std::vector<std::string> failures(expectation e) {
  arm_config c;
  c.name = "naive";
  c.expect = std::move(e);
  return failed_expectations(c, small_result());
}

TEST(failed_expectations, is_empty_if_all_hold) {
  EXPECT_EQ(failures({}), std::vector<std::string>{});
  EXPECT_EQ(failures({.verdict = verdict_kind::recovered,
                      .bounds = {bound("success", 0.75, infinity),
                                 bound("success", -infinity, 0.75),
                                 bound("success", 0.75, 0.75)}}),
            std::vector<std::string>{});
}

TEST(failed_expectations, takes_a_run_without_a_fault_for_a_recovered_one) {
  arm_config c;
  auto r = small_result();
  r.recovery_from.reset();
  r.recovered_at = 0;
  r.verdict = verdict_kind::no_fault;
  c.expect.bounds = {bound("recovery", -infinity, 0)};
  for (auto expected : {verdict_kind::recovered, verdict_kind::no_fault}) {
    c.expect.verdict = expected;
    EXPECT_EQ(failed_expectations(c, r), std::vector<std::string>{});
  }
  c.expect.verdict = verdict_kind::degraded;
  EXPECT_EQ(failed_expectations(c, r),
            (std::vector<std::string>{
              "arm naive: verdict is no fault, expected degraded"}));
  c.expect = {.verdict = verdict_kind::no_fault, .bounds = {}};
  EXPECT_EQ(failed_expectations(c, small_result()),
            (std::vector<std::string>{
              "arm naive: verdict is recovered, expected no fault"}));
}

TEST(failed_expectations, says_what_is_and_what_was_expected) {
  EXPECT_EQ(
    failures(
      {.verdict = verdict_kind::stuck,
       .bounds = {bound("success", 0.99, infinity, {}, unlimited,
                        "a.toml:31:20"),
                  bound("latency.p99", -infinity, 0.001),
                  bound("offered", 1, 2), bound("goodput", 4, infinity, 1s),
                  bound("good", 0, 1, 0s, 1s)}}),
    (std::vector<std::string>{
      "arm naive: verdict is recovered, expected stuck",
      "arm naive: success is 0.75, expected at least 0.99 (a.toml:31:20)",
      "arm naive: latency.p99 is 0.0015, expected at most 0.001",
      "arm naive: offered is 20, expected 1 to 2",
      "arm naive: goodput from 1s on is 3, expected at least 4",
      "arm naive: good from 0s to 1s is 12, expected 0 to 1",
    }));
}

TEST(failed_expectations, does_not_round_a_value_into_its_bound) {
  auto r = small_result();
  r.totals.offered = 100'000'000;
  r.totals.good = 98'999'999;
  arm_config c;
  c.name = "naive";
  c.expect.bounds = {bound("success", 0.99, infinity)};
  EXPECT_EQ(failed_expectations(c, r),
            std::vector<std::string>{"arm naive: success is 0.98999999, "
                                     "expected at least 0.99"});
}

TEST(failed_expectations, fails_for_what_never_recovers_or_does_not_exist) {
  arm_config c;
  c.expect.bounds = {bound("recovery", -infinity, 20),
                     bound("service.db.wait", 0, 1)};
  auto r = small_result();
  r.recovered_at.reset();
  EXPECT_EQ(failed_expectations(c, r),
            (std::vector<std::string>{
              "arm naive: recovery is infinite, expected at most 20",
              "arm naive: service.db.wait has no value: service \"db\" is "
              "not one of: web"}));
}

TEST(expectation_problems, finds_bounds_that_no_run_can_meet) {
  auto c = small_arm();
  c.expect.bounds = {
    bound("service.db.wait", 0, 1, {}, unlimited, "a.toml:1:1"),
    bound("operation.web.home.p99", 0, 1),
    bound("service.web.wait", 0, 1),
    bound("success", 0, 1, 1s, 2s),
    bound("success", 0, 1, 2s, 3s, "a.toml:2:1"),
  };
  EXPECT_EQ(to_text(expectation_problems(c)),
            "a.toml:1:1: service.db.wait: service \"db\" is not one of: web\n"
            "a.toml:2:1: success: from is 2s and must be before 2s, the end of "
            "the load");
}

// A gate knows its metrics; it need not have done anything.
TEST(expectation_problems, finds_bounds_on_what_no_gate_counts) {
  auto s = parse_scenario(R"(length = "10s"
[service.web]
[load.u]
rate = 1
target = "web"
[[edge]]
stack = "careful"
[[stack.careful.layer]]
kind = "retrier"
[arm.a]
[arm.b]
[[arm.b.expect.check]]
metric = "gate.u -> web.calls"
min = 0
[[arm.b.expect.check]]
metric = "gate.u -> web.retrier.retried"
min = 0
[[arm.b.expect.check]]
metric = "gate.u -> web.calls"
from = "1s"
min = 0
[[arm.b.expect.check]]
metric = "gate.u -> wbe.retrier.retried"
min = 0
[[arm.b.expect.check]]
metric = "gate.u -> web.retrier.tried"
min = 0
)",
                          "f");
  EXPECT_EQ(to_text(expectation_problems(s.arms[0])), "");
  std::vector<std::string> begins{
    "arm.b.expect.check[2]: gate.u -> web.calls: gate.u -> web.calls "
    "is not kept per second",
    "arm.b.expect.check[3]: gate.u -> wbe.retrier.retried: gate \"u -> "
    "wbe\" is not one of: u -> web",
    "arm.b.expect.check[4]: gate.u -> web.retrier.tried: number of a "
    "gate or layer \"tried\" is not one of: "};
  auto found = expectation_problems(s.arms[1]);
  ASSERT_EQ(found.size(), begins.size());
  for (std::size_t i = 0; i < begins.size(); ++i) {
    EXPECT_TRUE(found[i].place.starts_with("f:")) << found[i].place;
    found[i].place.clear();
    EXPECT_TRUE(to_text(found[i]).starts_with(begins[i])) << to_text(found[i]);
  }
}

TEST(expectation_problems, names_the_key_of_a_bound) {
  auto s = parse_scenario("length = '10s'\n[service.web]\n[load.u]\nrate = 1\n"
                          "target = 'web'\n[expect]\nsuccess_at_least = 0.5\n"
                          "check = [{ metric = 'good', min = 0 },\n"
                          "{ metric = 'good', min = 0, from = '10s' }]\n",
                          "f");
  auto found = expectation_problems(s.arms[0]);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].key, setting_path{} / "expect" / "check" / 1);
  EXPECT_TRUE(found[0].message.starts_with("good: from is 10s"));
}

// -- checks -------------------------------------------------------------------

TEST(failed_checks, is_empty_if_the_statistics_agree) {
  auto r = small_result();
  r.services[0].little_error = little_tolerance;
  EXPECT_EQ(failed_checks(r), std::vector<std::string>{});
}

TEST(failed_checks, finds_wrong_statistics_and_second_answers) {
  auto r = small_result();
  r.services[0].little_error = 0.0123;
  r.services.emplace_back().name = "db";
  r.services[1].little_error = std::nan("");
  r.answered_twice = 1;
  EXPECT_EQ(failed_checks(r),
            (std::vector<std::string>{
              "arm naive: Little's law does not hold for service web: error "
              "0.0123",
              "arm naive: Little's law does not hold for service db: error nan",
              "arm naive: 1 request was answered more than once"}));
  r.answered_twice = 2;
  EXPECT_EQ(failed_checks(r).back(),
            "arm naive: 2 requests were answered more than once");
}

} // namespace
} // namespace caisson::sim
