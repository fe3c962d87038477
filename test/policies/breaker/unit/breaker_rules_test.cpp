#include <policies/breaker/model/breaker_rig.hpp>
#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using enum breaker_trip;

// -- several rules ------------------------------------------------------------

// Three failures in a row, or half of at least six calls.
breaker_config two_rules(breaker_join how) {
  auto c = with_threshold(3);
  c.trip = {consecutive, rate_by_time};
  c.trip_if = how;
  c.minimum_calls = 6;
  return c;
}

TEST(breaker_rules, open_as_they_are_joined) {
  struct {
    std::string_view results;
    std::string_view any;
    std::string_view all;
  } const table[] = {
    {"xx.xx", "closed", "closed"},  // neither
    {"....xxx", "open", "closed"},  // three in a row, 3 of 7
    {"x.x.x.", "open", "closed"},   // half, never two in a row
    {"x.x..x", "open", "closed"},   // half
    {"...xxx", "open", "open"},     // both
    {"..x.x.", "closed", "closed"}, // a third
    {"x.x.xx", "open", "closed"},   // two thirds, two in a row
  };
  for (auto& row : table) {
    breaker_rig any{two_rules(breaker_join::any)};
    any.play(row.results);
    EXPECT_EQ(any.state(), row.any) << row.results;
    breaker_rig all{two_rules(breaker_join::all)};
    all.play(row.results);
    EXPECT_EQ(all.state(), row.all) << row.results;
  }
}

TEST(breaker_rules, open_when_the_last_of_all_conditions_comes_true) {
  breaker_rig r{two_rules(breaker_join::all)};
  r.play("xxxx");
  EXPECT_EQ(r.state(), "closed");
  r.play("x");
  EXPECT_EQ(r.state(), "closed");
  r.play("x");
  EXPECT_EQ(r.state(), "open");
}

TEST(breaker_rules, join_slow_calls_too) {
  for (auto how : {breaker_join::any, breaker_join::all}) {
    auto c = with_threshold(3);
    c.trip_if = how;
    c.slow_call = 1s;
    c.slow_rate = 0.4;
    c.minimum_calls = 2;
    breaker_rig r{c};
    r.arrive();
    r.arrive();
    r.advance(1s);
    EXPECT_EQ(r.state(), how == breaker_join::any ? "open" : "closed");
    if (how == breaker_join::any)
      continue;
    r.play("xxx");
    EXPECT_EQ(r.state(), "open");
  }
}

TEST(breaker_rules, keep_both_windows_side_by_side) {
  auto c = with_threshold(1);
  c.trip = {rate_by_count, rate_by_time};
  c.trip_if = breaker_join::all;
  c.window_calls = 4;
  c.minimum_calls = 4;
  breaker_rig r{c};
  r.play("xxx");
  r.advance(20s);
  // Half of the last four calls, but only one of the last ten seconds.
  r.play(".");
  EXPECT_EQ(r.state(), "closed");
  EXPECT_EQ(r.count("window_total"), 1); // by time
  r.play("x.x");
  EXPECT_EQ(r.state(), "open");
}

TEST(breaker_rules, keep_what_they_know_if_others_come_and_go) {
  auto c = with_threshold(3);
  breaker_rig r{c};
  r.play("xx");
  c.trip = {consecutive, without_gap};
  r.reconfigure(c);
  EXPECT_EQ(r.count("failure_streak"), 2);
  c.trip = without_gap;
  r.reconfigure(c);
  EXPECT_EQ(r.count("failure_streak"), 0);
  r.play("xx.");
  EXPECT_EQ(r.count("failure_streak"), 2);
  c.trip = {consecutive, without_gap};
  r.reconfigure(c);
  EXPECT_EQ(r.count("failure_streak"), 2);
}

TEST(breaker_rules, cap_the_minimum_to_the_window_of_calls) {
  auto c = with_threshold(1);
  c.trip = rate_by_count;
  c.window_calls = 3;
  EXPECT_EQ(c.minimum_calls, 20u);
  breaker_rig r{c};
  r.play(".x");
  EXPECT_EQ(r.count("failure_rate_permille"), -1);
  r.play(".");
  EXPECT_EQ(r.count("failure_rate_permille"), 333);
  r.play("x");
  EXPECT_EQ(r.state(), "open");
}

// -- a function over the counts -----------------------------------------------

TEST(breaker_function, sees_the_counts_and_decides) {
  std::vector<breaker_counts> seen;
  breaker_config c;
  c.trip = breaker_trips{};
  c.minimum_calls = 3;
  c.slow_call = 1s;
  c.slow_rate = 1;
  c.trip_when = [&](const breaker_counts& n) {
    seen.push_back(n);
    return n.consecutive_failures == 2;
  };
  breaker_rig r{c};
  auto slow = r.arrive();
  r.advance(1s);
  r.finish(slow);
  r.play("xx");
  EXPECT_EQ(r.state(), "open");
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0].slow, 1);
  EXPECT_EQ(seen[0].total, 0);
  EXPECT_EQ(seen[1].total, 1);
  EXPECT_EQ(seen[2].failure_rate, std::nullopt);
  EXPECT_EQ(seen[3].total, 3);
  EXPECT_EQ(seen[3].failures, 2);
  EXPECT_EQ(seen[3].timed, 3);
  EXPECT_DOUBLE_EQ(seen[3].failure_rate.value(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(seen[3].slow_rate.value(), 1.0 / 3);
  EXPECT_EQ(seen[3].score, std::nullopt);
}

TEST(breaker_function, is_asked_only_if_the_rules_do_not_decide) {
  for (auto how : {breaker_join::any, breaker_join::all}) {
    auto asked = 0;
    auto c = with_threshold(2);
    c.trip_if = how;
    c.trip_when = [&](const breaker_counts&) {
      ++asked;
      return true;
    };
    breaker_rig r{c};
    r.good();
    EXPECT_EQ(r.state(), how == breaker_join::any ? "open" : "closed");
    EXPECT_EQ(asked, how == breaker_join::any ? 1 : 0);
    if (how == breaker_join::all) {
      r.play("xx");
      EXPECT_EQ(r.state(), "open");
      EXPECT_EQ(asked, 1);
    }
  }
}

TEST(breaker_function, does_not_open_if_it_throws) {
  for (auto how : {breaker_join::any, breaker_join::all}) {
    auto c = with_threshold(2);
    c.trip_if = how;
    c.trip_when = [](const breaker_counts&) -> bool {
      throw std::runtime_error{"no idea"};
    };
    breaker_rig r{c};
    r.play("x");
    r.play("x");
    // Without it, two in a row would have been enough for any, not for all.
    EXPECT_EQ(r.state(), how == breaker_join::any ? "open" : "closed");
    EXPECT_EQ(r.e.threw, strings{"trip_when: no idea"});
  }
}

// -- in configurations --------------------------------------------------------

setting text(std::string x) {
  return {std::move(x), {}};
}

TEST(breaker_rules, are_read_as_a_name_or_a_list) {
  struct row {
    setting from;
    breaker_trips expected;
  };
  const row table[] = {
    {text("without_gap"), without_gap},
    {{std::vector<setting>{text("score"), text("consecutive")}, {}},
     {consecutive, score}},
    {{setting::raw{"rate_by_count"}, {}}, rate_by_count},
    {{setting::raw{"rate_by_count, rate_by_time"}, {}},
     {rate_by_count, rate_by_time}},
  };
  for (auto& row : table) {
    breaker_config c;
    EXPECT_EQ(read_settings(settings{{"trip", row.from}}, "db", c), problems{});
    EXPECT_TRUE(c.trip == row.expected);
  }
  breaker_config c;
  EXPECT_EQ(read_settings(settings{{"trip", {std::vector<setting>{}, {}}},
                                   {"slow_call", text("1s")}},
                          "db", c),
            problems{});
  EXPECT_TRUE(c.trip.empty());
}

TEST(breaker_rules, are_refused_if_they_do_not_exist) {
  const setting table[] = {
    text("consecutiv"),
    text("consecutive, score"),
    {std::vector<setting>{text("score"), text("scores")}, {}},
    {setting::raw{"score, none"}, {}},
  };
  for (auto& from : table) {
    breaker_config c;
    auto found = read_settings(settings{{"trip", from}}, "db", c);
    EXPECT_EQ(kinds_and_keys(found), strings{"range db.trip"});
    EXPECT_TRUE(c.trip == consecutive);
  }
  breaker_config c;
  auto found = read_settings(settings{{"trip", {std::int64_t{5}, {}}}}, "db",
                             c);
  EXPECT_EQ(kinds_and_keys(found), strings{"type db.trip"});
}

TEST(breaker_rules, are_refused_if_there_is_nothing_to_open_it) {
  breaker_config c;
  c.trip = breaker_trips{};
  EXPECT_EQ(kinds_and_keys(problems_of(c, "db")), strings{"relation db.trip"});
  c.slow_call = 1s;
  EXPECT_EQ(problems_of(c), problems{});
  c.slow_call = unlimited;
  c.trip_when = [](const breaker_counts&) { return false; };
  EXPECT_EQ(problems_of(c), problems{});
  c.trip = static_cast<breaker_trip>(9);
  EXPECT_EQ(kinds_and_keys(problems_of(c, "db")), strings{"range db.trip"});
}

} // namespace
} // namespace caisson::test
