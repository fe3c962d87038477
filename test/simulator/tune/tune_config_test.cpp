// Ranges without a step, needs, and the table [tune].
#include <simulator/scenario/scenario.hpp>
#include <simulator/scenario/value_range.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace caisson::sim {
namespace {

std::vector<std::string> round_values(const std::string& text) {
  problems wrong;
  std::vector<std::string> out;
  for (const auto& v :
       read_sweep_values(text, "x", "here", wrong, range_steps::round))
    out.push_back(v.text);
  EXPECT_TRUE(wrong.empty()) << to_text(wrong);
  return out;
}

TEST(round_ranges, have_all_integers_if_there_are_few) {
  EXPECT_EQ(round_values("1..4"),
            (std::vector<std::string>{"1", "2", "3", "4"}));
  EXPECT_EQ(round_values("0..999").size(), 1000u);
  EXPECT_EQ(round_values("-3..3").size(), 7u);
  EXPECT_EQ(round_values("5..5"), std::vector<std::string>{"5"});
}

TEST(round_ranges, have_two_digits_if_they_are_wide) {
  auto times = round_values("95ms..10s");
  EXPECT_EQ((std::vector<std::string>{times.begin(), times.begin() + 8}),
            (std::vector<std::string>{"95ms", "96ms", "97ms", "98ms", "99ms",
                                      "100ms", "110ms", "120ms"}));
  EXPECT_EQ(times.back(), "10s");
  EXPECT_EQ(times.size(), 5u + 90u + 90u + 1u);
  auto counts = round_values("1..1000000");
  EXPECT_EQ(counts.size(), 99u + 4 * 90u + 1u);
  EXPECT_EQ(counts[99], "100");
  EXPECT_EQ(counts[100], "110");
  auto shares = round_values("0.01..1");
  EXPECT_EQ(shares.front(), "0.01");
  EXPECT_EQ(shares[1], "0.011");
  EXPECT_EQ(shares.back(), "1");
}

TEST(round_ranges, have_some_dozens_if_they_are_narrow) {
  auto shares = round_values("0.1..0.5");
  EXPECT_EQ(shares.size(), 81u);
  EXPECT_EQ(shares[1], "0.105");
  auto times = round_values("1s..7s");
  EXPECT_EQ(times.size(), 61u);
  EXPECT_EQ(times[1], "1100ms");
  auto odd = round_values("-1.01..1.01");
  EXPECT_EQ(odd.front(), "-1.01");
  EXPECT_EQ(odd[1], "-1");
  EXPECT_EQ(odd.back(), "1.01");
  EXPECT_EQ(round_values("0..5000").size(), 51u);
}

TEST(round_ranges, keep_what_is_written) {
  EXPECT_EQ(round_values("10..30/10,7,fifo"),
            (std::vector<std::string>{"10", "20", "30", "7", "fifo"}));
  EXPECT_EQ(round_values("1s..1s"), std::vector<std::string>{"1s"});
}

TEST(round_ranges, stay_within_what_numbers_can_be) {
  for (auto text : {"0..999999999999999", "-999999999999999..999999999999999",
                    "1ns..100000h", "0.00000000000001..99.9"}) {
    auto all = round_values(text);
    EXPECT_GE(all.size(), 50u) << text;
    EXPECT_LE(all.size(), 3000u) << text;
  }
}

TEST(round_ranges, refuse_what_is_no_range) {
  for (auto [text, message] : {std::pair{"4..1", "ends before it begins"},
                               std::pair{"1..4/0", "has no step above 0"},
                               std::pair{"1..10s", "is not a range"},
                               std::pair{"a..b", "is not a range"}}) {
    problems wrong;
    EXPECT_TRUE(
      read_sweep_values(text, "x", "here", wrong, range_steps::round).empty());
    EXPECT_NE(to_text(wrong).find(message), std::string::npos)
      << to_text(wrong);
  }
}

tune_goal need(const std::string& text) {
  problems wrong;
  auto out = read_tune_need(text, "need", "", wrong);
  EXPECT_TRUE(wrong.empty()) << to_text(wrong);
  return out.value_or(tune_goal{});
}

TEST(tune_goals, have_bounds_of_all_kinds) {
  auto n = need("success >= 99.9%");
  EXPECT_EQ(n.name, "success");
  EXPECT_EQ(n.sense, tune_sense::more);
  EXPECT_DOUBLE_EQ(*n.bound, 0.999);
  n = need("p99<=250ms");
  EXPECT_EQ(n.name, "latency.p99");
  EXPECT_EQ(n.sense, tune_sense::less);
  EXPECT_DOUBLE_EQ(*n.bound, 0.25);
  n = need("gate.web -> db.late_results<=5");
  EXPECT_EQ(n.name, "gate.web -> db.late_results");
  EXPECT_EQ(*n.bound, 5);
  problems wrong;
  for (auto text : {"", "p99", "p99<5", "<=5", "p99<=", "p99<=5%%", "p99<=inf",
                    "p99<=nan", "p99<=unlimited", "p99<=-"})
    EXPECT_FALSE(read_tune_need(text, "need", "", wrong)) << text;
  EXPECT_EQ(wrong.size(), 10u);
}

TEST(tune_goals, have_a_sense_that_may_go_without_saying) {
  problems wrong;
  auto g = read_tune_objective("max: p50", "best", "", wrong);
  ASSERT_TRUE(g);
  EXPECT_EQ(g->name, "latency.p50");
  EXPECT_EQ(g->sense, tune_sense::more);
  EXPECT_FALSE(read_tune_objective("p50", "best", "", wrong)->sense);
  EXPECT_FALSE(read_tune_objective("min:", "best", "", wrong));
  EXPECT_EQ(usual_sense("latency.p99"), tune_sense::less);
  EXPECT_EQ(usual_sense("goodput"), tune_sense::more);
  EXPECT_FALSE(usual_sense("operation.web.count"));
  EXPECT_FALSE(usual_sense("service.web.utilization"));
}

} // namespace
} // namespace caisson::sim
