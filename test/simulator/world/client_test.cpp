// Loads: when requests come, and what clients do when they are not answered.
#include <simulator/world/arrivals.hpp>

#include <support/scratch.hpp>
#include <support/simulated.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using test::log_with;
using test::played;
using testing::ElementsAre;

std::vector<duration> arrivals_of(const load_config& c, duration end) {
  arrival_times all{c, draw_key{1}, end};
  std::vector<duration> out;
  while (auto t = all.next(end))
    out.push_back(*t);
  return out;
}

// -- open loops ---------------------------------------------------------------

TEST(arrivals, are_evenly_spaced_from_the_start_on) {
  load_config c;
  c.kind = load_kind::constant;
  c.rate = 300;
  c.start = 1s;
  auto all = arrivals_of(c, 6s);
  ASSERT_EQ(all.size(), 1500u);
  EXPECT_EQ(all[0], 1s);
  EXPECT_EQ(all[1], 1'003'333'333ns);
  EXPECT_EQ(all[2], 1'006'666'667ns);
  EXPECT_EQ(all[3], 1'010'000'000ns);
  EXPECT_EQ(all[174], 1'580'000'000ns);
}

TEST(arrivals, end_before_the_stop) {
  load_config c;
  c.kind = load_kind::constant;
  c.rate = 10;
  c.stop = 300ms;
  EXPECT_THAT(arrivals_of(c, 6s), ElementsAre(0s, 100ms, 200ms));
}

TEST(arrivals, follow_a_profile_of_steps) {
  load_config c;
  c.kind = load_kind::constant;
  c.profile = {{0s, 1}, {2s, 0}, {4s, 2}};
  c.scale = 2;
  EXPECT_THAT(arrivals_of(c, 5s),
              ElementsAre(0s, 500ms, 1s, 1500ms, 4s, 4250ms, 4500ms, 4750ms));
}

TEST(arrivals, follow_a_profile_of_ramps) {
  load_config c;
  c.kind = load_kind::constant;
  c.ramps = true;
  // The integral is t² / 2, then 2 + 2 (t - 2) - (t - 2)² / 2.
  c.profile = {{0s, 0}, {2s, 2}, {4s, 0}};
  auto all = arrivals_of(c, 10s);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0], 0s);
  EXPECT_NEAR(to_seconds(all[1]), std::sqrt(2.0), 1e-9);
  EXPECT_EQ(all[2], 2s);
  EXPECT_NEAR(to_seconds(all[3]), 4 - std::sqrt(2.0), 1e-9);
}

TEST(arrivals, of_a_poisson_process_have_its_rate_and_its_spread) {
  load_config c;
  c.kind = load_kind::poisson;
  c.profile = {{0s, 50}, {500s, 150}};
  auto all = arrivals_of(c, 1000s);
  std::vector<double> counts(1000);
  for (auto t : all)
    ++counts[static_cast<std::size_t>(to_seconds(t))];
  double first = 0;
  double second = 0;
  double spread = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    (i < 500 ? first : second) += counts[i] / 500;
    auto rate = i < 500 ? 50.0 : 150.0;
    spread += (counts[i] - rate) * (counts[i] - rate) / rate / 1000;
  }
  EXPECT_NEAR(first, 50, 1);
  EXPECT_NEAR(second, 150, 2);
  EXPECT_NEAR(spread, 1, 0.1) << "variance by mean";
}

TEST(arrivals, of_a_trace_come_when_it_says) {
  test::scratch_dir dir;
  dir.write("t.csv", "0.5\n0.75\n2.5\n");
  auto s = parse_scenario("length = '10s'\n[service.s]\n[load.u]\n"
                          "target = 's'\nstart = '1s'\n"
                          "trace = { file = 't.csv', format = 'timestamps' }",
                          "x.toml", dir.path());
  EXPECT_THAT(arrivals_of(s.arms[0].loads[0], 10s),
              ElementsAre(1s, 1250ms, 3s));
}

// A load of `kind = "constant"` that replays counts.
load_config counted_load(const std::string& rows, const std::string& more) {
  test::scratch_dir dir;
  dir.write("t.csv", rows);
  auto s = parse_scenario("length = '100h'\n[service.s]\n[load.u]\n"
                          "kind = 'constant'\ntarget = 's'\n"
                            + more + "\n",
                          "x.toml", dir.path());
  return s.arms[0].loads[0];
}

TEST(arrivals, of_counts_end_with_them) {
  auto load = counted_load("13\n29\n",
                           "trace = { file = 't.csv', format = 'counts', "
                           "period = '7s' }");
  auto all = arrivals_of(load, 100s);
  ASSERT_EQ(all.size(), 42u);
  EXPECT_EQ(all[13], 7s);
  EXPECT_LT(all.back(), 14s);
}

TEST(arrivals, of_counts_wait_for_the_end_of_a_gap) {
  auto load = counted_load("3\n0\n1\n",
                           "trace = { file = 't.csv', format = 'counts', "
                           "period = '700ms', speed = 3 }\nscale = 0.1");
  // 0.3, then nothing, then 0.1: the next one would be the second.
  EXPECT_THAT(arrivals_of(load, 100s), ElementsAre(0s));
  load = counted_load("7\n0\n5\n",
                      "trace = { file = 't.csv', format = 'counts', "
                      "period = '11s', speed = 3 }");
  auto all = arrivals_of(load, 100s);
  ASSERT_EQ(all.size(), 12u);
  EXPECT_EQ(all[7], 7'333'333'333ns);
}

// However the rates are rounded.
TEST(arrivals, of_counts_are_as_many_as_the_counts_say) {
  keyed_random random{draw_key{7}};
  for (int i = 0; i < 200; ++i) {
    std::string rows;
    std::uint64_t sum = 0;
    for (auto n = 1 + random.below(40); n > 0; --n) {
      auto count = random.below(4) * random.below(60);
      sum += count;
      rows += std::to_string(count) + "\n";
    }
    std::uint64_t percent = std::array{100, 1, 7, 10, 33, 250}[random.below(6)];
    auto more = fmt::format("trace = {{ file = 't.csv', format = 'counts', "
                            "period = '{}ms', speed = {} }}\nscale = {}",
                            1 + random.below(9999), 1 + random.below(9),
                            static_cast<double>(percent) / 100);
    auto load = counted_load(rows, more);
    EXPECT_EQ(arrivals_of(load, 24h * 100).size(), (sum * percent + 99) / 100)
      << more << '\n'
      << rows;
  }
}

TEST(arrivals, of_a_profile_do_not_come_where_its_rate_ends) {
  load_config c;
  c.kind = load_kind::constant;
  // A tenth, as a double, is a little more.
  c.profile = {{0s, 0.1}, {10s, 0}};
  EXPECT_THAT(arrivals_of(c, 100s), ElementsAre(0s));
  c.ramps = true;
  c.profile = {{0s, 0.1}, {20s, 0}, {30s, 0}};
  EXPECT_THAT(arrivals_of(c, 100s), ElementsAre(0s));
}

// -- attempts -----------------------------------------------------------------

// One request; a service that answers after 100 ms.
std::string one(const std::string& load, const std::string& service = "") {
  return "length = '1s'\n[load.u]\nkind = 'constant'\nrate = 1\ntarget = 's'\n"
         + load + "\n[service.s]\ntime = '100ms'\nworkers = 9\n" + service;
}

TEST(simulated_client, counts_an_answer_at_the_very_end_as_in_time) {
  EXPECT_EQ(played(one("timeout = '100ms'")).totals.good, 1u);
  auto r = played(one("timeout = '99999999ns'"));
  EXPECT_EQ(r.totals.errors.at("timeout"), 1u);
}

TEST(simulated_client, tries_again_when_an_attempt_has_timed_out) {
  EXPECT_THAT(
    log_with(one("timeout = '60ms'\nattempts = 3"), {"arrive", "answer"}),
    ElementsAre("0.000000000 arrive s #1", "0.060000000 arrive s #1",
                "0.120000000 arrive s #1", "0.180000000 answer #1 timeout"));
}

TEST(simulated_client, pauses_between_attempts) {
  EXPECT_THAT(log_with(one("timeout = '60ms'\nattempts = 3\n"
                           "pause = { kind = 'linear', base = '10ms', step = "
                           "'10ms' }"),
                       {"arrive", "answer"}),
              ElementsAre("0.000000000 arrive s #1", "0.070000000 arrive s #1",
                          "0.150000000 arrive s #1",
                          "0.210000000 answer #1 timeout"));
}

TEST(simulated_client, tries_again_after_any_failure_or_only_after_a_timeout) {
  EXPECT_EQ(played(one("attempts = 5", "errors = 1.0")).totals.attempts, 5u);
  EXPECT_EQ(played(one("attempts = 5\nretry = 'timeout'", "errors = 1.0"))
              .totals.attempts,
            1u);
}

TEST(simulated_client, measures_a_request_from_its_first_attempt_on) {
  // The first attempt fails after 100 ms, the second one does not.
  auto text = one("attempts = 2")
              + "[[fault]]\nkind = 'errors'\ntarget = 's'\nat = '0s'\n"
                "for = '150ms'";
  EXPECT_EQ(played(text).latency.max, 200ms);
}

// -- closed loops -------------------------------------------------------------

TEST(simulated_client, of_a_closed_loop_waits_and_thinks) {
  EXPECT_THAT(
    log_with("length = '500ms'\nservice.s = { time = '100ms' }\n"
             "[load.u]\nkind = 'closed'\nusers = 1\nthink = '70ms'\n"
             "target = 's'",
             {"offer", "answer"}),
    ElementsAre("0.070000000 offer u #1", "0.170000000 answer #1 good",
                "0.240000000 offer u #2", "0.340000000 answer #2 good",
                "0.410000000 offer u #3", "0.510000000 answer #3 good"));
}

// Or one user could ask for ever within an instant, or nearly so.
TEST(simulated_client, of_a_closed_loop_rests_if_nothing_takes_time) {
  for (const auto* think : {"0s", "1ns", "10us", "1ms"})
    EXPECT_EQ(played("length = '100ms'\nservice.s = { workers = 'unlimited' }\n"
                     "[load.u]\nkind = 'closed'\nusers = 1\ntarget = 's'\n"
                     "think = '"s
                     + think + "'")
                .totals.good,
              think == "1ms"s ? 99u : 100u)
      << think;
}

TEST(simulated_client, of_a_closed_loop_obeys_the_response_time_law) {
  // N = X (R + Z).
  auto r = played("length = '1000s'\n"
                  "service.s = { time = { kind = 'exponential', mean = "
                  "'50ms' } }\n"
                  "[load.u]\nkind = 'closed'\nusers = 30\n"
                  "think = { kind = 'exponential', mean = '1s' }\n"
                  "target = 's'");
  auto x = static_cast<double>(r.totals.good) / 1000;
  EXPECT_NEAR(x * (to_seconds(r.latency.mean) + 1), 30, 0.5);
}

// -- mixes --------------------------------------------------------------------

TEST(simulated_client, asks_for_operations_by_their_weights) {
  auto r = played("length = '100s'\n[service.s]\nworkers = 'unlimited'\n"
                  "op.a = {}\nop.b = {}\nop.c = {}\n[load.u]\nrate = 200\n"
                  "mix = { 's.a' = 1, 's.b' = 3, 's.c' = 0.5 }");
  auto share = [&](const std::string& name) {
    return static_cast<double>(r.by_operation.at(name).count)
           / static_cast<double>(r.totals.good);
  };
  EXPECT_NEAR(share("s.a"), 1 / 4.5, 0.01);
  EXPECT_NEAR(share("s.b"), 3 / 4.5, 0.01);
  EXPECT_NEAR(share("s.c"), 0.5 / 4.5, 0.01);
}

} // namespace
} // namespace caisson::sim
