// `caisson run --rows` and `--no-rows`.
#include <support/command_rig.hpp>
#include <support/scratch.hpp>

#include <simulator/command/cli.hpp>
#include <simulator/play/command_parts.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using json = nlohmann::ordered_json;
using strings = std::vector<std::string>;

constexpr auto rows_world = R"(length = "12s"
[service.web]
workers = 2
time = { kind = "exponential", mean = "20ms" }
[load.users]
rate = 60
target = "web"
timeout = "200ms"
[[fault]]
kind = "slow"
target = "web"
at = "4s"
for = "3s"
[arm.wide]
[arm.short]
service.web.queue = 3
)";

class rows_command : public testing::Test {
protected:
  rows_command() {
    parts_.play = [this](const arm_config& arm, const run_options& o) {
      std::lock_guard guard{mutex_};
      steps_.push_back(o.step);
      return run_arm(arm, o);
    };
  }

  // With `head` at the top of the file.
  int run(strings more, const std::string& head = {}) {
    auto file = dir_.write("rows.toml", head + rows_world).string();
    more.insert(more.begin(), {command_, file});
    steps_.clear();
    return test::run_command(more, out_, err_, parts_);
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (dir_ / name).string();
  }

  [[nodiscard]] std::string text_of(const std::string& name) const {
    std::ifstream in{dir_ / name};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  // The column `second` of the first arm.
  [[nodiscard]] strings seconds_in(const std::string& name) const {
    std::ifstream in{dir_ / name};
    strings out;
    for (std::string line; std::getline(in, line);)
      if (line.starts_with("1,wide,"))
        out.push_back(line.substr(7, line.find(',', 7) - 7));
    return out;
  }

  test::scratch_dir dir_;
  std::string command_ = "run";
  command_parts parts_;
  std::ostringstream out_;
  std::ostringstream err_;
  std::mutex mutex_;
  std::vector<std::uint32_t> steps_;
};

TEST_F(rows_command, takes_the_step_from_the_option_or_the_file) {
  auto csv = path("out.csv");
  EXPECT_EQ(run({"--csv", csv}), 0);
  EXPECT_EQ(seconds_in("out.csv").size(), 13u);
  EXPECT_EQ(out_.str().find("rows of"), std::string::npos);
  EXPECT_EQ(run({"--csv", csv}, "rows = \"5s\"\n"), 0);
  EXPECT_EQ(seconds_in("out.csv"), (strings{"0", "5", "10"}));
  EXPECT_NE(out_.str().find(": 12 s, rows of 5 s, seed 1, arms: wide, short"),
            std::string::npos)
    << out_.str();
  EXPECT_EQ(run({"--csv", csv, "--rows", "4s"}, "rows = \"5s\"\n"), 0);
  EXPECT_EQ(seconds_in("out.csv"), (strings{"0", "4", "8", "12"}));
  EXPECT_EQ(run({"--csv", csv, "--rows", "1h"}), 0);
  EXPECT_EQ(seconds_in("out.csv"), strings{"0"});
}

// The arms of a file have the same, also if one is run alone.
TEST_F(rows_command, chooses_a_step_for_long_runs) {
  auto head = std::string{"drain = \"6h\"\n"};
  EXPECT_EQ(run({"--json", path("a.json")}, head), 0);
  auto all = json::parse(text_of("a.json"))["runs"][0]["arms"];
  EXPECT_EQ(all[0]["step"], 5);
  EXPECT_EQ(all[0]["seconds"][1]["second"], 5);
  EXPECT_EQ(steps_, (std::vector<std::uint32_t>{5, 5}));
  auto longer = std::string{"[arm.long]\ndrain = \"6h\"\n"};
  auto file = dir_.write("long.toml", std::string{rows_world} + longer)
                .string();
  strings args{"caisson", "run", file, "--arm", "wide", "--csv", path("a.csv")};
  std::vector<const char*> texts;
  for (const auto& arg : args)
    texts.push_back(arg.c_str());
  EXPECT_EQ(command_main(7, texts.data(), out_, err_, parts_), 0) << err_.str();
  EXPECT_EQ(seconds_in("a.csv"), (strings{"0", "5", "10"}));
}

TEST_F(rows_command, makes_no_rows_that_nobody_sees) {
  EXPECT_EQ(run({"--rows", "2s"}), 0);
  EXPECT_EQ(steps_, (std::vector<std::uint32_t>{one_row, one_row}));
  EXPECT_EQ(out_.str().find("rows of"), std::string::npos);
  auto plain = out_.str().substr(0, out_.str().find("-- speed"));
  EXPECT_EQ(run({"--json", path("a.json"), "--no-rows"}), 0);
  EXPECT_EQ(steps_, (std::vector<std::uint32_t>{one_row, one_row}));
  EXPECT_EQ(out_.str().substr(0, plain.size()), plain);
  EXPECT_EQ(run({"--html", path("a.html"), "--seeds", "2"}), 0);
  EXPECT_EQ(std::ranges::count(steps_, one_row), 2);
}

TEST_F(rows_command, leaves_rows_out_of_json_and_nothing_else) {
  EXPECT_EQ(run({"--json", path("all.json"), "--seeds", "2"}), 0);
  EXPECT_EQ(run({"--json", path("totals.json"), "--seeds", "2", "--no-rows",
                 "--csv", path("rows.csv")}),
            0);
  auto whole = text_of("all.json");
  // Without the member `step` and what follows of an arm.
  std::string expected;
  for (std::size_t at = 0;;) {
    auto step = whole.find(",\n     \"step\": ", at);
    expected += whole.substr(at, step - at);
    if (step == std::string::npos)
      break;
    at = whole.find("\n    }", step);
  }
  EXPECT_EQ(text_of("totals.json"), expected);
  EXPECT_LT(expected.size(), whole.size() / 3);
  EXPECT_FALSE(seconds_in("rows.csv").empty());
  auto arms = json::parse(whole)["runs"][1]["arms"];
  ASSERT_EQ(arms.size(), 2u);
  EXPECT_GT(arms[0].erase("seconds"), 0u);
  EXPECT_GT(arms[0].erase("step"), 0u);
  EXPECT_EQ(json::parse(expected)["runs"][1]["arms"][0], arms[0]);
}

TEST_F(rows_command, refuses_steps_that_are_none) {
  for (std::string text : {"0s", "1.5s", "101h", "soon", "7", "-3s"}) {
    EXPECT_EQ(run({"--rows", text}), 2);
    EXPECT_NE(err_.str().find("--rows: \"" + text
                              + "\" is not a time such as 10s or 1min, "
                                "allowed: whole seconds from 1s to 100h"),
              std::string::npos)
      << err_.str();
  }
  EXPECT_EQ(run({"--rows", ""}), 2);
  EXPECT_NE(err_.str().find("--rows: the value is empty"), std::string::npos);
  EXPECT_EQ(run({"--no-rows"}), 2);
  EXPECT_NE(err_.str().find("--no-rows: requires --json"), std::string::npos);
  EXPECT_EQ(run({"--csv", "a.csv", "--no-rows"}), 2);
}

TEST_F(rows_command, refuses_steps_in_files_that_are_none) {
  EXPECT_EQ(run({}, "rows = \"1500ms\"\n"), 2);
  EXPECT_NE(err_.str().find("rows.toml:1:8: rows: \"1500ms\" is out of range, "
                            "allowed: whole seconds from 1s to 100h"),
            std::string::npos)
    << err_.str();
  for (auto text : {"rows = 5\n", "rows = \"soon\"\n", "rows = [\"1s\"]\n"}) {
    EXPECT_EQ(run({}, text), 2);
    EXPECT_NE(err_.str().find("is not a duration, allowed: whole seconds"),
              std::string::npos)
      << err_.str();
  }
  EXPECT_EQ(run({}, "arm.wide.rows = \"5s\"\n"), 2);
}

TEST_F(rows_command, says_how_to_make_the_page_again) {
  EXPECT_EQ(run({"--html", path("a.html"), "--rows", "1min"}), 0);
  EXPECT_NE(text_of("a.html").find("--seed 1 --rows 60s --html"),
            std::string::npos);
}

// Nothing is run again for another step.
TEST_F(rows_command, makes_no_difference_to_a_sweep) {
  command_ = "sweep";
  strings args{"--set", "service.web.workers=2,3", "--state", path("kept")};
  EXPECT_EQ(run(args), 0);
  EXPECT_EQ(steps_, (std::vector<std::uint32_t>(4, one_row)));
  auto table = out_.str();
  EXPECT_EQ(run(args, "rows = \"5s\"\n"), 0);
  EXPECT_EQ(steps_.size(), 0u);
  EXPECT_EQ(out_.str(), table);
}

} // namespace
} // namespace caisson::sim
