// Results for people, to the letter.
#include <support/sim_results.hpp>

#include <simulator/report/speed_text.hpp>
#include <simulator/report/text.hpp>
#include <simulator/report/timeline.hpp>
#include <simulator/report/verdict.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

// Two arms: one recovers, the other does not.
report story() {
  report r;
  r.title = "A story";
  r.file = "story.toml";
  for (std::string name : {"naive", "caisson"}) {
    auto& arm = r.arms.emplace_back();
    arm.name = name;
    arm.length = 60s;
    arm.faults.push_back(
      {.kind = fault_kind::stall, .target = "db", .at = 20s, .lasts = 10s});
    arm.faults.push_back(
      {.kind = fault_kind::flush, .target = "cache", .at = 59'999ms});
  }
  r.arms[1].title = "all policies";
  auto& run = r.runs.emplace_back();
  run.seed = 1;
  run.arms = {
    result_with({{20, 10, 10}, {10, 10, 0}, {30, 10, 4}}),
    result_with({{20, 10, 10}, {10, 10, 5}, {5, 10, 8}, {25, 10, 9}}),
  };
  for (std::size_t i = 0; i < 2; ++i) {
    auto& arm = run.arms[i];
    arm.name = r.arms[i].name;
    arm.seed = 1;
    arm.recovery_from = 30s;
    arm.events = 1000 + i;
    arm.digest = 0xabc + i;
    decide_verdict(arm);
  }
  return r;
}

// -- the terminal -------------------------------------------------------------

std::string terminal(const report& r, std::size_t width = any_width) {
  return written(write_text, r, false, width, false);
}

// Characters, not bytes.
std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);) {
    auto n = std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; });
    longest = std::max(longest, static_cast<std::size_t>(n));
  }
  return longest;
}

TEST(report_text, shows_arms_side_by_side_and_over_time) {
  EXPECT_EQ(terminal(story()),
            "A story\n"
            "story.toml: 60 s, seed 1, arms: naive, caisson\n"
            "\n"
            "arm      offered  success  goodput/s  attempts/request  p50  p99  "
            "verdict                       main errors\n"
            "naive        600  53.33 %        5.3              1.00    -    -  "
            "stuck                         timeout 280\n"
            "caisson      600  85.83 %        8.6              1.00    -    -  "
            "recovered after 5 s, at 35 s  timeout 85\n"
            "\n"
            "naive: at the end 40 % of the requests succeed in time; most "
            "others end with timeout\n"
            "\n"
            "succeeded in time, of what was offered (█: at least 90 %)\n"
            "stall db                         ××××××××××\n"
            "flush cache                                                       "
            "      ×\n"
            "naive        ████████████████████▁▁▁▁▁▁▁▁▁▁▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄"
            "▄▄▄▄▄▄▄\n"
            "caisson      ████████████████████▄▄▄▄▄▄▄▄▄▄▇▇▇▇▇██████████████████"
            "███████\n"
            "             0 s                           30 s                   "
            "   60 s\n"
            "\n"
            "caisson: all policies\n"
            "\n"
            "Little's law holds at every service, largest error 0\n"
            "no request was answered twice, 0 had no answer at the end\n"
            "\n"
            "event log  events  digest\n"
            "naive       1,000  0000000000000abc\n"
            "caisson     1,001  0000000000000abd\n");
}

TEST(report_text, fits_into_the_width_that_there_is) {
  auto r = story();
  r.title = "A story that stands in a title of more than eighty characters, so "
            "that it is broken";
  r.runs[0].arms[0].warnings = {std::string(30, 'w') + " "
                                + std::string(60, 'w')};
  for (std::size_t width : {80, 100, 132, 200})
    EXPECT_LE(longest_line(terminal(r, width)), width) << terminal(r, width);
  EXPECT_GT(longest_line(terminal(r)), 100u);
  // Nothing is lost: the words are the same, some of them elsewhere.
  auto text = terminal(r, 80);
  for (auto part :
       {"naive: stuck; main errors: timeout 280\n",
        "caisson: recovered after 5 s, at 35 s; main errors: timeout 85\n",
        "\n  broken\n", "53.33 %        5.3              1.00"})
    EXPECT_NE(text.find(part), std::string::npos) << part << text;
  // The picture has less room then.
  EXPECT_LE(longest_line(terminal(r, 60)), 64u) << terminal(r, 60);
}

TEST(report_text, distinguishes_loads_if_there_are_several) {
  auto r = small_report();
  EXPECT_EQ(terminal(r).find("load "), std::string::npos);
  r.runs[0].arms[0].loads = {
    {.name = "buyers",
     .offered = 12,
     .good = 8,
     .failed = 4,
     .errors = {{"queue_full", 1}, {"timeout", 3}},
     .latency = {8, 5ms, 4ms, 8ms, 9ms, 1500us, 11ms, 1s}},
    {.name = "visitors", .offered = 8, .good = 0}};
  EXPECT_NE(
    terminal(r).find(
      "\n\n"
      "arm    load      offered  success      p50      p99  main errors\n"
      "naive  buyers         12  66.67 %  4.00 ms  1.50 ms  timeout 3, "
      "queue_full 1\n"
      "naive  visitors        8   0.00 %        -        -\n"),
    std::string::npos)
    << terminal(r);
}

TEST(report_text, is_brief_if_that_is_wanted) {
  auto r = small_report();
  auto all = written(write_text, r, false, any_width, false);
  auto brief = written(write_text, r, false, any_width, true);
  EXPECT_TRUE(all.starts_with(brief)) << brief;
  EXPECT_EQ(brief.find("digest"), brief.npos);
  EXPECT_EQ(brief.find("Little"), brief.npos);
  EXPECT_NE(brief.find("naive: no policies"), brief.npos);
}

TEST(report_text, has_no_timeline_for_a_short_run) {
  EXPECT_EQ(terminal(small_report()),
            "A small world\n"
            "small.toml: 2 s, seed 7, arm: naive\n"
            "\n"
            "arm    offered  success  goodput/s  attempts/request      p50     "
            " p99  verdict                        main errors\n"
            "naive       20  75.00 %        7.5              1.50  4.00 ms  1.5"
            "0 ms  recovered after 0.5 s, at 1 s  timeout 3, queue_full 1\n"
            "\n"
            "naive: no policies, but retries\n"
            "\n"
            "Little's law holds at every service, largest error 0\n"
            "no request was answered twice, 1 had no answer at the end\n"
            "\n"
            "event log  events  digest\n"
            "naive       1,234  0123456789abcdef\n");
}

TEST(report_text, adds_up_all_but_the_three_main_errors) {
  auto r = small_report();
  r.runs[0].arms[0].totals.errors = {
    {"a", 1}, {"b", 5}, {"c", 2000}, {"d", 5}, {"e", 2}};
  EXPECT_NE(terminal(r).find("c 2,000, b 5, d 5, others 3\n"),
            std::string::npos);
}

TEST(report_text, says_when_the_statistics_are_wrong) {
  auto r = small_report();
  r.runs[0].arms[0].services[0].little_error = 0.01;
  r.runs[0].arms[0].answered_twice = 2;
  EXPECT_NE(terminal(r).find(
              "Little's law IS VIOLATED at some service, largest error 0.01\n"
              "2 ANSWERED TWICE, 1 had no answer at the end\n"),
            std::string::npos);
}

TEST(report_text, counts_verdicts_of_several_seeds) {
  auto r = story();
  r.seeds = 3;
  for (auto& arm : r.runs[0].arms)
    arm.latency.count = 1;
  r.runs.push_back(r.runs[0]);
  r.runs.push_back(r.runs[0]);
  // Without any good answer it has no latencies.
  r.runs[2].arms[1].latency = {};
  r.runs[1].arms[1].verdict = verdict_kind::degraded;
  r.runs[1].arms[1].recovered_at.reset();
  r.runs[1].arms[0].latency.p99 = 20ms;
  r.runs[2].arms[0].interrupted = true;
  EXPECT_EQ(terminal(r),
            "A story\n"
            "story.toml: 60 s, seeds 1 to 3, arms: naive, caisson\n"
            "\n"
            "arm      runs  recovered  degraded  stuck  recovery               "
            "success                      p99\n"
            "naive       2        0 %       0 %  100 %  never / never / never  "
            "53.33 % / 53.33 % / 53.33 %  0 s / 10.0 ms / 20.0 ms\n"
            "caisson     3    66.67 %   33.33 %    0 %  5 s / 5 s / never      "
            "85.83 % / 85.83 % / 85.83 %  0 s / 0 s / 0 s\n"
            "recovery, success and p99: min / median / max\n"
            "\n"
            "caisson: all policies\n"
            "\n"
            "Little's law holds at every service, largest error 0\n"
            "no request was answered twice, 0 had no answer at the end\n"
            "\n"
            "event log  events  digest\n"
            "naive       3,000  04dedeed61129f4b\n"
            "caisson     3,003  0f1c5ec586b39062\n");
}

TEST(report_text, puts_verdicts_into_words) {
  auto r = result_with({{20, 10, 10}});
  decide_verdict(r);
  EXPECT_EQ(verdict_text(r), "no fault");
  r.recovery_from = 10'001ms;
  decide_verdict(r);
  EXPECT_EQ(verdict_text(r), "recovered after 1 s, at 11 s");
  r.relapses = {{7, 11}};
  EXPECT_EQ(verdict_text(r), "recovered after 1 s, at 11 s, relapsed at 7 s");
  r.recovery_from.reset();
  EXPECT_EQ(verdict_text(r), "recovered at 11 s, relapsed at 7 s");
  r.relapses = {{12, 20}, {31, 40}, {57, {}}};
  r.verdict = verdict_kind::stuck;
  EXPECT_EQ(verdict_text(r), "stuck, relapsed 3 times, at 12 s to 57 s");
  r.relapses.clear();
  r.verdict = verdict_kind::degraded;
  EXPECT_EQ(verdict_text(r), "degraded");
  r.verdict = verdict_kind::stuck;
  EXPECT_EQ(verdict_text(r), "stuck");
  r.interrupted = true;
  EXPECT_EQ(verdict_text(r), "interrupted at 20 s");
}

TEST(report_text, shows_warnings_once_per_arm) {
  auto r = story();
  for (auto& arm : r.runs[0].arms)
    arm.warnings = {"look out"};
  EXPECT_NE(
    terminal(r).find("\ncaisson: all policies\n\n"
                     "warning: naive: look out\nwarning: caisson: look out\n\n"
                     "Little's law"),
    std::string::npos)
    << terminal(r);
  r.seeds = 2;
  r.runs.push_back(r.runs[0]);
  r.runs[1].arms[1].warnings.clear();
  EXPECT_NE(terminal(r).find("\n\nwarning: naive: look out (2 of 2 runs)\n"
                             "warning: caisson: look out (1 of 2 runs)\n\n"),
            std::string::npos)
    << terminal(r);
}

TEST(report_text, has_a_column_for_relapses_if_there_are_some) {
  auto r = story();
  r.seeds = 2;
  r.runs.push_back(r.runs[0]);
  r.runs[1].arms[1].relapses = {{40, 45}};
  auto text = terminal(r);
  EXPECT_NE(text.find("stuck  relapsed  recovery "), std::string::npos) << text;
  EXPECT_NE(text.find("0 %      50 %  5 s / 5 s / 5 s"), std::string::npos)
    << text;
}

TEST(report_text, counts_runs_without_a_fault_apart) {
  auto r = story();
  r.seeds = 2;
  auto& well = r.runs[0].arms[0];
  well = result_with({{60, 10, 10}});
  well.name = "naive";
  decide_verdict(well);
  r.runs.push_back(r.runs[0]);
  auto text = terminal(r);
  EXPECT_NE(text.find("arm      runs  recovered  degraded  stuck  no fault  "
                      "recovery         "),
            std::string::npos)
    << text;
  EXPECT_NE(text.find("naive       2        0 %       0 %    0 %     100 %  "
                      "- / - / -"),
            std::string::npos)
    << text;
}

TEST(report_text, shows_nothing_of_a_file_that_would_move_the_cursor) {
  auto r = story();
  r.title = "A\x1b[2Jb\nc";
  r.file = "st\x1b]0;ory";
  r.arms[1].title = "d\re";
  r.failures = {"arm naive: x\x07y\nz"};
  auto text = terminal(r) + written(write_failures, r);
  for (char c : text)
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << int{c};
  EXPECT_TRUE(text.starts_with("A\\x1b[2Jb\\x0ac\nst\\x1b]0;ory: 60 s"));
  EXPECT_NE(text.find("\ncaisson: d\\x0de\n"), std::string::npos);
  EXPECT_NE(text.find("\nfailed: arm naive: x\\x07y\\x0az\n"),
            std::string::npos);
}

TEST(report_text, gives_verdicts_alone) {
  auto r = story();
  EXPECT_EQ(written(write_verdicts, r),
            "naive: stuck\n"
            "caisson: recovered after 5 s, at 35 s\n");
  r.seeds = 2;
  EXPECT_EQ(written(write_verdicts, r),
            "seed 1: naive: stuck\n"
            "seed 1: caisson: recovered after 5 s, at 35 s\n");
}

TEST(report_text, says_what_was_done_before_an_interruption) {
  auto r = story();
  EXPECT_EQ(written(write_interruption, r), "");
  r.interrupted = true;
  r.seeds = 4;
  EXPECT_EQ(written(write_interruption, r), "interrupted: 2 of 8 runs done\n");
  r.runs[0].arms[1].interrupted = true;
  r.runs[0].arms[1].length = 37s;
  EXPECT_EQ(written(write_interruption, r),
            "interrupted: 1 of 8 runs done, arm caisson, seed 1, up to 37 s\n");
}

TEST(report_text, gives_speeds_and_memory) {
  auto r = small_report();
  EXPECT_EQ(written(write_speed, r, 3U << 19),
            "\n"
            "-- speed\n"
            "arm    requests/s  messages/s  simulated s/s  wall time\n"
            "naive          40       2,000              4     0.50 s\n"
            "peak memory 1.5 MiB\n");
}

// -- over time ----------------------------------------------------------------

TEST(timeline, has_digits_for_terminals_without_blocks) {
  EXPECT_EQ(
    timeline(story(), true),
    (std::vector<std::string>{
      "stall db                         xxxxxxxxxx",
      "flush cache                                                           "
      "  x",
      "naive        999999999999999999990000000000444444444444444444444444444"
      "444",
      "caisson      999999999999999999995555555555888889999999999999999999999"
      "999",
      "             0 s                           30 s                      6"
      "0 s"}));
}

TEST(timeline, shows_each_arm_its_own_faults) {
  auto r = story();
  for (auto& arm : r.arms)
    arm.length = 12s;
  for (auto& arm : r.runs[0].arms)
    arm.length = 12s;
  r.arms[0].faults.clear();
  r.arms[1].faults = {
    {.kind = fault_kind::slow, .target = "db", .at = 3s, .lasts = 100s}};
  EXPECT_EQ(timeline(r, true), (std::vector<std::string>{
                                 "naive             999999999999",
                                 "caisson: slow db     xxxxxxxxx",
                                 "caisson           999999999999",
                                 "                  0 s     12 s",
                               }));
}

TEST(timeline, puts_long_runs_into_sixty_columns_and_shows_pauses) {
  report r;
  auto& arm = r.arms.emplace_back();
  arm.name = "a";
  arm.length = 120s;
  r.runs.push_back(
    {.seed = 1,
     .arms = {result_with({{60, 10, 10}, {30, 0, 0}, {30, 10, 7}})}});
  r.runs[0].arms[0].name = "a";
  auto lines = timeline(r, true);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], "a  " + std::string(30, '9') + std::string(15, ' ')
                        + std::string(15, '7'));
}

TEST(timeline, ends_where_a_run_was_interrupted) {
  auto r = story();
  auto& arm = r.runs[0].arms[0];
  arm.tallies.resize(15);
  arm.length = 15s;
  arm.interrupted = true;
  EXPECT_EQ(timeline(r, true)[2], "naive        999999999999999");
}

TEST(timeline, is_empty_for_less_than_ten_seconds) {
  EXPECT_EQ(timeline(small_report(), true), std::vector<std::string>{});
}

} // namespace
} // namespace caisson::sim
