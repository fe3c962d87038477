// The page of a run: its data, and how both are put together.
#include <support/played_report.hpp>

#include <simulator/report/html.hpp>
#include <simulator/report/html_columns.hpp>
#include <simulator/report/html_data.hpp>
#include <simulator/report/json.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <sstream>
#include <string>

namespace caisson::sim {
namespace {

using json = nlohmann::ordered_json;
using test::played_report;

// A slow database, a client that retries, and a breaker in one of the arms.
constexpr auto shop = R"(
title = "A shop"
length = "12s"
drain = "5s"

[service.web]
workers = 50
queue = 100
time = "2ms"
calls = ["db"]

[service.db]
workers = 4
time = { kind = "exponential", mean = "10ms" }

[[edge]]
latency = "0.5ms"

[load.users]
rate = 200
target = "web"
timeout = "400ms"
attempts = 3
pause = "20ms"

[[fault]]
kind = "slow"
target = "db"
at = "3s"
for = "3s"
factor = 20

[arm.bare]
title = "no policies"

[arm.guarded]
title = "a breaker"
[[arm.guarded.stack.careful.layer]]
kind = "deadline"
timeout = "100ms"
[[arm.guarded.stack.careful.layer]]
kind = "breaker"
minimum_calls = 5
open = "1s"
[[arm.guarded.edge]]
from = "web"
to = "db"
stack = "careful"
[arm.guarded.load.users]
attempts = 2
)";

const report& shop_report() {
  static const auto r = played_report(shop);
  return r;
}

html_source source() {
  return {"the text", "caisson run test.toml", "1.2.3"};
}

std::string page_of(const report& r, const html_source& s = source()) {
  std::ostringstream out;
  write_html(out, r, s);
  return out.str();
}

json json_of(const report& r) {
  std::ostringstream out;
  write_json(out, r);
  return json::parse(out.str());
}

// What a script in the page reads.
json data_in(const std::string& page) {
  std::string begin = "<script id=\"data\" type=\"application/json\">";
  auto from = page.find(begin) + begin.size();
  return json::parse(page.substr(from, page.find("</script", from) - from));
}

// A value of a column, which may hold for all rows.
json at(const json& column, std::size_t row) {
  return column.is_array() ? column.at(row) : column;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto i = text.find(part); i != text.npos; i = text.find(part, i + 1))
    ++n;
  return n;
}

// -- data ---------------------------------------------------------------------

TEST(html_data, has_the_totals_of_json) {
  auto data = data_in(page_of(shop_report()));
  auto all = json_of(shop_report());
  EXPECT_EQ(data["verdicts"], all["verdicts"]);
  ASSERT_EQ(data["arms"].size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    auto expected = all["runs"][0]["arms"][i];
    for (auto key : {"gates", "breakers", "step", "seconds"})
      expected.erase(key);
    EXPECT_EQ(data["arms"][i]["result"], expected);
    EXPECT_GT(expected["totals"]["failed"].get<int>(), 0);
  }
}

void expect_request_columns(const json& columns, const json& row,
                            std::size_t i) {
  for (auto key : {"offered", "attempts", "good", "substituted", "failed"})
    EXPECT_EQ(at(columns[key], i), row[key]) << key << " " << i;
  for (const auto& [kind, column] : columns["errors"].items())
    EXPECT_EQ(at(column, i), row["errors"].value(kind, 0)) << kind << " " << i;
  for (const auto& [kind, n] : row["errors"].items())
    EXPECT_TRUE(columns["errors"].contains(kind)) << kind;
  for (auto key : {"p50", "p95", "p99", "max"}) {
    auto us = at(columns[key], i);
    if (row["latency"]["count"] == 0)
      EXPECT_TRUE(us.is_null());
    else
      EXPECT_NEAR(us.get<double>(), row["latency"][key].get<double>() * 1e6,
                  0.51);
  }
}

TEST(html_data, has_the_seconds_of_json_as_columns) {
  auto data = data_in(page_of(shop_report()));
  auto all = json_of(shop_report());
  EXPECT_EQ(data["step"], 1);
  for (std::size_t a = 0; a < 2; ++a) {
    const auto& arm = data["arms"][a];
    const auto& rows = all["runs"][0]["arms"][a]["seconds"];
    ASSERT_EQ(arm["rows"], rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      expect_request_columns(arm["seconds"], rows[i], i);
      for (std::size_t s = 0; s < arm["services"].size(); ++s) {
        const auto& name = arm["services"][s]["name"].get<std::string>();
        for (const auto& [key, value] : rows[i]["services"][name].items())
          // The page shows nothing of it.
          if (key != "busy_max") {
            EXPECT_EQ(at(arm["service_seconds"][s][key], i), value) << key;
          }
      }
    }
  }
}

TEST(html_data, reports_when_breakers_change) {
  auto data = data_in(page_of(shop_report()));
  auto all = json_of(shop_report());
  EXPECT_EQ(data["arms"][0]["breakers"], json::array());
  const auto& breaker = data["arms"][1]["breakers"].at(0);
  EXPECT_EQ(breaker["name"], "web -> db/breaker");
  EXPECT_EQ(
    data["arms"][1]["edges"][breaker["edge"].get<std::size_t>()]["gate"],
    "web -> db");
  std::string state = "closed";
  std::size_t next = 0;
  const auto& rows = all["runs"][0]["arms"][1]["seconds"];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (next < breaker["changes"].size()
        && breaker["changes"][next][0].get<std::size_t>() == i)
      state = breaker["changes"][next++][1];
    EXPECT_EQ(rows[i]["breakers"]["web -> db/breaker"], state) << i;
  }
  EXPECT_EQ(next, breaker["changes"].size());
  EXPECT_GT(next, 0u);
}

TEST(html_data, counts_calls_by_edge) {
  auto data = data_in(page_of(shop_report()));
  const auto& bare = data["arms"][0];
  auto sum = [&](std::size_t edge, const char* key) {
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < bare["rows"]; ++i)
      n += at(bare["edge_seconds"][edge][key], i).get<std::uint64_t>();
    return n;
  };
  ASSERT_EQ(bare["edges"].size(), 2u);
  EXPECT_EQ(bare["edges"][0]["from"], "web");
  EXPECT_EQ(bare["edges"][1]["from"], "users");
  EXPECT_TRUE(bare["edges"][1]["client"].get<bool>());
  // Nothing stands between a caller and a service that could repeat a call.
  EXPECT_EQ(sum(0, "calls"), bare["result"]["services"][1]["arrivals"]);
  EXPECT_EQ(sum(1, "calls"), bare["result"]["totals"]["attempts"]);
  // Every attempt ends well, or it failed.
  EXPECT_EQ(sum(1, "calls"),
            sum(1, "failed")
              + bare["result"]["totals"]["good"].get<std::uint64_t>());
}

TEST(html_data, shows_what_differs_between_arms) {
  auto data = data_in(page_of(shop_report()));
  EXPECT_EQ(data["arm_names"], json({"bare", "guarded"}));
  EXPECT_EQ(
    data["places"],
    json::parse(R"([{"places": ["web -> db"], "stacks": ["", "careful"]},
                    {"places": ["users -> web"], "stacks": ["", ""]}])"));
  EXPECT_EQ(
    data["differences"],
    json::parse(R"([{"what": "load users: attempts", "values": ["3", "2"]}])"));
  EXPECT_EQ(data["stacks"][0], json::object());
  EXPECT_EQ(data["stacks"][1]["careful"],
            json::parse(R"([{"name": "deadline", "kind": "deadline",
                             "settings": {"timeout": "100ms"}},
                            {"name": "breaker", "kind": "breaker",
                             "settings": {"minimum_calls": "5",
                                          "open": "constant 1s"}}])"));
}

TEST(html_data, reports_faults_and_how_to_repeat_the_run) {
  auto data = data_in(page_of(shop_report()));
  EXPECT_EQ(data["arms"][0]["faults"],
            json::parse(R"([{"kind": "slow", "target": "db", "at": 3.0,
                             "lasts": 3.0, "text": "slow ×20",
                             "label": "slow ×20 db"}])"));
  EXPECT_EQ(data["scenario"], "the text");
  EXPECT_EQ(data["command"], "caisson run test.toml");
  EXPECT_EQ(data["version"], "1.2.3");
}

TEST(html_data, has_sample_requests_in_microseconds) {
  auto r = played_report(R"(
length = "1s"
[service.web]
time = "10ms"
calls = ["db"]
[service.db]
time = "20ms"
[[edge]]
latency = "1ms"
[load.users]
kind = "constant"
rate = 1
target = "web"
timeout = "30ms"
)");
  auto arm = data_in(page_of(r))["arms"][0];
  EXPECT_EQ(arm["operations"], json({"web", "db"}));
  // The database works on, though the client and so the service gave up.
  EXPECT_EQ(arm["samples"], json::parse(R"([{
    "number": 1, "load": 0, "begun": 0, "took": 30000, "how": "timeout",
    "more": 0, "calls": [
      [-1, 0, 0, 30000, "timeout", [[1000, 1000, 30000, "fail"]]],
      [0, 1, 11000, 30000, "deadline_exceeded",
       [[12000, 12000, 32000, "done"]]]]}])"));
}

// Every kind of unit, and what tells texts apart.
TEST(html_data, has_the_columns_that_it_shows) {
  auto columns = data_in(page_of(shop_report()))["columns"];
  EXPECT_EQ(columns["seeds"], json::parse(R"([
    {"key": "recovery", "heading": "recovery", "unit": "run_time"},
    {"key": "success", "heading": "success", "unit": "share"},
    {"key": "p99", "heading": "p99", "unit": "seconds", "of_good": true}])"));
  EXPECT_EQ(columns["card"][1], json::parse(R"(
    {"key": "amplification", "heading": "attempts per request",
     "unit": "none", "digits": 2})"));
  EXPECT_EQ(columns["second"]["connections"], json::parse(R"([
    {"key": "used", "heading": "in use", "unit": "none", "level": true},
    {"key": "waiting", "heading": "wait", "unit": "none", "level": true},
    {"key": "no_connection", "heading": "got none", "unit": "none"}])"));
  EXPECT_EQ(columns["curves"]["latencies"][0]["unit"], "microseconds");
  auto keys_of = [](const json& list) {
    std::string out;
    for (const auto& c : list)
      out += c["key"].get<std::string>() + " ";
    return out;
  };
  EXPECT_EQ(keys_of(columns["card"]), "success amplification p50 p99 ");
  EXPECT_EQ(keys_of(columns["card_loads"]), "success p99 ");
  EXPECT_EQ(keys_of(columns["second"]["services"]),
            "arrivals completed failed refused queue busy ");
  EXPECT_EQ(keys_of(columns["curves"]["requests"]), "offered attempts good ");
}

TEST(html_data, has_the_numbers_of_cards) {
  auto data = data_in(page_of(shop_report()));
  for (const auto& arm : data["arms"]) {
    const auto& r = arm["result"];
    EXPECT_EQ(arm["card"], json({{"success", r["success"]},
                                 {"amplification", r["amplification"]},
                                 {"p50", r["latency"]["p50"]},
                                 {"p99", r["latency"]["p99"]}}));
    EXPECT_EQ(arm["card_loads"],
              json::array({{{"success", r["loads"][0]["success"]},
                            {"p99", r["loads"][0]["latency"]["p99"]}}}));
  }
}

TEST(html_data, has_no_share_of_nothing_and_no_latency_of_no_answer) {
  auto r = shop_report();
  auto& arm = r.runs[0].arms[0];
  arm.totals = {};
  arm.latency = {};
  arm.loads[0] = {.name = "users"};
  auto data = data_in(page_of(r));
  EXPECT_EQ(data["arms"][0]["card"], json({{"amplification", 1.0}}));
  EXPECT_EQ(data["arms"][0]["card_loads"], json::parse("[{}]"));
}

// -- the page -----------------------------------------------------------------

TEST(html_page, is_the_same_for_the_same_seed) {
  auto page = page_of(shop_report());
  EXPECT_EQ(page_of(played_report(shop)), page);
  EXPECT_NE(page_of(played_report(shop, 2)), page);
}

TEST(html_page, needs_nothing_from_elsewhere) {
  auto page = page_of(shop_report());
  EXPECT_NE(page.find("default-src 'none'"), page.npos);
  for (auto part : {" src=", "<link", "@import", "url(", "sourceMappingURL="})
    EXPECT_EQ(page.find(part), page.npos) << part;
  for (auto part : {"{{style}}", "{{script}}", "{{library}}", "{{data}}"})
    EXPECT_EQ(page.find(part), page.npos) << part;
}

TEST(html_page, shows_hostile_names_as_they_are) {
  auto hostile = std::string{"</script><b>&{{script}}<!--<script>"};
  auto r = shop_report();
  r.title = hostile;
  r.file = hostile;
  r.failures = {hostile};
  r.arms[0].name = r.arms[0].title = hostile;
  r.runs[0].arms[0].name = r.runs[0].arms[0].title = hostile;
  r.runs[0].arms[0].warnings = {hostile};
  auto page = page_of(r, {hostile, hostile, hostile});
  auto usual = page_of(shop_report());
  for (auto part : {"</script", "<script", "<!--", "<b>"})
    EXPECT_EQ(count_of(page, part), count_of(usual, part)) << part;
  EXPECT_NE(page.find("<title>&lt;/script&gt;&lt;b&gt;&amp;{{script}}"),
            page.npos);
  auto data = data_in(page);
  for (auto key : {"title", "file", "scenario", "command", "version"})
    EXPECT_EQ(data[key], hostile) << key;
  EXPECT_EQ(data["arms"][0]["name"], hostile);
  EXPECT_EQ(data["arms"][0]["result"]["warnings"], json({hostile}));
}

TEST(html_page, takes_texts_that_are_not_utf_8) {
  auto r = shop_report();
  r.title = "caf\xe9";
  r.file = "\xff.toml";
  auto data = data_in(page_of(r));
  EXPECT_EQ(data["title"], "caf\uFFFD");
  EXPECT_EQ(data["file"], "\uFFFD.toml");
}

TEST(html_page, can_be_made_of_a_run_that_was_interrupted_at_once) {
  auto r = shop_report();
  r.interrupted = true;
  r.runs.clear();
  auto data = data_in(page_of(r));
  EXPECT_EQ(data["arms"], json::array());
  r.runs.push_back({.seed = 1, .arms = {}});
  EXPECT_EQ(data_in(page_of(r))["arms"], json::array());
}

// -- long runs ----------------------------------------------------------------

// Two hours of fifty services in a chain, with numbers that do not repeat.
report long_report() {
  std::string text = "length = '7200s'\n[load.u]\nrate = 1000\ntarget = 's0'\n";
  for (int i = 0; i < 50; ++i) {
    text += "[service.s" + std::to_string(i) + "]\nworkers = 100\n";
    text += "time = '1ms'\n";
    if (i < 49)
      text += "calls = ['s" + std::to_string(i + 1) + "']\n";
  }
  report r;
  r.arms = parse_scenario(text, "test.toml").arms;
  arm_result x;
  x.name = "default";
  x.length = std::chrono::seconds{7200};
  auto details = std::make_shared<run_details>();
  std::uint64_t n = 100'000;
  for (std::uint32_t second = 0; second < 7200; ++second) {
    auto& row = x.rows.emplace_back();
    row.second = second;
    row.requests.offered = row.requests.good = ++n % 1000;
    x.totals.offered += row.requests.offered;
    row.latency.count = 1;
    row.latency.p99 = std::chrono::nanoseconds{++n * 1000};
    for (int i = 0; i < 50; ++i, n += 7)
      row.services.push_back({n % 99'991, n % 9'973, n % 99'989, n % 9'967,
                              n % 9'949, n % 997, n % 9'941});
    details->edges.emplace_back(50, edge_row{++n % 99'991, n % 9'973});
  }
  x.services.resize(50);
  x.details = details;
  r.runs.push_back({.seed = 1, .arms = {x}});
  return r;
}

TEST(html_page, of_a_long_run_has_coarser_steps_and_stays_small) {
  auto r = long_report();
  const auto& arm = r.runs[0].arms[0];
  auto page = page_of(r);
  EXPECT_LT(page.size(), 10'000'000u);
  auto data = data_in(page);
  auto step = data["step"].get<std::size_t>();
  EXPECT_GT(step, 1u);
  const auto& columns = data["arms"][0]["seconds"];
  ASSERT_EQ(data["arms"][0]["rows"], (7200 + step - 1) / step);
  std::uint64_t offered = 0;
  for (const auto& n : columns["offered"])
    offered += n.get<std::uint64_t>();
  EXPECT_EQ(offered, arm.totals.offered);
  // The largest of the first seconds, which ascend, and the last queue.
  EXPECT_EQ(columns["p99"][0], arm.rows[step - 1].latency.p99.count() / 1000);
  EXPECT_EQ(data["arms"][0]["service_seconds"][3]["queue"][0],
            arm.rows[step - 1].services[3].queue);
}

TEST(html_columns, have_the_worst_state_of_a_breaker_in_a_step) {
  arm_result r;
  r.breakers = {"b"};
  for (auto state : {"closed", "open", "half_open", "closed", "half_open",
                     "closed", "closed"})
    r.rows.emplace_back().breakers = {state};
  EXPECT_EQ(html_columns(r, 1).breaker(0),
            json::parse(R"([[1, "open"], [2, "half_open"], [3, "closed"],
                            [4, "half_open"], [5, "closed"]])"));
  EXPECT_EQ(html_columns(r, 3).breaker(0),
            json::parse(R"([[0, "open"], [1, "half_open"], [2, "closed"]])"));
}

TEST(html_columns, are_one_value_if_all_are_the_same) {
  arm_result r;
  r.rows.resize(3);
  EXPECT_EQ(html_columns(r, 1).requests()["offered"], 0);
  r.rows[1].requests.offered = 5;
  EXPECT_EQ(html_columns(r, 1).requests()["offered"], json({0, 5, 0}));
  EXPECT_EQ(html_columns(r, 2).requests()["offered"], json({5, 0}));
}

} // namespace
} // namespace caisson::sim
