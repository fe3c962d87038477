// Rows of several seconds say what those of one second say.
#include <support/random_world.hpp>
#include <support/sim_results.hpp>
#include <support/simulated.hpp>

#include <simulator/report/headline.hpp>
#include <simulator/report/html_columns.hpp>
#include <simulator/report/html_samples.hpp>
#include <simulator/report/json_values.hpp>
#include <simulator/report/metrics.hpp>
#include <simulator/report/ranges.hpp>
#include <simulator/scenario/row_step.hpp>
#include <simulator/world/latency_histogram.hpp>
#include <simulator/world/row_recorder.hpp>
#include <simulator/world/run_details.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

struct played_rows {
  arm_result result;
  std::vector<std::string> log;
};

played_rows play_with(const arm_config& arm, std::uint64_t seed,
                      std::uint32_t step) {
  played_rows out;
  run_options o{.seed = seed, .progress = {}, .step = step, .log = {}};
  o.details = sample_settings{};
  o.log = [&](std::string_view line) { out.log.emplace_back(line); };
  out.result = run_arm(arm, o);
  return out;
}

std::vector<result_row> rows_in(const arm_result& r, std::uint32_t from,
                                std::uint32_t to) {
  std::vector<result_row> out;
  for (const auto& row : r.rows)
    if (row.second >= from && row.second < to)
      out.push_back(row);
  return out;
}

void expect_sums(const request_counts& all,
                 const std::vector<result_row>& parts) {
  request_counts sum;
  for (const auto& x : parts) {
    sum.offered += x.requests.offered;
    sum.attempts += x.requests.attempts;
    sum.good += x.requests.good;
    sum.substituted += x.requests.substituted;
    sum.failed += x.requests.failed;
    for (const auto& [kind, n] : x.requests.errors)
      sum.errors[kind] += n;
  }
  EXPECT_EQ(all, sum);
}

void expect_service(const result_row& all, const std::vector<result_row>& parts,
                    std::size_t i) {
  const auto& last = parts.back().services.at(i);
  service_row sum{.queue = last.queue,
                  .busy = last.busy,
                  .cores_used = last.cores_used,
                  .servers = last.servers};
  for (const auto& x : parts) {
    const auto& s = x.services.at(i);
    sum.arrivals += s.arrivals;
    sum.refused += s.refused;
    sum.completed += s.completed;
    sum.failed += s.failed;
    sum.queue_max = std::max(sum.queue_max, s.queue_max);
    sum.busy_max = std::max(sum.busy_max, s.busy_max);
    sum.busy_time += s.busy_time;
    sum.core_time += s.core_time;
    sum.server_time += s.server_time;
  }
  EXPECT_EQ(all.services.at(i), sum) << "service " << i;
}

void expect_connections(const result_row& all,
                        const std::vector<result_row>& parts, std::size_t i) {
  const auto& last = parts.back().connections.at(i);
  connection_row sum{.used = last.used, .waiting = last.waiting};
  for (const auto& x : parts) {
    const auto& c = x.connections.at(i);
    sum.refused += c.refused;
    sum.expired += c.expired;
    sum.used_max = std::max(sum.used_max, c.used_max);
    sum.waiting_max = std::max(sum.waiting_max, c.waiting_max);
  }
  EXPECT_EQ(all.connections.at(i), sum) << "connections " << i;
}

// By second of the answer, from the event log.
std::map<std::uint32_t, latency_histogram>
latencies_in(const std::vector<std::string>& log, std::uint32_t step) {
  std::map<std::string, duration> begun;
  std::map<std::uint32_t, latency_histogram> out;
  for (const auto& line : log) {
    auto space = line.find(' ');
    auto hash = line.find('#');
    auto at = *parse_duration(line.substr(0, space) + "s");
    auto rest = line.substr(space + 1);
    if (rest.starts_with("offer "))
      begun[line.substr(hash)] = at;
    if (!rest.starts_with("answer "))
      continue;
    auto end = line.find(' ', hash);
    if (line.substr(end + 1).starts_with("good"))
      out[static_cast<std::uint32_t>(at / 1s) / step].add(
        at - begun.at(line.substr(hash, end - hash)));
  }
  return out;
}

void expect_row(const result_row& row, const std::vector<result_row>& parts) {
  SCOPED_TRACE("the row from second " + std::to_string(row.second));
  ASSERT_FALSE(parts.empty());
  EXPECT_EQ(row.second, parts.front().second);
  expect_sums(row.requests, parts);
  std::uint64_t prompt = 0;
  for (const auto& x : parts)
    prompt += x.prompt;
  EXPECT_EQ(row.prompt, prompt);
  for (std::size_t i = 0; i < row.services.size(); ++i)
    expect_service(row, parts, i);
  for (std::size_t i = 0; i < row.connections.size(); ++i)
    expect_connections(row, parts, i);
  EXPECT_EQ(row.breakers, parts.back().breakers);
  auto worst = parts.front().breakers;
  for (const auto& x : parts)
    for (std::size_t i = 0; i < worst.size(); ++i)
      worst[i] = worse_state(worst[i], x.breakers.at(i));
  EXPECT_EQ(worst_states(row), worst);
}

void expect_edges(const run_details& coarse, const run_details& fine,
                  std::uint32_t step) {
  for (std::size_t row = 0; row < coarse.edges.size(); ++row)
    for (std::size_t edge = 0; edge < coarse.edges[row].size(); ++edge) {
      edge_row sum;
      for (auto i = row * step;
           i < fine.edges.size() && i < (row + 1) * std::size_t{step}; ++i) {
        sum.calls += fine.edges[i][edge].calls;
        sum.failed += fine.edges[i][edge].failed;
      }
      EXPECT_EQ(coarse.edges[row][edge].calls, sum.calls);
      EXPECT_EQ(coarse.edges[row][edge].failed, sum.failed);
    }
}

void expect_same_run(const arm_config& arm, std::uint64_t seed,
                     std::uint32_t step) {
  SCOPED_TRACE("step " + std::to_string(step));
  auto fine = play_with(arm, seed, 1);
  auto coarse = play_with(arm, seed, step);
  const auto& a = fine.result;
  const auto& b = coarse.result;
  EXPECT_EQ(fine.log, coarse.log);
  EXPECT_EQ(arm_values(a).dump(), arm_values(b).dump());
  EXPECT_EQ(a.tallies, b.tallies);
  for (std::size_t i = 0; i < a.tallies.size(); ++i)
    EXPECT_EQ(a.tallies[i].prompt, a.rows.at(i).prompt);
  EXPECT_EQ(headline(arm, a), headline(arm, b));
  ASSERT_EQ(b.rows.size(), (a.rows.size() + step - 1) / std::size_t{step});
  auto latencies = latencies_in(coarse.log, step);
  for (const auto& row : b.rows) {
    expect_row(row, rows_in(a, row.second, row.second + step));
    EXPECT_EQ(row.latency, latencies[row.second / step].summary());
  }
  ASSERT_EQ(b.details->edges.size(), b.rows.size());
  expect_edges(*b.details, *a.details, step);
}

class rows_of_random_worlds : public testing::TestWithParam<std::uint64_t> {};

TEST_P(rows_of_random_worlds, are_sums_of_seconds) {
  auto text = test::random_world{GetParam()}.text();
  SCOPED_TRACE("random_world{" + std::to_string(GetParam()) + "}:\n" + text);
  auto s = parse_scenario(text, "random.toml");
  for (std::uint32_t step : {2u, 3u, 7u, 60u})
    expect_same_run(s.arms.at(0), GetParam(), step);
}

INSTANTIATE_TEST_SUITE_P(seeds, rows_of_random_worlds,
                         testing::Range(std::uint64_t{100},
                                        std::uint64_t{108}));

// With a warm-up, a breaker, connections, servers that change, a relapse and a
// length that is not a multiple of anything.
constexpr auto hard_day = R"(
length = "40.5s"
warmup = "3s"
[service.web]
workers = 50
time = "5ms"
calls = ["db"]
[service.db]
workers = 2
autoscale = { min = 1, max = 4, every = "3s", target = 0.6 }
time = { kind = "exponential", mean = "15ms" }
[[edge]]
from = "web"
to = "db"
stack = "careful"
connections = 5
pending = 20
[[stack.careful.layer]]
kind = "breaker"
[load.users]
rate = 80
target = "web"
timeout = "300ms"
attempts = 2
[[fault]]
kind = "slow"
target = "db"
at = "11s"
for = "9s"
factor = 20
[expect]
check = [
  { metric = "good", from = "5s", to = "8s", min = 0 },
  { metric = "goodput", from = "13s", max = 1e9 },
  { metric = "errors.timeout", from = "11s", to = "29s", max = 1e9 },
  { metric = "service.db.queue_max", from = "7s", to = "23s", max = 1e9 },
  { metric = "service.web.failed", from = "17s", to = "1000h", max = 1e9 },
  { metric = "edge.web -> db.waiting_max", from = "9s", to = "31s", max = 1e9 },
]
)";

TEST(rows, of_any_step_report_the_same_day) {
  auto s = parse_scenario(hard_day, "test.toml");
  for (std::uint32_t step : {5u, 8u, 3600u, one_row})
    expect_same_run(s.arms[0], 3, step);
}

TEST(rows, do_not_change_what_is_expected_of_some_seconds) {
  auto s = parse_scenario(hard_day, "test.toml");
  const auto& arm = s.arms[0];
  auto fine = play_with(arm, 3, 1).result;
  // From the rows alone.
  auto by_rows = fine;
  by_rows.ranges.clear();
  auto positive = 0;
  for (std::uint32_t step : {1u, 6u, one_row}) {
    auto r = play_with(arm, 3, step).result;
    for (const auto& b : arm.expect.bounds) {
      auto x = metric_of(by_rows, b.metric, b.from, b.to);
      EXPECT_EQ(metric_of(r, b.metric, b.from, b.to), x) << b.metric << step;
      positive += x > 0;
    }
  }
  EXPECT_GE(positive, 15);
}

TEST(rows, give_sums_of_seconds_only_where_they_begin_and_end) {
  auto s = parse_scenario(hard_day, "test.toml");
  auto fine = play_with(s.arms[0], 3, 1).result;
  auto r = play_with(s.arms[0], 3, 6).result;
  EXPECT_EQ(metric_of(r, "good", 6s, 18s), metric_of(fine, "good", 6s, 18s));
  EXPECT_EQ(metric_of(r, "good", 6s, 500s), metric_of(fine, "good", 6s, 500s));
  for (auto [from, to] : {std::pair{6s, 17s}, {5s, 12s}})
    try {
      ADD_FAILURE() << metric_of(r, "good", from, to);
    } catch (const std::invalid_argument& e) {
      EXPECT_STREQ(e.what(), "from and to must be multiples of 6s, as rows are "
                             "that long");
    }
}

TEST(rows, have_the_latencies_of_the_whole_run_if_there_is_one) {
  auto text = std::string{hard_day};
  text.erase(text.find("warmup"),
             text.find("[service.web]") - text.find("warmup"));
  auto s = parse_scenario(text, "test.toml");
  auto r = play_with(s.arms[0], 3, one_row).result;
  ASSERT_EQ(r.rows.size(), 1u);
  EXPECT_EQ(r.rows[0].latency, r.latency);
  EXPECT_EQ(r.rows[0].requests, r.totals);
  EXPECT_GT(r.end, 40'500ms);
}

TEST(rows, end_with_an_interrupted_run) {
  auto s = parse_scenario(hard_day, "test.toml");
  std::atomic<bool> stop{false};
  run_options o{.seed = 3, .progress = {}, .stop = &stop, .step = 6, .log = {}};
  o.progress = [&](double share) { stop = share > 0.5; };
  auto r = run_arm(s.arms[0], o);
  ASSERT_TRUE(r.interrupted);
  auto whole = play_with(s.arms[0], 3, 6).result;
  ASSERT_EQ(r.rows.size(), 4u);
  EXPECT_EQ(r.rows[2], whole.rows[2]);
  EXPECT_EQ(r.rows[3].second, 18u);
  EXPECT_LT(r.rows[3].requests.offered, whole.rows[3].requests.offered);
}

// -- steps --------------------------------------------------------------------

TEST(usual_step, makes_at_most_ten_thousand_rows) {
  EXPECT_EQ(usual_step(0s), 1u);
  EXPECT_EQ(usual_step(10'000s), 1u);
  EXPECT_EQ(usual_step(10'000s + 1ns), 2u);
  EXPECT_EQ(usual_step(20'001s), 5u);
  EXPECT_EQ(usual_step(100h), 60u);
  EXPECT_EQ(usual_step(200h), 120u);
}

TEST(next_step, consists_of_whole_units) {
  EXPECT_EQ(next_step(1, 1), 2u);
  EXPECT_EQ(next_step(5, 5), 10u);
  EXPECT_EQ(next_step(2, 2), 10u);
  EXPECT_EQ(next_step(7, 7), 14u);
  EXPECT_EQ(next_step(1800, 60), 3600u);
  EXPECT_EQ(next_step(3600, 60), 7200u);
  EXPECT_EQ(next_step(7000, 7000), 14'000u);
}

TEST(read_step, takes_whole_seconds) {
  EXPECT_EQ(read_step("1s"), 1u);
  EXPECT_EQ(read_step("1min"), 60u);
  EXPECT_EQ(read_step("100h"), 360'000u);
  for (auto text : {"", "0s", "-1s", "999ms", "1.5s", "1s1ns", "100h1s", "1",
                    "unlimited", "1s "})
    EXPECT_EQ(read_step(text), std::nullopt) << text;
}

// -- pages --------------------------------------------------------------------

seed_run coarse_run(std::uint32_t step, std::size_t rows) {
  arm_result r;
  r.step = step;
  for (std::size_t i = 0; i < rows; ++i) {
    auto& row = r.rows.emplace_back();
    row.second = static_cast<std::uint32_t>(i) * step;
    row.requests.offered = i + 1;
    row.breakers = {"closed"};
    row.worst_breakers = {i == 1 ? "open" : "closed"};
  }
  r.breakers = {"b"};
  return {.seed = 1, .arms = {std::move(r)}};
}

TEST(row_recorder, counts_a_prompt_answer_in_the_row_of_its_request) {
  row_recorder r{10s};
  r.set_step(2);
  for (std::uint32_t second = 0; second < 7; ++second)
    if (r.end_second({}, {}))
      r.end_row({});
  for (std::uint32_t i : {0, 3, 6})
    r.prompt(i, false);
  r.prompt(5, true);
  r.end_row({});
  arm_result all;
  r.move_to(all);
  std::vector<std::uint64_t> prompt;
  for (const auto& row : all.rows)
    prompt.push_back(row.prompt);
  EXPECT_EQ(prompt, (std::vector<std::uint64_t>{1, 1, 0, 1}));
  EXPECT_EQ(all.tallies.at(5).prompt_in_drain, 1u);
}

TEST(html_columns, go_by_rows_of_several_seconds) {
  auto run = coarse_run(5, 5);
  EXPECT_EQ(step_for(run), 5u);
  html_columns same{run.arms[0], 5};
  EXPECT_EQ(same.rows(), 5u);
  EXPECT_EQ(same.requests()["offered"],
            nlohmann::ordered_json({1, 2, 3, 4, 5}));
  EXPECT_EQ(same.breaker(0), nlohmann::ordered_json::parse(R"([[1,"open"],
                                                      [2,"closed"]])"));
  html_columns longer{run.arms[0], 10};
  EXPECT_EQ(longer.rows(), 3u);
  EXPECT_EQ(longer.requests()["offered"], nlohmann::ordered_json({3, 7, 5}));
  EXPECT_EQ(longer.breaker(0), nlohmann::ordered_json::parse(R"([[0,"open"],
                                                        [1,"closed"]])"));
}

TEST(html_columns, have_steps_of_whole_rows) {
  EXPECT_EQ(step_for(coarse_run(7, 10'000)), 14u);
  EXPECT_EQ(step_for(coarse_run(60, 7'200)), 60u);
  EXPECT_EQ(step_for(coarse_run(60, 7'201)), 120u);
}

} // namespace
} // namespace caisson::sim
