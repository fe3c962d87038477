// Times to threshold: `first(NAME OP NUMBER)`.
#include <simulator/report/expectations.hpp>
#include <simulator/report/metrics.hpp>
#include <simulator/scenario/threshold.hpp>
#include <simulator/world/level_watch.hpp>

#include <support/sim_results.hpp>
#include <support/sim_scenarios.hpp>

#include <simulator/play/run.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using comparison = threshold::comparison;

// -- as names -----------------------------------------------------------------

void expect_threshold_time(std::string_view name, std::string_view metric,
                           comparison is, double bound) {
  auto p = read_threshold(name);
  EXPECT_EQ(p.metric, metric) << name;
  EXPECT_EQ(p.is, is) << name;
  EXPECT_EQ(p.bound, bound) << name;
}

TEST(read_threshold, takes_name_operator_and_number_apart) {
  expect_threshold_time("first(goodput<5)", "goodput", comparison::less, 5);
  expect_threshold_time("first( success <= 0.9 )", "success",
                        comparison::at_most, 0.9);
  expect_threshold_time("first(service.db.queue > 1e3)", "service.db.queue",
                        comparison::more, 1000);
  expect_threshold_time("first(service.db#3.inside>=4)", "service.db#3.inside",
                        comparison::at_least, 4);
  expect_threshold_time("first(failed >= -1)", "failed", comparison::at_least,
                        -1);
}

// Names of edges have arrows, with and without spaces.
TEST(read_threshold, compares_with_the_last_operator) {
  expect_threshold_time("first(edge.web -> db.waiting_max >= 5)",
                        "edge.web -> db.waiting_max", comparison::at_least, 5);
  expect_threshold_time("first(edge.web -> db.refused>5)",
                        "edge.web -> db.refused", comparison::more, 5);
  expect_threshold_time("first(edge.web -> db.used_max<5)",
                        "edge.web -> db.used_max", comparison::less, 5);
}

std::string threshold_refusal(std::string_view name) {
  try {
    (void)read_threshold(name);
    return "no refusal";
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
}

TEST(read_threshold, reports_what_is_wrong) {
  EXPECT_THAT(threshold_refusal("first(goodput < 5"),
              HasSubstr("has no closing bracket at its end"));
  EXPECT_THAT(threshold_refusal("first(goodput)"),
              HasSubstr("compares nothing"));
  EXPECT_THAT(threshold_refusal("first(edge.a -> b.refused)"),
              HasSubstr("compares nothing"));
  EXPECT_THAT(threshold_refusal("first(< 5)"), HasSubstr("has no name"));
  EXPECT_THAT(threshold_refusal("first()"), HasSubstr("compares nothing"));
  for (std::string number : {"", "x", "5s", "nan", "inf", "1e999", "5 5"})
    EXPECT_THAT(threshold_refusal("first(goodput < " + number + ")"),
                HasSubstr("has \"" + number + "\" in place of a number"));
  EXPECT_THAT(threshold_refusal("first(service.db.queue <= 5)"),
              HasSubstr("it may have > and >= only, allowed: first(NAME OP "
                        "NUMBER)"));
  EXPECT_THAT(threshold_refusal("first(first(goodput > 1) > 1)"),
              HasSubstr("is a time to threshold itself"));
}

TEST(level_of, counts_requests) {
  auto count = [](std::string_view comparison) {
    return level_of(read_threshold("first(service.db.queue "
                                   + std::string{comparison} + ")"))
      .count;
  };
  EXPECT_EQ(count(">= 4"), 4u);
  EXPECT_EQ(count("> 4"), 5u);
  EXPECT_EQ(count(">= 4.2"), 5u);
  EXPECT_EQ(count("> 4.2"), 5u);
  EXPECT_EQ(count(">= -3"), 0u);
  EXPECT_EQ(count("> 1e30"), std::numeric_limits<std::uint64_t>::max());
  auto inside = read_threshold("first(service.db#2.inside > 1)");
  EXPECT_EQ(level_of(inside).target, "db#2");
  EXPECT_EQ(level_of(inside).of, level::kind::inside);
  for (auto name : {"first(service.db.queue_max > 1)", "first(good > 1)",
                    "first(edge.a -> b.used_max > 1)"})
    EXPECT_EQ(level_of(read_threshold(name)).target, "") << name;
}

TEST(scenario_threshold, is_checked) {
  auto mistakes = [](const std::string& metric) {
    return test::mistakes_in(std::string{test::smallest_world}
                             + "[[expect.check]]\nmax = 5\nmetric = '" + metric
                             + "'\n");
  };
  using names = std::vector<std::string>;
  for (auto metric : {"first(goodput < 5)", "first(service.web.queue > 5)",
                      "first(service.web.queue_max > 5)",
                      "first(edge.users -> web.waiting_max >= 5)"})
    EXPECT_EQ(mistakes(metric), names{}) << metric;
  for (auto metric : {"first(goodput 5)", "first(service.web.inside < 5)"})
    EXPECT_EQ(mistakes(metric), names{"syntax expect.check[0].metric"});
  for (auto metric :
       {"first(godput < 5)", "frst(goodput < 5)", "first(service.web.que > 5)"})
    EXPECT_EQ(mistakes(metric), names{"unknown expect.check[0].metric"});
}

std::string problem_of(const std::string& metric,
                       const std::string& more = {}) {
  auto arm = test::only_arm(std::string{test::smallest_world}
                            + "[[expect.check]]\nmax = 5\nmetric = '" + metric
                            + "'\n" + more);
  auto found = expectation_problems(arm);
  return found.empty() ? "" : found.front().message;
}

TEST(scenario_threshold, is_about_what_the_world_has) {
  EXPECT_EQ(problem_of("first(service.web.inside > 5)"), "");
  EXPECT_EQ(problem_of("first(success < 0.5)", "from = '5s'\n"), "");
  EXPECT_THAT(problem_of("first(success < 0.5)", "from = '60s'\n"),
              HasSubstr("must be before 60s"));
  EXPECT_THAT(problem_of("first(service.db.inside > 5)"),
              HasSubstr("service \"db\" is not one of: web"));
  EXPECT_THAT(problem_of("first(service.web#2.queue > 5)"),
              HasSubstr("replica \"web#2\" does not exist"));
  EXPECT_THAT(problem_of("first(service.web.wait > 5)"),
              HasSubstr("service.web.wait is not kept per second"));
  EXPECT_THAT(problem_of("first(latency.p99 > 5)"),
              HasSubstr("latency.p99 is not kept per second"));
  EXPECT_THAT(problem_of("first(gate.users -> web.calls > 5)"),
              HasSubstr("gate.users -> web.calls is not kept per second"));
  EXPECT_THAT(problem_of("first(errors.foo > 5)"),
              HasSubstr("error kind \"foo\""));
  EXPECT_THAT(problem_of("first(edge.users -> web.used_max > 5)"),
              HasSubstr("does not exist"));
}

// -- levels -------------------------------------------------------------------

TEST(level_watch, notes_when_each_goal_was_first_met) {
  level_watch watch;
  std::vector<std::shared_ptr<std::optional<duration>>> at;
  for (std::uint64_t count : {5, 2, 9, 2, 0}) {
    at.push_back(std::make_shared<std::optional<duration>>());
    watch.add({count, 10s, at.back()}, 1, 1s);
  }
  watch.risen(1, 2s);
  watch.risen(5, 3s);
  watch.risen(6, 4s);
  watch.risen(9, 10s);
  EXPECT_EQ(*at[0], 3s);
  EXPECT_EQ(*at[1], 3s);
  EXPECT_EQ(*at[2], std::nullopt);
  EXPECT_EQ(*at[3], 3s);
  EXPECT_EQ(*at[4], 1s);
}

// -- in a world ---------------------------------------------------------------

struct asked {
  std::string metric;
  std::optional<duration> from = {};
  duration to = unlimited;
};

run_options watching(std::vector<std::string> metrics,
                     std::uint32_t step = one_row, std::uint64_t seed = 1) {
  run_options o;
  o.seed = seed;
  o.step = step;
  o.metrics = std::move(metrics);
  return o;
}

// When thresholds were reached, with bounds in the file.
std::vector<double>
threshold_times_in(const std::string& world, const std::vector<asked>& all,
                   std::uint32_t step = 1, std::uint64_t seed = 1) {
  auto arm = test::only_arm(world);
  for (const auto& x : all)
    arm.expect.bounds.push_back(
      {.metric = x.metric, .from = x.from, .to = x.to});
  auto r = run_arm(arm, watching({}, step, seed));
  std::vector<double> out;
  for (const auto& x : all)
    out.push_back(metric_of(r, x.metric, x.from, x.to));
  return out;
}

// One request every 10 ms from 0 on, 15 ms of work: by 10k ms k + 1 have come
// and floor(10k / 15) have gone.
constexpr auto too_many = "length = '2500ms'\n[service.s]\ntime = '15ms'\n"
                          "[load.u]\nkind = 'constant'\nrate = 100\n"
                          "target = 's'\n";

TEST(threshold_times, of_levels_are_exact) {
  EXPECT_THAT(threshold_times_in(too_many, {{"first(service.s.inside >= 0)"},
                                            {"first(service.s.inside > 0)"},
                                            {"first(service.s.inside >= 2)"},
                                            {"first(service.s.inside >= 3)"},
                                            {"first(service.s.inside > 3)"},
                                            {"first(service.s.queue >= 1)"},
                                            {"first(service.s.queue >= 2)"},
                                            {"first(service.s.queue >= 3.5)"},
                                            {"first(service.s.queue > 1000)"}}),
              ElementsAre(0, 0, 0.01, 0.04, 0.07, 0.01, 0.04, 0.1, infinity));
}

// After 1 s there are 101 - 66 = 35 inside, after 500 ms 51 - 33 = 18.
TEST(threshold_times, of_levels_keep_within_their_time) {
  std::string world = too_many;
  EXPECT_THAT(
    threshold_times_in(world, {{"first(service.s.inside >= 3)", 1s},
                               {"first(service.s.inside >= 36)", 1s},
                               {"first(service.s.queue >= 34)", 1s},
                               {"first(service.s.inside >= 35)", 0s, 1s},
                               {"first(service.s.inside >= 34)", 0s, 1s},
                               {"first(service.s.inside >= 84)"},
                               {"first(service.s.inside >= 85)"}}),
    ElementsAre(1, 1.03, 1, infinity, 0.97, 2.47, infinity));
  // The 85th would come at 2,500 ms. What is before the warm-up counts with
  // from and to only.
  world = "warmup = '505ms'\n" + world;
  EXPECT_THAT(
    threshold_times_in(world, {{"first(service.s.inside >= 18)"},
                               {"first(service.s.inside >= 19)"},
                               {"first(service.s.inside >= 3)", 0s, 1s}}),
    ElementsAre(0.505, 0.52, 0.04));
}

// The drain does not count, unless it is asked for.
TEST(threshold_times, of_the_drain_count_only_if_they_are_asked_for) {
  auto world = std::string{"length = '2s'\n[service.s]\ntime = '1ms'\n"
                           "workers = 100\ncalls = ['t']\n[service.t]\n"
                           "time = '0s'\n[[edge]]\nto = 't'\n"
                           "latency = '1500ms'\n[load.u]\nkind = 'constant'\n"
                           "rate = 1\ntarget = 's'\n"};
  EXPECT_THAT(threshold_times_in(
                world, {{"first(good >= 1)"}, {"first(good >= 1)", 0s, 10s}}),
              ElementsAre(infinity, 3));
}

constexpr auto three_replicas
  = "length = '2s'\n[service.s]\nreplicas = 3\ntime = '1s'\n[load.u]\n"
    "kind = 'constant'\nrate = 10\ntarget = 's'\n";

// Taken in turn: the first one gets the requests at 0, 300 and 600 ms.
TEST(threshold_times, of_replicas_are_those_of_each_or_of_all) {
  EXPECT_THAT(
    threshold_times_in(three_replicas, {{"first(service.s#1.inside >= 2)"},
                                        {"first(service.s#2.inside >= 2)"},
                                        {"first(service.s#3.queue >= 2)"},
                                        {"first(service.s.inside >= 5)"},
                                        {"first(service.s.queue >= 2)"}}),
    ElementsAre(0.3, 0.4, 0.8, 0.4, 0.4));
}

constexpr auto with_a_gap
  = "length = '20s'\n[service.s]\nworkers = 10\ntime = '30ms'\n[load.u]\n"
    "kind = 'constant'\ntarget = 's'\nprofile = [['0s', 10], ['5s', 0], "
    "['8s', 20]]\n[[fault]]\nkind = 'errors'\ntarget = 's'\nat = '12s'\nfor = "
    "'3s'\n";

TEST(threshold_times, of_rows_are_their_beginnings) {
  std::vector<asked> all{{"first(offered <= 0)"},
                         {"first(offered_rate >= 20)"},
                         {"first(success < 1)"},
                         {"first(success >= 1)"},
                         {"first(success >= 1)", 5s},
                         {"first(success >= 1)", 12s},
                         {"first(success < 1)", 0s, 12s},
                         {"first(errors.failed > 0)"},
                         {"first(service.s.failed > 19)"},
                         {"first(errors.timeout > 0)"},
                         {"first(service.s.queue_max >= 0)"}};
  std::vector<double> expected{5,        8,  12, 0,        5, 15,
                               infinity, 12, 12, infinity, 0};
  for (auto step : {1u, 7u, one_row})
    EXPECT_EQ(threshold_times_in(with_a_gap, all, step), expected) << step;
}

TEST(threshold_times, of_rows_leave_out_the_warm_up) {
  auto world = "warmup = '6500ms'\n" + std::string{with_a_gap};
  EXPECT_THAT(threshold_times_in(world, {{"first(offered <= 0)"},
                                         {"first(offered <= 0)", 0s, 19s},
                                         {"first(goodput >= 10)"}}),
              ElementsAre(7, 5, 8));
}

TEST(threshold_times, of_connections_are_found) {
  auto world = "length = '3s'\n[service.s]\nworkers = 100\ntime = '500ms'\n"
               "[load.u]\nkind = 'constant'\nrate = 10\ntarget = 's'\nstart = "
               "'1s'\n[[edge]]\nconnections = 3\n";
  EXPECT_THAT(
    threshold_times_in(world, {{"first(edge.u -> s.waiting_max >= 1)"},
                               {"first(edge.u -> s.used_max > 2)"},
                               {"first(edge.u -> s.refused > 0)"}}),
    ElementsAre(1, 1, infinity));
}

TEST(threshold_times, are_found_without_bounds_if_they_are_asked_for) {
  auto arm = test::only_arm(too_many);
  auto r = run_arm(
    arm, watching({"goodput", "first(service.s.inside >= 3)",
                   "first(service.x.inside >= 3)", "first(nonsense"}));
  EXPECT_EQ(r.threshold_times.size(), 1u);
  EXPECT_DOUBLE_EQ(metric_of(r, "first(service.s.inside >= 3)"), 0.04);
  EXPECT_THROW((void)metric_of(r, "first(service.s.inside >= 4)"),
               std::invalid_argument);
  EXPECT_THROW((void)metric_of(r, "first(service.s.inside >= 3)", 0s, 1s),
               std::invalid_argument);
}

TEST(threshold_times, do_not_change_the_run) {
  auto arm = test::only_arm(with_a_gap);
  auto plain = run_arm(arm, {});
  arm.warmup = 2500ms;
  auto warm = run_arm(arm, {});
  arm.expect.bounds.push_back(
    {.metric = "first(service.s.inside >= 3)", .from = 3s, .to = 4s});
  auto watched = run_arm(arm, watching({"first(service.s.queue >= 3)"}));
  EXPECT_EQ(plain.digest, warm.digest);
  EXPECT_EQ(plain.digest, watched.digest);
  EXPECT_EQ(plain.messages, watched.messages);
}

TEST(threshold_times, are_kept_by_expectations) {
  auto arm = test::only_arm(
    std::string{too_many}
    + "[[expect.check]]\nmetric = 'first(service.s.inside >= 3)'\nmin = "
      "'40ms'\nmax = '40ms'\n[[expect.check]]\nmetric = 'first(goodput < 1)'\n"
      "max = '5s'\n");
  auto failed = failed_expectations(arm, run_arm(arm, {}));
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_THAT(failed[0], HasSubstr("first(goodput < 1) is infinite, expected "
                                   "at most 5"));
}

} // namespace
} // namespace caisson::sim
