// Traces for viewers, as the command writes them.
#include <support/command_rig.hpp>
#include <support/scratch.hpp>

#include <simulator/command/cli.hpp>
#include <simulator/play/command_parts.hpp>
#include <simulator/report/trace_file.hpp>
#include <simulator/report/trace_lanes.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using json = nlohmann::ordered_json;

// Queues, retries, breakers, work for nobody, a network and a fault.
constexpr auto traced_shop = R"(
title = "A \"traced_shop\""
length = "6s"
drain = "5s"
[service.web]
workers = 20
queue = 10
async = true
time = "2ms"
calls = ["db"]
[service.db]
workers = 3
queue = 12
abandoned = "skip"
time = { kind = "exponential", mean = "20ms" }
errors = 0.02
[[edge]]
latency = "0.5ms"
[load.users]
rate = 90
target = "web"
timeout = "150ms"
attempts = 2
[[fault]]
kind = "slow"
target = "db"
at = "3s"
for = "1s"
factor = 5
[arm.bare]
[arm.careful]
[[arm.careful.stack.careful.layer]]
kind = "retrier"
max_attempts = 2
backoff = "10ms"
[[arm.careful.stack.careful.layer]]
kind = "breaker"
minimum_calls = 5
open = "300ms"
[[arm.careful.stack.careful.layer]]
kind = "semaphore"
permits = 5
[[arm.careful.edge]]
from = "web"
to = "db"
stack = "careful"
)";

class trace_command : public testing::Test {
protected:
  trace_command() {
    file_ = dir_.write("traced_shop.toml", traced_shop).string();
  }

  int run(std::vector<std::string> more) {
    std::vector<std::string> args{"run", file_, "--no-speed"};
    args.insert(args.end(), more.begin(), more.end());
    return test::run_command(args, out_, err_, parts_);
  }

  std::string trace(std::vector<std::string> more) {
    more.insert(more.begin(), {"--trace", "-"});
    EXPECT_EQ(run(std::move(more)), 0) << err_.str();
    return out_.str();
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (dir_ / name).string();
  }

  static std::string text_of(const std::string& path) {
    std::ifstream in{path};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  test::scratch_dir dir_;
  std::string file_;
  command_parts parts_;
  std::ostringstream out_;
  std::ostringstream err_;
};

// -- the format ---------------------------------------------------------------

using track = std::pair<int, int>;

// Nanoseconds; times are written with three decimals.
std::int64_t ns(const json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

// Spans on one track lie within one another or apart.
void expect_nested(const json& events) {
  std::map<track, std::vector<std::int64_t>> open;
  for (const auto& e : events) {
    if (e["ph"] != "X")
      continue;
    auto& ends = open[{e["pid"], e["tid"]}];
    auto begin = ns(e["ts"]);
    auto end = begin + ns(e["dur"]);
    while (!ends.empty() && ends.back() <= begin && end > ends.back())
      ends.pop_back();
    if (!ends.empty()) {
      EXPECT_LE(end, ends.back()) << e;
    }
    ends.push_back(end);
  }
}

void expect_valid(const json& all) {
  ASSERT_TRUE(all["traceEvents"].is_array());
  std::set<int> processes;
  std::set<track> tracks;
  std::int64_t last = 0;
  for (const auto& e : all["traceEvents"]) {
    auto kind = e.at("ph").get<std::string>();
    track where{e.at("pid"), e.at("tid")};
    if (kind == "M") {
      if (e["name"] == "process_name")
        processes.insert(where.first);
      if (e["name"] == "thread_name")
        tracks.insert(where);
      continue;
    }
    ASSERT_TRUE(kind == "X" || kind == "i" || kind == "C") << e;
    EXPECT_TRUE(processes.contains(where.first)) << e;
    EXPECT_TRUE(tracks.contains(where)) << e;
    EXPECT_FALSE(e.at("name").get<std::string>().empty());
    EXPECT_GE(ns(e.at("ts")), last) << e;
    last = ns(e["ts"]);
    EXPECT_EQ(e.contains("dur"), kind == "X") << e;
    if (kind == "X") {
      EXPECT_GE(ns(e["dur"]), 0) << e;
    }
    if (kind == "C") {
      for (const auto& [name, value] : e.at("args").items())
        EXPECT_TRUE(value.is_number()) << e;
    }
  }
  expect_nested(all["traceEvents"]);
}

// The names of the groups of tracks, by number.
std::map<int, std::string> groups_of(const json& all) {
  std::map<int, std::string> out;
  for (const auto& e : all["traceEvents"])
    if (e["ph"] == "M" && e["name"] == "process_name")
      out[e["pid"]] = e["args"]["name"];
  return out;
}

std::map<track, std::string> tracks_of(const json& all) {
  std::map<track, std::string> out;
  for (const auto& e : all["traceEvents"])
    if (e["ph"] == "M" && e["name"] == "thread_name")
      out[{e["pid"], e["tid"]}] = e["args"]["name"];
  return out;
}

// The events of one group on tracks whose name begins with `on`.
std::vector<json> events_in(const json& all, const std::string& group,
                            const std::string& on) {
  auto groups = groups_of(all);
  auto tracks = tracks_of(all);
  std::vector<json> out;
  for (const auto& e : all["traceEvents"])
    if (e["ph"] != "M" && groups[e["pid"]] == group
        && tracks[{e["pid"], e["tid"]}].starts_with(on))
      out.push_back(e);
  return out;
}

std::size_t named(const std::vector<json>& events, const std::string& begin) {
  std::size_t n = 0;
  for (const auto& e : events)
    n += e["name"].get<std::string>().starts_with(begin);
  return n;
}

TEST_F(trace_command, follows_the_format) {
  auto all = json::parse(trace({}));
  expect_valid(all);
  EXPECT_EQ(all["displayTimeUnit"], "ms");
  EXPECT_EQ(all["otherData"]["title"], "A \"traced_shop\"");
  EXPECT_GT(all["traceEvents"].size(), 500u);
  auto whole = json::parse(
    trace({"--trace-from", "0s", "--trace-to", "6s", "--arm", "careful"}));
  expect_valid(whole);
}

TEST_F(trace_command, is_the_same_each_time) {
  auto one = trace({"--jobs", "1"});
  EXPECT_EQ(trace({"--jobs", "2"}), one);
  EXPECT_EQ(trace({"--seeds", "3"}), one);
  EXPECT_NE(trace({"--seed", "2"}), one);
}

TEST_F(trace_command, leaves_everything_else_as_it_is) {
  ASSERT_EQ(run({"--html", path("a.html"), "--json", path("a.json")}), 0);
  auto text = out_.str();
  ASSERT_EQ(run({"--html", path("b.html"), "--json", path("b.json"), "--trace",
                 path("trace.json")}),
            0);
  EXPECT_EQ(out_.str(), text);
  EXPECT_EQ(err_.str(), "");
  EXPECT_EQ(text_of(path("b.html")), text_of(path("a.html")));
  EXPECT_EQ(text_of(path("b.json")), text_of(path("a.json")));
  expect_valid(json::parse(text_of(path("trace.json"))));
}

// -- what is in it ------------------------------------------------------------

TEST_F(trace_command, has_names_that_a_reader_understands) {
  std::vector<std::string> names;
  for (const auto& [pid, name] :
       groups_of(json::parse(trace({"--arm", "careful"}))))
    names.push_back(name);
  EXPECT_EQ(
    names, (std::vector<std::string>{
             "faults", "users: requests", "gate web -> db", "gate users -> web",
             "service web (20 servers)", "service db (3 servers)"}));
  names.clear();
  for (const auto& [pid, name] : groups_of(json::parse(trace({}))))
    names.push_back(name);
  ASSERT_EQ(names.size(), 12u);
  EXPECT_EQ(names[0], "arm bare · faults");
  EXPECT_EQ(names[11], "arm careful · service db (3 servers)");
}

TEST_F(trace_command, agrees_with_json) {
  for (std::string arm : {"bare", "careful"}) {
    auto all = json::parse(trace({"--arm", arm, "--trace-from", "0s",
                                  "--trace-to", "10s", "--json", path("j")}));
    auto r = json::parse(text_of(path("j")))["runs"][0]["arms"][0];
    auto requests = events_in(all, "users: requests", "request");
    EXPECT_EQ(named(requests, "web"), r["totals"]["offered"]);
    EXPECT_EQ(named(requests, "web (timeout)"),
              r["totals"]["errors"]["timeout"]);
    std::map<std::int64_t, std::uint64_t> by_second;
    for (const auto& e : requests)
      if (e["name"].get<std::string>().starts_with("web"))
        ++by_second[ns(e["ts"]) / 1'000'000'000];
    for (const auto& row : r["seconds"])
      EXPECT_EQ(by_second[row["second"]], row["offered"]) << row["second"];
    for (const auto& s : r["services"]) {
      auto name = s["name"].get<std::string>();
      auto group = fmt::format("service {} ({} servers)", name,
                               name == "web" ? 20 : 3);
      auto done = events_in(all, group, name == "web" ? "request" : "server");
      auto away = events_in(all, group, "rejected");
      auto waits = events_in(all, group, "waiting");
      EXPECT_EQ(done.size(), s["started"]) << name;
      EXPECT_EQ(away.size(), s["refused"]) << name;
      double waited = 0;
      for (const auto& e : waits)
        if (e["args"]["how"] != "drop")
          waited += static_cast<double>(ns(e["dur"])) / 1e9;
      EXPECT_NEAR(waited / s["started"].get<double>(),
                  s["mean_wait"].get<double>(), 1e-8)
        << name;
      if (name == "db") {
        double busy = 0;
        for (const auto& e : done)
          busy += static_cast<double>(ns(e["dur"])) / 1e9;
        EXPECT_NEAR(busy / s["started"].get<double>(),
                    s["mean_service"].get<double>(), 1e-8);
      }
    }
  }
}

TEST_F(trace_command, needs_no_more_lanes_than_there_are_servers) {
  auto all = json::parse(
    trace({"--arm", "bare", "--trace-from", "0s", "--trace-to", "6s"}));
  std::set<std::string> servers;
  auto groups = groups_of(all);
  for (const auto& [where, name] : tracks_of(all))
    if (groups[where.first] == "service db (3 servers)"
        && name.starts_with("server"))
      servers.insert(name);
  EXPECT_EQ(servers,
            (std::set<std::string>{"server 1", "server 2", "server 3"}));
}

// One call, held before its first attempt and between attempts.
TEST_F(trace_command, shows_what_gates_hold) {
  file_ = dir_
            .write("held.toml", R"(
length = '1s'
[service.db]
time = '10ms'
errors = 1.0
[load.users]
kind = 'constant'
rate = 1
target = 'db'
[[stack.again.layer]]
kind = 'retrier'
max_attempts = 2
backoff = '5ms'
budget = false
[[edge]]
stack = 'again'
latency = '2ms'
)")
            .string();
  auto all = json::parse(trace({}));
  std::vector<std::string> got;
  for (const auto& e : events_in(all, "gate users -> db", "call"))
    got.push_back(fmt::format("{} {} {}", e["name"].get<std::string>(),
                              ns(e["ts"]) / 1'000'000,
                              ns(e["dur"]) / 1'000'000));
  EXPECT_EQ(got, (std::vector<std::string>{"db (failed) 0 33", "attempt 1 0 14",
                                           "held by the gate 14 5",
                                           "attempt 2 19 14"}));
  got.clear();
  for (const auto& e : events_in(all, "service db (1 server)", "server"))
    got.push_back(fmt::format("{} {} {}", e["name"].get<std::string>(),
                              ns(e["ts"]) / 1'000'000,
                              ns(e["dur"]) / 1'000'000));
  EXPECT_EQ(got,
            (std::vector<std::string>{"db (fail) 2 10", "db (fail) 21 10"}));
}

TEST_F(trace_command, shows_breakers) {
  auto all = json::parse(
    trace({"--arm", "careful", "--trace-from", "3s", "--trace-to", "6s"}));
  auto states = events_in(all, "gate web -> db", "breaker");
  EXPECT_GT(named(states, "open"), 0u);
  for (const auto& e : states)
    EXPECT_EQ(e["ph"], "i");
}

// -- time and size ------------------------------------------------------------

TEST_F(trace_command, is_of_the_time_that_was_asked_for) {
  auto other = [&](std::vector<std::string> more) {
    return json::parse(trace(std::move(more)))["otherData"]["arms"][0];
  };
  EXPECT_EQ(other({})["from"], 2.8);
  EXPECT_EQ(other({})["to"], 3.8);
  EXPECT_EQ(other({"--trace-from", "1s"})["to"], 2);
  EXPECT_EQ(other({"--trace-to", "1500ms"})["from"], 0.5);
  auto all = json::parse(
    trace({"--arm", "bare", "--trace-from", "1s", "--trace-to", "1500ms"}));
  auto requests = events_in(all, "users: requests", "request");
  EXPECT_EQ(named(requests, "web"), all["otherData"]["arms"][0]["requests"]);
  for (const auto& e : requests)
    if (e["name"].get<std::string>().starts_with("web")) {
      EXPECT_GE(ns(e["ts"]), 1'000'000'000);
      EXPECT_LT(ns(e["ts"]), 1'500'000'000);
    }
}

TEST_F(trace_command, refuses_times_without_requests) {
  struct refused {
    std::vector<std::string> args;
    std::string message;
  };
  const refused cases[] = {
    {{"--trace-from", "1s"}, "--trace-from: requires --trace or --spans"},
    {{"--trace", "t", "--trace-from", "soon"},
     "--trace-from: \"soon\" is not a time such as 10s or 1.5s"},
    {{"--trace", "t", "--trace-from", ""}, "--trace-from: the value is empty"},
    {{"--trace", "t", "--trace-from", "6s"},
     "--trace-from: 6s is not before 6s, the end of the load"},
    {{"--trace", "t", "--trace-from", "2s", "--trace-to", "2s"},
     "--trace-to: 2s is not after 2s, where the trace begins"},
    {{"--trace", "./x", "--json", "x"},
     "--trace: ./x is the same file as that of --json"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(run(c.args), 2);
    EXPECT_EQ(err_.str().substr(0, c.message.size()), c.message);
  }
}

TEST(trace_size, is_bounded) {
  auto s = parse_scenario(R"(
length = '10s'
[service.web]
workers = 'unlimited'
time = '1ms'
calls = [{ to = 'db', count = 3 }]
[service.db]
workers = 'unlimited'
time = '1ms'
[load.users]
kind = 'constant'
rate = 1000
target = 'web'
)",
                          "test.toml");
  report r;
  r.arms = std::move(s.arms);
  run_options o;
  o.trace = trace_settings{.from = 1s, .to = 9s, .most = 2000};
  r.runs.push_back({.seed = 1, .arms = {run_arm(r.arms[0], o)}});
  const auto& trace = *r.runs[0].arms[0].details->trace;
  std::size_t kept = trace.requests.size();
  for (const auto& x : trace.requests) {
    EXPECT_GE(x.begun, 1s);
    for (const auto& c : x.calls)
      kept += 1 + c.works.size() + c.trips.size();
  }
  EXPECT_LE(kept, 2000u);
  EXPECT_GE(kept, 1000u);
  EXPECT_EQ(trace.requests.size() + trace.left_out, 8000u);
  auto warnings = trace_warnings(r);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(
    warnings[0],
    fmt::format("arm default: the trace has {} of 8,000 requests, as it "
                "would be too large; choose less time with "
                "--trace-from and --trace-to",
                trace.requests.size()));
  std::ostringstream out;
  write_trace(out, r, "1");
  expect_valid(json::parse(out.str()));
}

TEST(trace_time, is_about_the_first_fault) {
  std::vector<arm_config> arms(2);
  for (auto& arm : arms)
    arm.length = 100s;
  arms[1].warmup = 5s;
  EXPECT_EQ(trace_time(arms, {}, {}).from, 5s);
  arms[0].faults.emplace_back().at = 100ms;
  arms[1].faults.emplace_back().at = 20s;
  EXPECT_EQ(trace_time(arms, {}, {}).from, 0s);
  EXPECT_EQ(trace_time(arms, {}, {}).to, 1s);
  arms[0].faults[0].at = 30s;
  EXPECT_EQ(trace_time(arms, {}, {}).from, 19800ms);
  EXPECT_EQ(trace_time(arms, 7s, 8s).to, 8s);
  EXPECT_EQ(trace_time(arms, {}, {}).most * 2, trace_settings{}.most);
}

TEST(trace_lanes, are_as_few_as_possible) {
  trace_lanes x;
  EXPECT_EQ(x.place(0s, 5s), 0u);
  EXPECT_EQ(x.place(1s, 2s), 1u);
  EXPECT_EQ(x.place(2s, 9s), 1u);
  EXPECT_EQ(x.place(2s, 3s), 2u);
  EXPECT_EQ(x.place(5s, 5s), 0u);
  EXPECT_EQ(x.place(5s, 6s), 0u);
  EXPECT_EQ(x.place(5s, 6s), 2u);
  EXPECT_EQ(x.count(), 3u);
}

} // namespace
} // namespace caisson::sim
