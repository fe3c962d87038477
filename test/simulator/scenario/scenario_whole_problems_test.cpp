// Problems with a scenario as a whole, and with files.
#include <simulator/scenario/scenario.hpp>

#include <support/scratch.hpp>
#include <support/sim_scenarios.hpp>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {
namespace {

using test::complaint_about;

// -- the scenario as a whole --------------------------------------------------

constexpr std::string_view rest
  = "[service.web]\n[load.l]\ntarget = 'web'\nrate = 1\n";

class whole_mistake : public testing::TestWithParam<test::mistake> {};

TEST_P(whole_mistake, is_found_under_its_key) {
  EXPECT_EQ(test::mistakes_in(GetParam().text + "\n" + std::string{rest}),
            GetParam().expected);
}

const test::mistake wholes[] = {
  {"", {"missing length"}},
  {"length = '0s'", {"range length"}},
  {"length = '101h'", {"range length"}},
  {"length = 60", {"type length"}},
  {"lenght = '60s'", {"unknown lenght"}},
  {"length = '60s'\nseed = -1", {"range seed"}},
  {"length = '60s'\ntitle = 5", {"type title"}},
  {"length = '60s'\nwarmup = '60s'\nrecovery_from = '61s'",
   {"relation warmup", "relation recovery_from"}},
  {"length = '60s'\nservices = 1", {"unknown services"}},
  {"length = '60s'\nexpect = 1", {"type expect"}},
  {"length = '60s'\nstack = 1", {"type stack"}},
  {"length = inf", {"type length"}},
  {"length = '60s'\nseed = 2026-01-01", {"type seed"}},
  {"length = '60s'\nlength = '61s'", {"syntax "}},
};

INSTANTIATE_TEST_SUITE_P(all, whole_mistake, testing::ValuesIn(wholes));

TEST(scenario_problems, an_empty_file_lacks_everything) {
  EXPECT_EQ(complaint_about(""),
            "f: length: is missing, allowed: 1ns to 100h\n"
            "f: service: is missing, allowed: at least one table "
            "[service.NAME]\n"
            "f: load: is missing, allowed: at least one table [load.NAME]");
}

TEST(scenario_problems, a_part_that_an_arm_misspells_is_reported_once) {
  EXPECT_EQ(complaint_about(std::string{rest} + "[arm.x]\nlegnth = '5s'\n"),
            "f:6:10: arm.x.legnth: unknown key, did you mean \"length\"? known "
            "keys: title, length, drain, warmup, recovery_from, service, "
            "zones, group, edge, load, stack, fault, expect");
}

TEST(scenario_problems, a_load_and_a_service_cannot_share_a_name) {
  EXPECT_EQ(complaint_about("length = '60s'\n[service.web]\n"
                            "[load.web]\ntarget = 'web'\nrate = 1\n"),
            "f:3:1: load.web: \"web\" is the name of a service already");
}

TEST(scenario_problems, of_one_point_of_a_profile_are_not_those_of_the_next) {
  EXPECT_EQ(complaint_about("length = '60s'\n[service.web]\n[load.l]\n"
                            "target = 'web'\n"
                            "profile = [['0s', -1], ['5s', 1], [6, 1], "
                            "['7s', 1], ['6s', 1]]\n"),
            "f:5:19: load.l.profile[0][1]: -1 is out of range, allowed: 0 to "
            "10000000\n"
            "f:5:36: load.l.profile[2][0]: 6 is not a duration, allowed: a "
            "number with ns, us, ms, s, min, h or d, such as \"250ms\", or "
            "\"unlimited\"\n"
            "f:5:55: load.l.profile[4][0]: 6s does not come after the point "
            "before it, which is at 7s");
}

TEST(scenario_problems, are_reported_all_at_once_in_the_order_of_the_file) {
  EXPECT_EQ(complaint_about("length = '60s'\n"
                            "[load.l]\ntarget = 'dv'\nrate = 0\n"
                            "[service.web]\nworkers = 0\ncalls = ['dv']\n"
                            "[service.db]\nqueue = 'long'\n"
                            "[expect]\nverdict = 'fine'\n"),
            "f:3:10: load.l.target: \"dv\" is not an operation, did you mean "
            "\"db\"? known operations: web, db\n"
            "f:4:8: load.l.rate: 0 is out of range, allowed: 1e-06 to "
            "10000000\n"
            "f:6:11: service.web.workers: 0 is out of range, allowed: 1 to "
            "1000000, or \"unlimited\"\n"
            "f:7:10: service.web.calls[0]: \"dv\" is not an operation, did you "
            "mean \"db\"? known operations: web, db\n"
            "f:9:9: service.db.queue: \"long\" is not a count, allowed: 0 to "
            "1000000000, or \"unlimited\"\n"
            "f:11:11: expect.verdict: \"fine\" is not one of: recovered, "
            "degraded, stuck, no fault");
}

TEST(scenario_problems, of_a_misspelled_metric_name_the_nearest) {
  auto text = "length = '60s'\n" + std::string{rest}
              + "[expect]\ncheck = [{ metric = 'service.web.sojurn', max = 1 "
                "}, { metric = 'sucess', min = 1 }]\n";
  auto found = complaint_about(text);
  EXPECT_TRUE(found.starts_with(
    "f:7:21: expect.check[0].metric: \"service.web.sojurn\" is not a metric, "
    "did you mean \"service.web.sojourn\"? known metrics: success, "))
    << found;
  EXPECT_NE(found.find("\nf:7:65: expect.check[1].metric: \"sucess\" is not "
                       "a metric, did you mean \"success\"? known metrics: "),
            std::string::npos)
    << found;
}

TEST(scenario_problems, are_those_of_sweep_and_tune_too) {
  auto found = complaint_about("length = '60s'\n" + std::string{rest}
                               + "[sweep]\nmetrics = ['p99', 'sucess', '']\n"
                                 "[tune]\nbest = ['p99', 'good', 'p50']\n");
  EXPECT_TRUE(found.starts_with("f:7:11: sweep.metrics[1]: \"sucess\" is not "
                                "a metric, did you mean \"success\"? known "
                                "metrics: success, "))
    << found;
  EXPECT_NE(found.find("\nf:7:11: sweep.metrics[2]: \"\" is not a metric"),
            found.npos)
    << found;
  EXPECT_TRUE(found.ends_with("\nf:9:8: tune.best: 3 goals to optimise, "
                              "allowed: one or two"))
    << found;
}

TEST(scenario_problems, of_a_group_name_what_can_be_in_it) {
  EXPECT_EQ(complaint_about("length = '60s'\n" + std::string{rest}
                            + "[group]\na = []\nb = '*'\n"),
            "f:7:5: group.a: has no name, allowed: a name or a list of names\n"
            "f:8:5: group.b: \"*\" is not a load or service, did you mean "
            "\"l\"? known: web, l");
}

TEST(scenario_problems, a_circle_is_reported_once_with_all_that_is_in_it) {
  EXPECT_EQ(complaint_about("length = '60s'\n"
                            "[service.a]\ncalls = ['b.x']\n"
                            "[service.b.op.x]\ncalls = ['c']\n"
                            "[service.c]\ncalls = ['d', 'b.x']\n[service.d]\n"
                            "[load.l]\ntarget = 'a'\nrate = 1\n"),
            "f:7:15: service.c.calls[1]: the calls go in a circle: b.x -> c "
            "-> b.x");
}

TEST(scenario_problems, a_service_may_call_another_operation_of_its_own) {
  EXPECT_EQ(complaint_about("length = '60s'\n"
                            "[service.a.op.x]\ncalls = ['a.y']\n"
                            "[service.a.op.y]\n"
                            "[load.l]\ntarget = 'a.x'\nrate = 1\n"),
            "");
}

TEST(scenario_problems, a_million_calls_for_one_request_are_allowed) {
  std::string world = "length = '60s'\n"
                      "[service.a]\ncalls = [{ to = 'b', count = 1000 }]\n"
                      "[service.b]\ncalls = [{ to = 'c', count = 999 }]\n"
                      "[service.c]\n"
                      "[load.l]\ntarget = 'a'\nrate = 1\n";
  EXPECT_EQ(complaint_about(world), "");
  world.replace(world.find("'a'"), 3, "'z'");
  world += "[service.z]\ncalls = ['a']\n";
  EXPECT_EQ(complaint_about(world),
            "f:8:10: load.l.target: one request to \"z\" can lead to more "
            "calls than allowed: 1000000; the counts along the way multiply");
}

// -- files --------------------------------------------------------------------

std::string complaint_of_file(const std::filesystem::path& path) {
  try {
    (void)load_scenario(path);
    return {};
  } catch (const config_error& e) {
    return e.what();
  }
}

class scenario_file : public testing::Test {
protected:
  // What is wrong with a scenario that replays a recording with the content
  // `csv`.
  std::string trace_complaint(const std::string& csv,
                              const std::string& scale = "1") {
    scratch.write("x.csv", csv);
    return complaint_of_file(scratch.write(
      "s.toml", "length = '60s'\n[service.web]\n[load.l]\ntarget = 'web'\n"
                "trace = { file = 'x.csv', format = 'timestamps' }\nscale = "
                  + scale + "\n"));
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (scratch / name).string();
  }

  test::scratch_dir scratch;
};

TEST_F(scenario_file, that_is_missing_is_named) {
  EXPECT_EQ(complaint_of_file(scratch / "s.toml"),
            path("s.toml") + ": cannot be read: No such file or directory");
}

TEST_F(scenario_file, begins_the_places_of_problems) {
  auto s = scratch.write("s.toml", "length = 5");
  EXPECT_TRUE(complaint_of_file(s).find(path("s.toml") + ":1:10: length: 5 is")
              != std::string::npos);
}

TEST_F(scenario_file, names_the_recording_that_is_missing_as_tried) {
  auto s = scratch.write("s.toml",
                         "length = '60s'\n[service.web]\n[load.l]\n"
                         "target = 'web'\ntrace = { file = 'no/x.csv', format "
                         "= 'counts' }\n");
  EXPECT_EQ(complaint_of_file(s),
            fmt::format("{}:5:18: load.l.trace.file: \"{}\" cannot be read: No "
                        "such file or directory",
                        path("s.toml"), path("no/x.csv")));
}

TEST_F(scenario_file, reports_bad_rows_of_a_recording_by_line) {
  EXPECT_EQ(trace_complaint("t\n1\nx\n0\n"),
            fmt::format("{0}:3: \"x\" is not a timestamp, allowed: seconds, or "
                        "YYYY-MM-DD HH:MM:SS with an optional fraction\n"
                        "{0}:4: \"0\" is earlier than the row before it, "
                        "timestamps must ascend",
                        path("x.csv")));
}

TEST_F(scenario_file, reports_a_recording_of_which_nothing_is_left) {
  EXPECT_EQ(trace_complaint("t\n"),
            fmt::format("{}:5:18: load.l.trace.file: \"{}\" has no row",
                        path("s.toml"), path("x.csv")));
  EXPECT_EQ(trace_complaint("5\n", "0.000001"),
            fmt::format("{}:5:9: load.l.trace: no arrival is left of 1 with "
                        "scale 1e-06",
                        path("s.toml")));
}

TEST_F(scenario_file, reports_a_recording_that_is_scaled_too_far) {
  std::string csv;
  for (int i = 0; i < 11; ++i)
    csv += "5\n";
  EXPECT_EQ(trace_complaint(csv, "1e6"),
            fmt::format("{}:5:9: load.l.trace: 11 arrivals times scale, which "
                        "is 1000000, are too many, allowed: 10000000",
                        path("s.toml")));
}

// -- words from elsewhere -----------------------------------------------------

TEST(scenario_hint, reports_what_a_number_of_retries_is_called) {
  auto load = complaint_about(std::string{test::smallest_world}
                              + "retries = 3\n");
  EXPECT_TRUE(load.ends_with(
    "; attempts is what you may mean, with the first one counted"))
    << load;
  auto layer = complaint_about(std::string{test::smallest_world}
                               + "[[stack.s.layer]]\nkind = 'retrier'\n"
                                 "retries = 3\n");
  EXPECT_TRUE(layer.ends_with(
    "; max_attempts is what you may mean, with the first one counted"))
    << layer;
}

TEST(scenario_hint, reports_what_the_errors_of_results_are_called) {
  auto complaint = complaint_about(std::string{test::smallest_world}
                                   + "[[stack.s.layer]]\nkind = 'breaker'\n"
                                     "count_only = ['failed', 'timeout']\n");
  EXPECT_NE(complaint.find("\"failed\" names no error"), std::string::npos)
    << complaint;
  EXPECT_NE(
    complaint.find("; a service's own error is \"system_error:*\" here"),
    std::string::npos)
    << complaint;
  EXPECT_TRUE(complaint.ends_with(
    "; a call that took too long is \"deadline_exceeded\" here"))
    << complaint;
}

} // namespace
} // namespace caisson::sim
