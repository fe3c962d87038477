// `caisson sweep`.
#include <support/command_rig.hpp>
#include <support/scratch.hpp>
#include <support/sim_results.hpp>

#include <simulator/command/cli.hpp>
#include <simulator/play/command_parts.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {
namespace {

using json = nlohmann::ordered_json;
using strings = std::vector<std::string>;

constexpr auto swept_shop = R"(
title = "A <b>shop</b>"
seed = 7
length = "3s"
[service.web]
workers = 2
time = { kind = "exponential", mean = "20ms" }
[load.users]
rate = 60
target = "web"
timeout = "200ms"
[arm.wide]
[arm.short]
service.web.queue = 3
)";

class sweep_test : public testing::Test {
protected:
  sweep_test() {
    file_ = dir_.write("shop.toml", swept_shop).string();
    parts_.version = "1.2.3";
    parts_.stop = &stop_;
    // Really run, and counted.
    parts_.play = [this](const arm_config& arm, const run_options& o) {
      auto r = run_arm(arm, o);
      std::lock_guard guard{mutex_};
      played_.push_back(arm.name + " " + std::to_string(arm.services[0].servers)
                        + " " + std::to_string(o.seed));
      if (played_.size() == stop_after_)
        stop_ = true;
      return r;
    };
  }

  int run(strings more) {
    more.insert(more.begin(), {"sweep", file_});
    played_.clear();
    return test::run_command(more, out_, err_, parts_);
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (dir_ / name).string();
  }

  [[nodiscard]] std::string text_of(const std::string& name) const {
    std::ifstream in{dir_ / name};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  test::scratch_dir dir_;
  std::string file_;
  std::atomic<bool> stop_{false};
  std::size_t stop_after_ = 0;
  command_parts parts_;
  std::ostringstream out_;
  std::ostringstream err_;
  std::mutex mutex_;
  strings played_;
};

const strings servers{"--set", "service.web.workers=1..3"};

strings with(strings a, const strings& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// -- what is run -----------------------------------------------------------

TEST_F(sweep_test, runs_all_combinations) {
  ASSERT_EQ(run({"--set", "service.web.workers=1..2", "--set",
                 "load.users.rate=30,60", "--seeds", "2", "--jobs", "1"}),
            0)
    << err_.str();
  EXPECT_EQ(played_,
            (strings{"wide 1 7", "short 1 7", "wide 1 8", "short 1 8",
                     "wide 1 7", "short 1 7", "wide 1 8", "short 1 8",
                     "wide 2 7", "short 2 7", "wide 2 8", "short 2 8",
                     "wide 2 7", "short 2 7", "wide 2 8", "short 2 8"}));
  EXPECT_EQ(err_.str(), "");
}

TEST_F(sweep_test, prints_a_table) {
  ASSERT_EQ(run({"--set", "service.web.workers=1,9", "--metric", "offered,p99",
                 "--metric", "success"}),
            0);
  std::istringstream in{out_.str()};
  std::string line;
  strings lines;
  while (std::getline(in, line))
    lines.push_back(line);
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_EQ(lines[0], "A <b>shop</b>");
  EXPECT_EQ(lines[1], file_ + ": 2 settings, 2 arms, seed 7: 4 runs");
  EXPECT_TRUE(lines[3].starts_with("workers  arm    verdict"));
  EXPECT_TRUE(lines[3].ends_with("offered  latency.p99   success")) << lines[3];
  EXPECT_TRUE(lines[4].starts_with("      1  wide "));
  EXPECT_TRUE(lines[7].starts_with("      9  short  no fault"));
  EXPECT_TRUE(lines[7].ends_with("100.00 %"));
}

TEST_F(sweep_test, has_the_numbers_of_single_runs) {
  ASSERT_EQ(run(with(servers, {"--metric", "goodput,service.web.utilization",
                               "--json", "-"})),
            0);
  auto all = json::parse(out_.str());
  ASSERT_EQ(all["runs"].size(), 6u);
  for (const auto& r : all["runs"]) {
    auto text = std::string{swept_shop};
    auto n = r["settings"]["service.web.workers"].get<int>();
    text.replace(text.find("workers = 2"), 11,
                 "workers = " + std::to_string(n));
    auto s = parse_scenario(text, "x");
    run_options o;
    o.seed = 7;
    auto result = run_arm(s.arms[r["arm"] == "wide" ? 0 : 1], o);
    EXPECT_EQ(r["seed"], 7);
    EXPECT_EQ(r["verdict"], verdict_name(result.verdict));
    EXPECT_EQ(r["metrics"]["goodput"],
              static_cast<double>(result.totals.good) / 3);
    EXPECT_EQ(r["metrics"]["service.web.utilization"],
              result.services[0].utilization);
  }
}

TEST_F(sweep_test, is_the_same_on_any_number_of_cores) {
  auto outputs = [&](const char* jobs) {
    EXPECT_EQ(
      run(with(servers, {"--seeds", "4", "--jobs", jobs, "--json", path("j"),
                         "--csv", path("c"), "--html", path("h"), "--state",
                         path(std::string{"state"} + jobs)})),
      0);
    EXPECT_EQ(played_.size(), 24u);
    return out_.str() + text_of("j") + text_of("c") + text_of("h");
  };
  auto alone = outputs("1");
  EXPECT_EQ(outputs("2"), alone);
  EXPECT_EQ(outputs("7"), alone);
}

TEST_F(sweep_test, takes_the_table_of_the_file) {
  file_ = dir_
            .write("swept.toml", std::string{swept_shop} + R"(
[sweep]
seeds = 2
metrics = ["p50"]
[sweep.set]
"service.web.workers" = [1, 4]
"load.users.rate" = "10..20/10"
)")
            .string();
  ASSERT_EQ(run({"--json", "-"}), 0) << err_.str();
  auto all = json::parse(out_.str());
  EXPECT_EQ(all["parameters"][0]["values"], (json{1, 4}));
  EXPECT_EQ(all["parameters"][1]["values"], (json{10, 20}));
  EXPECT_EQ(all["metrics"], (json{"latency.p50"}));
  EXPECT_EQ(all["runs"].size(), 16u);
  ASSERT_EQ(run({"--json", "-", "--seeds", "1", "--arm", "wide", "--set",
                 "load.users.rate=5", "--metric", "good"}),
            0);
  all = json::parse(out_.str());
  EXPECT_EQ(all["parameters"][1]["values"], (json{5}));
  EXPECT_EQ(all["runs"].size(), 2u);
  EXPECT_EQ(all["metrics"], (json{"good"}));
}

TEST_F(sweep_test, says_which_arms_it_does_not_change) {
  ASSERT_EQ(run({"--set", "service.web.queue=1,2"}), 0);
  EXPECT_EQ(err_.str(), "caisson: warning: service.web.queue does not change "
                        "arm short, which sets that itself\n");
  ASSERT_EQ(run({"--set", "arm.short.service.web.queue=1,2"}), 0);
  EXPECT_EQ(err_.str(), "");
}

TEST_F(sweep_test, says_which_settings_are_in_arms_that_are_not_run) {
  ASSERT_EQ(run({"--set", "arm.short.service.web.queue=1,2", "--arm", "wide"}),
            0);
  EXPECT_EQ(err_.str(), "caisson: warning: arm.short.service.web.queue changes "
                        "nothing, as arm short is not run\n");
}

TEST_F(sweep_test, takes_a_metric_that_only_some_combinations_have) {
  for (std::string replicas : {"1,2", "2,1"}) {
    ASSERT_EQ(run({"--set", "service.web.replicas=" + replicas, "--set",
                   "load.users.rate=30,60", "--metric",
                   "service.web#2.arrivals", "--csv", "-", "--arm", "wide"}),
              0)
      << err_.str();
    EXPECT_EQ(played_.size(), 4u);
  }
  EXPECT_EQ(run({"--set", "service.web.replicas=1,2", "--metric",
                 "service.web#3.arrivals"}),
            2);
  EXPECT_TRUE(err_.str().starts_with("--metric: service.web#3.arrivals: "))
    << err_.str();
}

// -- what is kept -------------------------------------------------------------

TEST_F(sweep_test, runs_nothing_twice) {
  auto args = with(servers, {"--seeds", "2", "--state", path("s")});
  ASSERT_EQ(run(args), 0);
  auto first = out_.str();
  EXPECT_EQ(played_.size(), 12u);
  ASSERT_EQ(run(args), 0);
  EXPECT_EQ(out_.str(), first);
  EXPECT_EQ(played_, strings{});
  EXPECT_EQ(err_.str(), "caisson: 12 of 12 runs were stored already, in "
                          + path("s") + "\n");
  // A larger grid, with other numbers.
  ASSERT_EQ(run({"--set", "service.web.workers=1..4", "--seeds", "3", "--state",
                 path("s"), "--metric", "p50,good"}),
            0);
  EXPECT_EQ(played_.size(), 12u);
  // Numbers that were not kept.
  ASSERT_EQ(run(with(args, {"--metric", "service.web.late"})), 0);
  EXPECT_EQ(played_.size(), 12u);
}

TEST_F(sweep_test, keeps_results_beside_the_first_output) {
  ASSERT_EQ(run(with(servers, {"--csv", path("a.csv"), "--html", "-"})), 0);
  EXPECT_TRUE(std::filesystem::exists(path("a.csv.state")));
  ASSERT_EQ(run(servers), 0);
  EXPECT_EQ(played_.size(), 6u) << "nothing is kept";
}

TEST_F(sweep_test, repeats_what_has_changed) {
  auto args = with(servers, {"--state", path("s")});
  ASSERT_EQ(run(args), 0);
  auto plays = [&](const std::string& text) {
    file_ = dir_.write("shop.toml", text).string();
    EXPECT_EQ(run(args), 0);
    return played_.size();
  };
  auto text = std::string{swept_shop};
  EXPECT_EQ(plays("# A comment.\n" + text), 0u);
  EXPECT_EQ(plays(text + "expect.success_at_least = 0.5\n"), 0u)
    << "a bound of the last arm";
  EXPECT_EQ(plays(text + "service.web.abandoned = 'skip'\n"), 3u)
    << "only the last arm differs";
  auto longer = text;
  longer.replace(longer.find("3s"), 2, "4s");
  EXPECT_EQ(plays(longer), 6u);
  parts_.version = "1.2.4";
  EXPECT_EQ(plays(text), 6u);
  ASSERT_EQ(run(with(args, {"--seed", "8"})), 0);
  EXPECT_EQ(played_.size(), 6u);
}

TEST_F(sweep_test, repeats_runs_with_another_recording) {
  dir_.write("trace.csv", "t,n\n0,50\n1,60\n");
  auto text = std::string{swept_shop};
  text.replace(text.find("rate = 60"), 9,
               "trace = { file = 'trace.csv', format = 'counts' }");
  file_ = dir_.write("shop.toml", text).string();
  auto args = with(servers, {"--state", path("s")});
  ASSERT_EQ(run(args), 0) << err_.str();
  EXPECT_EQ(played_.size(), 6u);
  ASSERT_EQ(run(args), 0);
  EXPECT_EQ(played_.size(), 0u);
  dir_.write("trace.csv", "t,n\n0,50\n1,61\n");
  ASSERT_EQ(run(args), 0);
  EXPECT_EQ(played_.size(), 6u);
}

// Ctrl-C, or the end of the process, at any run: the same comes out.
TEST_F(sweep_test, goes_on_where_it_was_interrupted) {
  auto args = with(servers, {"--seeds", "2", "--jobs", "2"});
  auto with_outputs = [&](const std::string& to) {
    return with(args, {"--json", path(to + ".json"), "--csv", path(to + ".csv"),
                       "--html", path(to + ".html")});
  };
  ASSERT_EQ(run(with_outputs("whole")), 0);
  auto table = out_.str();
  for (std::size_t n : {1u, 4u, 9u}) {
    auto name = "part" + std::to_string(n);
    stop_after_ = n;
    EXPECT_EQ(run(with_outputs(name)), 130);
    EXPECT_NE(err_.str().find("caisson: interrupted: "), std::string::npos);
    EXPECT_NE(err_.str().find("the same command continues from there"),
              std::string::npos);
    auto part = json::parse(text_of(name + ".json"));
    EXPECT_EQ(part["interrupted"], true);
    EXPECT_LT(part["runs"].size(), 12u);
    EXPECT_GE(part["runs"].size(), n);
    stop_ = false;
    stop_after_ = 0;
    ASSERT_EQ(run(with_outputs(name)), 0);
    EXPECT_LE(played_.size(), 12u - n);
    EXPECT_EQ(out_.str(), table);
    EXPECT_EQ(text_of(name + ".json"), text_of("whole.json"));
    EXPECT_EQ(text_of(name + ".csv"), text_of("whole.csv"));
    EXPECT_EQ(text_of(name + ".html"), text_of("whole.html"));
  }
}

TEST_F(sweep_test, does_not_keep_what_failed_a_check) {
  parts_.play = [](const arm_config& arm, const run_options& o) {
    auto r = small_result();
    r.name = arm.name;
    r.seed = o.seed;
    r.answered_twice = arm.services[0].servers == 2;
    return r;
  };
  auto args = with(servers, {"--state", path("s"), "--arm", "wide"});
  EXPECT_EQ(run(args), 1);
  EXPECT_EQ(err_.str(), "failed: workers=2: arm wide: 1 request was answered "
                        "more than once\n");
  EXPECT_EQ(run(args), 1);
  EXPECT_NE(err_.str().find("2 of 3 runs were stored already"),
            std::string::npos);
}

// -- bad input ----------------------------------------------------------------

struct bad_case {
  strings args;
  std::string message;
};

TEST_F(sweep_test, refuses_bad_input_before_it_runs) {
  const bad_case cases[] = {
    {{},
     "--set: nothing is swept: give --set PATH=VALUES, or a table "
     "[sweep.set] in the file"},
    {{"--set", "service.wep.workers=1"},
     "--set: service.wep: \"wep\" is not one of: web"},
    {{"--set", "service.web.worker=1,2"},
     "--set: service.web.worker: unknown key, did you mean \"workers\"?"},
    {{"--set", "service.web.workers=2,1,0"},
     "--set: service.web.workers: 0 is out of range, allowed: 1 to 1000000, or "
     "\"unlimited\""},
    {{"--set", "service.web.workers=fast"},
     "--set: service.web.workers: \"fast\" "},
    {{"--set", "service.web.workers=3..1"},
     "--set: service.web.workers: \"3..1\" ends before it begins"},
    {{"--set", "service.web.workers=1", "--set", "service.web.workers=2"},
     "--set: service.web.workers: is given more than once"},
    {{"--set", "service.web=4", "--set", "service.web.workers=1"},
     "--set: service.web.workers: cannot be set together with service.web, "
     "which leaves no place for it"},
    {{"--set", "service.web.workers=1", "--set", "service.web={}"},
     "--set: service.web: replaces all of it, so service.web.workers would "
     "change nothing"},
    {{"--set", "load=1", "--set", "load.users.rate=1"},
     "--set: load.users.rate: cannot be set together with load, which leaves "
     "no place for it"},
    {{"--set", "service.web.workers=1", "--metric", "goodputt"},
     "--metric: goodputt: metric \"goodputt\" is not one of: success"},
    {{"--set", "service.web.workers=1", "--metric", "good,,p99"},
     "--metric: a name is empty"},
    {{"--set", "service.web.workers=1", "--arm", "tall"},
     file_ + ": --arm: \"tall\" is not one of: wide, short"},
    {{"--set", "service.web.workers=1", "--seeds", "0"},
     "--seeds: \"0\" is not an integer from 1 to 100000"},
    {{"--set", "service.web.workers=1..9999", "--set", "load.users.rate=1..2"},
     "--set: there are more than 10,000 combinations of values"},
    {{"--set", "service.web.workers=1..1000", "--seeds", "1000"},
     "--seeds: 1,000 combinations with 2 arms and 1,000 seeds are more than "
     "200,000 runs"},
    {{"--set", "service.web.workers=1", "--json", file_},
     "--json: " + file_ + " is the same file as that of FILE"},
    {{"--set", "service.web.workers=1", "--state", file_ + "/x"},
     file_ + "/x: cannot be written: "},
    {{"--set", "service.web.workers=1", "--json", path("no/x")},
     path("no/x") + ": cannot be written: "},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(run(c.args), 2) << c.message;
    EXPECT_EQ(err_.str().substr(0, c.message.size()), c.message);
    EXPECT_EQ(out_.str(), "");
    EXPECT_EQ(played_, strings{});
  }
}

TEST_F(sweep_test, says_what_is_wrong_with_the_file) {
  file_ = dir_
            .write("bad.toml", "length = \"1s\"\nwidth = 1979-05-27\n"
                               "[service.web]\nworker = 1\n")
            .string();
  EXPECT_EQ(run(servers), 2);
  EXPECT_NE(err_.str().find("service.web.worker: unknown key"),
            std::string::npos);
  file_ = path("none.toml");
  EXPECT_EQ(run(servers), 2);
  EXPECT_NE(err_.str().find("none.toml"), std::string::npos);
}

// -- files --------------------------------------------------------------------

TEST_F(sweep_test, writes_a_row_per_run) {
  ASSERT_EQ(
    run({"--set", "load.users.target=web", "--set",
         "service.web.time=\"1ms\",{ kind = \"uniform\", min = \"1ms\", "
         "max = \"2ms\" }",
         "--metric", "offered,recovery", "--arm", "wide", "--csv", "-"}),
    0)
    << err_.str();
  std::istringstream in{out_.str()};
  std::string head, first, second, end;
  std::getline(in, head);
  std::getline(in, first);
  std::getline(in, second);
  EXPECT_EQ(head, "load.users.target,service.web.time,arm,seed,verdict,"
                  "offered,recovery");
  EXPECT_TRUE(first.starts_with("web,1ms,wide,7,no fault,")) << first;
  EXPECT_TRUE(first.ends_with(",0")) << first;
  EXPECT_TRUE(second.starts_with(
    "web,\"{kind = \"\"uniform\"\", min = \"\"1ms\"\", max = \"\"2ms\"\"}\","
    "wide,7,no fault,"))
    << second;
  EXPECT_FALSE(std::getline(in, end));
}

TEST_F(sweep_test, writes_a_page) {
  ASSERT_EQ(run(with(servers, {"--seeds", "3", "--html", "-", "--metric",
                               "success,p99"})),
            0);
  auto page = out_.str();
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_NE(page.find("<title>A &lt;b&gt;shop&lt;/b&gt;</title>"),
            std::string::npos);
  EXPECT_EQ(page.find("http://") + 1, page.find("http://www.w3.org") + 1)
    << "nothing is asked for from elsewhere";
  std::string begin = "<script id=\"data\" type=\"application/json\">";
  auto from = page.find(begin) + begin.size();
  auto data = json::parse(
    page.substr(from, page.find("</script", from) - from));
  EXPECT_EQ(data["parameters"][0]["numbers"], (json{1, 2, 3}));
  EXPECT_EQ(data["metrics"][1],
            (json{{"name", "latency.p99"}, {"unit", "time"}, {"more", false}}));
  EXPECT_EQ(data["scenario"], swept_shop);
  ASSERT_EQ(run(with(servers, {"--seeds", "3", "--json", "-", "--metric",
                               "success,p99"})),
            0);
  auto all = json::parse(out_.str());
  for (std::size_t point = 0; point < 3; ++point)
    for (std::size_t arm = 0; arm < 2; ++arm) {
      const auto& s = all["summaries"][point * 2 + arm];
      const auto& cell = data["results"][point][arm];
      EXPECT_EQ(cell[1][0][1], s["metrics"]["success"]["median"]);
      EXPECT_EQ(cell[1][1][2], s["metrics"]["latency.p99"]["max"]);
      EXPECT_EQ(cell[0][3], s["verdicts"]["no fault"]);
    }
}

} // namespace
} // namespace caisson::sim
