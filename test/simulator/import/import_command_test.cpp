// `caisson import`, and `caisson run --spans`.
#include <support/command_rig.hpp>
#include <support/scratch.hpp>
#include <support/trace_maker.hpp>

#include <simulator/command/cli.hpp>
#include <simulator/play/command_parts.hpp>
#include <simulator/scenario/scenario.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using json = nlohmann::ordered_json;
using strings = std::vector<std::string>;

class import_test : public testing::Test {
protected:
  import_test() {
    parts_.version = "1.2.3";
    parts_.stop = &stop_;
  }

  int run(strings args) { return test::run_command(args, out_, err_, parts_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (dir_ / name).string();
  }

  std::string write(const std::string& name, const std::string& text) {
    return dir_.write(name, text).string();
  }

  [[nodiscard]] std::string text_of(const std::string& name) const {
    std::ifstream in{dir_ / name};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  // Requests of web that call db, from the `first` on, as OTLP.
  static std::string otlp(int first, int last) {
    std::string web;
    std::string db;
    for (auto i = first; i <= last; ++i) {
      auto add = [&](std::string& to, int id, int parent, int kind, int start,
                     int end) {
        to += fmt::format(
          R"({}{{"traceId":"{:x}","spanId":"{:x}","parentSpanId":"{:x}",)"
          R"("name":"do it","kind":{},"startTimeUnixNano":"{}000000",)"
          R"("endTimeUnixNano":"{}000000"}})",
          to.empty() ? "" : ",", i, id, parent, kind,
          1'600'000'000'000 + i * 100 + start,
          1'600'000'000'000 + i * 100 + end);
      };
      add(web, 1, 0, 2, 0, 20);
      add(web, 2, 1, 3, 5, 15);
      add(db, 3, 2, 2, 6, 14);
    }
    auto resource = [](const char* name, const std::string& spans) {
      return fmt::format(
        R"({{"resource":{{"attributes":[{{"key":"service.name","value":)"
        R"({{"stringValue":"{}"}}}}]}},"scopeSpans":[{{"spans":[{}]}}]}})",
        name, spans);
    };
    return R"({"resourceSpans":[)" + resource("web", web) + ","
           + resource("db", db) + "]}\n";
  }

  test::scratch_dir dir_;
  std::atomic<bool> stop_{false};
  command_parts parts_;
  std::ostringstream out_;
  std::ostringstream err_;
};

// -- import -------------------------------------------------------------------

TEST_F(import_test, writes_a_scenario_that_runs) {
  auto file = write("traces.json", otlp(1, 11));
  ASSERT_EQ(run({"import", file}), 0) << err_.str();
  EXPECT_EQ(err_.str(), "caisson: less than 30 spans, too few for a "
                        "distribution: web.do-it, db.do-it\n"
                        "caisson: 33 spans in 11 traces, 1.1 s: 2 services, 2 "
                        "operations\n");
  auto text = out_.str();
  EXPECT_EQ(
    text.substr(text.find("\ntitle")),
    "\ntitle = \"Imported from traces\"\n"
    "length = \"60s\"\n"
    "\n[service.web]\nworkers = 1\n"
    "\n[service.web.op.do-it]\ntime = \"10ms\"\ncalls = [\"db.do-it\"]\n"
    "\n[service.db]\nworkers = 1\n"
    "\n[service.db.op.do-it]\ntime = \"8ms\"\n"
    "\n[[edge]]\nfrom = \"web\"\nto = \"db\"\nlatency = \"1ms\"\n"
    "\n[load.clients]\nkind = \"poisson\"\nrate = 10.0\n"
    "target = \"web.do-it\"\n");
  for (auto needed : {"Servers: ", "Waiting: ", "Queues, ", "Timeouts, ",
                      "Which calls may fail: ", "Rates: "})
    EXPECT_NE(text.find(std::string{"\n# - "} + needed), std::string::npos)
      << needed;
  auto path = write("made.toml", text);
  EXPECT_EQ(run({"check", path}), 0) << err_.str();
  EXPECT_EQ(run({"run", path, "--quiet"}), 0) << err_.str();
}

TEST_F(import_test, writes_to_a_file_and_reads_several) {
  auto a = write("a.jsonl", otlp(1, 3) + otlp(4, 5));
  auto b = write("b.json", otlp(6, 11));
  ASSERT_EQ(run({"import", a, b, "--out", path("made.toml")}), 0) << err_.str();
  EXPECT_EQ(out_.str(), path("made.toml")
                          + ": 33 spans in 11 traces, 1.1 s: 2 services, 2 "
                            "operations\n");
  EXPECT_EQ(load_scenario(path("made.toml")).arms.at(0).loads.at(0).rate, 10);
}

TEST_F(import_test, scales_what_was_sampled) {
  auto file = write("traces.json", otlp(1, 11));
  ASSERT_EQ(run({"import", file, "--sampling", "0.1"}), 0);
  auto arm = parse_scenario(out_.str(), "made").arms.at(0);
  EXPECT_EQ(arm.loads.at(0).rate, 100);
  EXPECT_NE(out_.str().find("divided by 0.1"), std::string::npos);
}

TEST_F(import_test, is_the_same_whatever_the_order_of_the_spans) {
  auto a = write("a.json", otlp(1, 5));
  auto b = write("b.json", otlp(6, 11));
  auto world = [&](const strings& files) {
    EXPECT_EQ(run(files), 0);
    auto text = out_.str();
    return text.substr(text.find("\ntitle"));
  };
  EXPECT_EQ(world({"import", a, b}), world({"import", b, a}));
}

TEST_F(import_test, says_what_is_wrong_with_a_file) {
  auto good = write("good.json", otlp(1, 2));
  auto cut = write("cut.json", otlp(1, 2).substr(0, 300));
  auto other = write("other.json", "{\"name\": \"x\"}");
  auto none = write("none.json", R"({"resourceSpans":[]})");
  auto no_ids = write(
    "no_ids.json", R"({"resourceSpans":[{"scopeSpans":[{"spans":[{},{}]}]}]})");
  struct {
    strings args;
    std::string expected;
  } cases[] = {
    {{good, path("missing.json")},
     path("missing.json") + ": cannot be read: No such file or directory\n"},
    {{dir_.path().string()}, dir_.path().string() + ": is a directory\n"},
    {{cut}, cut + ":1:301: is not JSON: "},
    {{good, other}, other + ": has no spans: expected resourceSpans"},
    {{good, "--format", "jaeger"}, good + ": has no spans: expected data"},
    {{none}, none + ": no spans were found\n"},
    {{no_ids}, "no usable spans were found: 2 without ids, 0 without"},
    {{good, "--out", path("nowhere/x.toml")},
     path("nowhere/x.toml") + ": cannot be written: "},
  };
  for (auto& c : cases) {
    c.args.insert(c.args.begin(), "import");
    EXPECT_EQ(run(c.args), 2);
    EXPECT_NE(err_.str().find(c.expected), std::string::npos) << err_.str();
    EXPECT_EQ(out_.str(), "");
  }
}

// What `caisson run --spans` writes of arms, which are runs of their own.
std::string of_arm(std::string text, const std::string& arm) {
  std::string_view end = "}}]},\"scopeSpans\"";
  for (auto at = text.find(end); at != text.npos;
       at = text.find(end, at + end.size() + 1)) {
    auto more = R"(,{"key":"caisson.arm","value":{"stringValue":")" + arm
                + "\"}}";
    text.insert(at + 2, more);
    at += more.size();
  }
  return text;
}

TEST_F(import_test, does_not_add_up_arms) {
  auto file = write("arms.json", of_arm(otlp(1, 11), "bare")
                                   + of_arm(otlp(101, 121), "guarded"));
  EXPECT_EQ(run({"import", file}), 2);
  EXPECT_EQ(err_.str(), file
                          + ": there are 2 arms, each of which is a run of its "
                            "own: choose one with --arm, of: bare, guarded\n");
  EXPECT_EQ(out_.str(), "");
  // Nor if they are in several files.
  auto a = write("a.json", of_arm(otlp(1, 11), "bare"));
  auto b = write("b.json", of_arm(otlp(101, 121), "guarded"));
  EXPECT_EQ(run({"import", a, b}), 2);
  EXPECT_EQ(run({"import", file, "--arm", "wide"}), 2);
  EXPECT_EQ(err_.str(), "--arm: \"wide\" is not one of: bare, guarded\n");
  EXPECT_EQ(run({"import", write("real.json", otlp(1, 3)), "--arm", "bare"}),
            2);
  EXPECT_EQ(err_.str(), "--arm: the spans belong to no arm: caisson run "
                        "--spans did not write them\n");
}

TEST_F(import_test, takes_one_arm_if_asked_and_says_so) {
  auto bare = of_arm(otlp(1, 11), "bare");
  auto alone = write("bare.json", bare);
  auto both = write("arms.json",
                    bare + of_arm(otlp(101, 121), "guarded") + otlp(201, 201));
  auto world = [&](const strings& args) {
    EXPECT_EQ(run(args), 0) << err_.str();
    auto text = out_.str();
    return text.substr(text.find("\ntitle"));
  };
  auto expected = world({"import", alone});
  EXPECT_EQ(err_.str().find("arm"), std::string::npos)
    << "there is nothing to choose";
  EXPECT_EQ(world({"import", both, "--arm", "bare"}), expected);
  std::string_view message = "only the spans of arm \"bare\" are in it: 66 of "
                             "others were left out";
  EXPECT_NE(err_.str().find(message), std::string::npos) << err_.str();
  EXPECT_NE(out_.str().find("#\n# What was noticed:\n# - only the spans"),
            std::string::npos)
    << out_.str();
}

TEST_F(import_test, leaves_the_target_alone_when_it_fails_or_is_stopped) {
  auto good = write("good.json", otlp(1, 2));
  auto bad = write("bad.json", "{");
  write("made.toml", "before");
  EXPECT_EQ(run({"import", bad, "--out", path("made.toml")}), 2);
  EXPECT_EQ(text_of("made.toml"), "before");
  stop_ = true;
  EXPECT_EQ(run({"import", good, "--out", path("made.toml")}), 130);
  EXPECT_EQ(err_.str(), "caisson: interrupted: nothing was written\n");
  EXPECT_EQ(text_of("made.toml"), "before");
}

TEST_F(import_test, shows_how_far_it_is) {
  auto file = write("traces.json", otlp(1, 11));
  parts_.terminal = true;
  ASSERT_EQ(run({"import", file}), 0);
  EXPECT_NE(err_.str().find("(1/1)  [##############......]  70 %"),
            std::string::npos)
    << err_.str();
  ASSERT_EQ(run({"import", file, "--no-progress"}), 0);
  EXPECT_EQ(err_.str().find('%'), std::string::npos);
}

// -- spans --------------------------------------------------------------------

constexpr auto spans_shop = R"(
length = "3s"
[service.web]
workers = 2
[service.web.op.home]
time = "2ms"
calls = ["db"]
[service.db]
workers = 1
queue = 1
time = { kind = "exponential", mean = "20ms" }
[[edge]]
latency = "1ms"
[load.users]
rate = 60
target = "web.home"
attempts = 2
timeout = "100ms"
[stack.twice]
[[stack.twice.layer]]
kind = "retrier"
max_attempts = 2
backoff = "1ms"
[[edge]]
from = "web"
to = "db"
stack = "twice"
)";

struct span_fields {
  std::string service;
  std::string name;
  std::string parent;
  int kind = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  bool good = false;
};

std::map<std::string, span_fields> spans_by_id(const json& all) {
  std::map<std::string, span_fields> out;
  for (const auto& r : all["resourceSpans"])
    for (const auto& scope : r["scopeSpans"])
      for (const auto& s : scope["spans"]) {
        EXPECT_EQ(s["traceId"].get<std::string>().size(), 32u);
        EXPECT_EQ(s["spanId"].get<std::string>().size(), 16u);
        auto [at, fresh] = out.try_emplace(s["traceId"].get<std::string>()
                                           + s["spanId"].get<std::string>());
        EXPECT_TRUE(fresh) << s;
        auto parent = s["parentSpanId"].get<std::string>();
        at->second = {r["resource"]["attributes"][0]["value"]["stringValue"],
                      s["name"],
                      parent.empty() ? ""
                                     : s["traceId"].get<std::string>() + parent,
                      s["kind"],
                      std::stoll(s["startTimeUnixNano"].get<std::string>()),
                      std::stoll(s["endTimeUnixNano"].get<std::string>()),
                      s["status"]["code"] == 1};
      }
  return out;
}

TEST_F(import_test, is_given_spans_by_a_run) {
  auto file = write("shop.toml", spans_shop);
  ASSERT_EQ(run({"run", file, "--spans", "-", "--trace-from", "1s",
                 "--trace-to", "2s"}),
            0)
    << err_.str();
  auto text = out_.str();
  auto spans = spans_by_id(json::parse(text));
  std::map<std::string, int> counts;
  std::set<std::string> traces;
  for (const auto& [id, s] : spans) {
    traces.insert(id.substr(0, 32));
    ++counts[s.service + "/" + s.name + " " + std::to_string(s.kind)
             + (s.good ? "" : " failed")];
    EXPECT_LE(s.start, s.end);
    if (s.parent.empty()) {
      EXPECT_EQ(s.service, "users");
      continue;
    }
    ASSERT_TRUE(spans.contains(s.parent)) << id;
    const auto& parent = spans[s.parent];
    EXPECT_GE(s.start, parent.start);
    // A client's call, what is done for it, and so on.
    EXPECT_EQ(s.kind + parent.kind, 5);
    EXPECT_EQ(s.service == parent.service, s.kind == 3);
  }
  EXPECT_GT(traces.size(), 40u);
  EXPECT_LT(traces.size(), 80u);
  EXPECT_EQ(counts.size(), 8u);
  for (auto name : {"users/home 3", "web/home 2", "web/db 3", "db/db 2"}) {
    EXPECT_GT(counts[name], 0) << name;
    EXPECT_GT(counts[name + std::string{" failed"}], 0) << name;
  }
  // The gate's retries: more attempts than calls.
  EXPECT_GT(counts["db/db 2"] + counts["db/db 2 failed"],
            counts["web/db 3"] + counts["web/db 3 failed"]);
  ASSERT_EQ(run({"run", file, "--spans", "-", "--trace-from", "1s",
                 "--trace-to", "2s", "--jobs", "2"}),
            0);
  EXPECT_EQ(out_.str(), text);
  auto path = write("spans.json", text);
  EXPECT_EQ(run({"import", path}), 0) << err_.str();
}

TEST_F(import_test, needs_something_to_trace_for_its_times) {
  EXPECT_EQ(run({"run", "a", "--trace-from", "1s"}), 2);
  EXPECT_EQ(err_.str(), "--trace-from: requires --trace or --spans"
                        "\nRun with --help for more information.\n");
}

} // namespace
} // namespace caisson::sim
