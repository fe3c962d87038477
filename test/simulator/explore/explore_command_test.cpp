// `caisson explore`.
#include <support/command_rig.hpp>
#include <support/scratch.hpp>

#include <simulator/command/cli.hpp>
#include <simulator/explore/fault_texts.hpp>
#include <simulator/play/command_parts.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;
using explore_strings = std::vector<std::string>;

// Long enough for a fault and a recovery, and quick to run.
constexpr auto sturdy_shop = R"(
title = "A shop"
seed = 7
length = "40s"
[service.web]
workers = 4
time = "5ms"
calls = ["db"]
[service.db]
workers = 2
time = "10ms"
[load.users]
rate = 20
target = "web"
timeout = "300ms"
)";

class explore_test : public testing::Test {
protected:
  explore_test() {
    parts_.stop = &stop_;
    parts_.play = [this](const arm_config& arm, const run_options& o) {
      auto r = run_arm(arm, o);
      std::lock_guard guard{mutex_};
      if (++played_ == stop_after_)
        stop_ = true;
      return r;
    };
    file_ = dir_.write("shop.toml", sturdy_shop).string();
    found_ = dir_ / "found";
  }

  int run(explore_strings args) {
    return test::run_command(args, out_, err_, parts_);
  }

  int explore(explore_strings more) {
    more.insert(more.begin(), {"explore", file_, "--out", found_.string()});
    return run(std::move(more));
  }

  void expect(const std::string& what) {
    file_ = dir_.write("shop.toml", sturdy_shop + ("[expect]\n" + what + "\n"))
              .string();
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (dir_ / name).string();
  }

  [[nodiscard]] nlohmann::json found_json(const std::string& name) const {
    return nlohmann::json::parse(test::text_of(dir_ / name));
  }

  test::scratch_dir dir_;
  std::string file_;
  std::filesystem::path found_;
  std::atomic<bool> stop_{false};
  std::size_t stop_after_ = 0;
  std::size_t played_ = 0;
  std::mutex mutex_;
  command_parts parts_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(explore_test, finds_nothing_where_nothing_is_wrong) {
  EXPECT_EQ(explore({"--runs", "20"}), 0) << out_.str() << err_.str();
  EXPECT_EQ(out_.str(), "A shop\n" + file_
                          + ": 1 arm, 20 runs with random faults from seed 7 "
                            "on, 3 faults at most in each\n\nnothing found in "
                            "21 runs: in each nothing was held at the end, "
                            "counts added up\n");
  EXPECT_EQ(played_, 21u);
  EXPECT_FALSE(std::filesystem::exists(found_));
}

TEST_F(explore_test, finds_a_fault_that_breaks_an_expectation) {
  expect("success_at_least = 0.95");
  ASSERT_EQ(explore({"--runs", "50"}), 1) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("1. arm default, seed "));
  EXPECT_THAT(out_.str(), HasSubstr("expected at least 0.95\n   faults: "));
  auto file = (found_ / "1.toml").string();
  EXPECT_THAT(out_.str(), HasSubstr("caisson run --verify " + file + "\n"));
  EXPECT_FALSE(std::filesystem::exists(found_ / "2.toml"));
  // One fault is enough.
  auto s = load_scenario(file);
  EXPECT_EQ(s.arms.at(0).faults.size(), 1u);
  EXPECT_THAT(test::text_of(file), StartsWith("# caisson explore "));
}

TEST_F(explore_test, writes_what_run_repeats) {
  expect("success_at_least = 0.95");
  ASSERT_EQ(explore({"--runs", "50", "--json", path("x.json")}), 1);
  auto file = (found_ / "1.toml").string();
  auto one = found_json("x.json")["findings"].at(0);
  EXPECT_EQ(one["repeats"], true);
  EXPECT_EQ(one["scenario"], file);
  EXPECT_EQ(one["rule"], "expect success from 0s to unlimited, 0.95 to inf");
  EXPECT_EQ(run({"run", file, "--verify", "--json", path("run.json")}), 1);
  EXPECT_THAT(out_.str(), HasSubstr(one["text"].get<std::string>()));
  EXPECT_EQ(found_json("run.json")["runs"][0]["arms"][0]["digest"],
            one["digest"]);
}

TEST_F(explore_test, finds_the_same_on_any_number_of_cores) {
  expect("success_at_least = 0.99\np99_at_most = \"100ms\"");
  ASSERT_EQ(explore({"--runs", "40", "--jobs", "1"}), 1);
  auto out = out_.str();
  auto file = test::text_of(found_ / "1.toml");
  ASSERT_EQ(explore({"--runs", "40", "--jobs", "3"}), 1);
  EXPECT_EQ(out_.str(), out);
  EXPECT_EQ(test::text_of(found_ / "1.toml"), file);
  EXPECT_THAT(out, HasSubstr("   also: latency.p99 is "));
}

TEST_F(explore_test, finds_what_is_wrong_without_any_fault) {
  expect("check = [{ metric = \"offered\", max = 10 }]");
  ASSERT_EQ(explore({"--runs", "5", "--findings", "1"}), 1);
  EXPECT_THAT(out_.str(), HasSubstr("faults: no fault\n"));
  EXPECT_EQ(load_scenario(found_ / "1.toml").arms.at(0).faults.size(), 0u);
}

TEST_F(explore_test, names_the_faults_of_the_file_if_no_further_one_is_needed) {
  auto own = std::string{sturdy_shop} + R"(
[[fault]]
kind = "errors"
target = "db"
at = "5s"
for = "3s"
rate = 1.0
)";
  file_ = dir_.write("shop.toml", own + "[expect]\nsuccess_at_least = 0.999\n")
            .string();
  ASSERT_EQ(explore({"--runs", "3", "--findings", "1"}), 1) << out_.str();
  EXPECT_THAT(out_.str(),
              HasSubstr("   no further fault; those of the file: db fails 100 "
                        "% of its requests, from 5s on for 3s\n"));
  EXPECT_THAT(test::text_of(found_ / "1.toml"),
              HasSubstr("# no further fault; those of the file: db fails"));
}

TEST_F(explore_test, says_what_was_searched) {
  expect("success_at_least = 0.5");
  ASSERT_EQ(explore({"--runs", "3", "--faults", "1", "--kind", "slow",
                     "--factor", "1.5", "--recovery"}),
            0)
    << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("counts added up, what the file expects "
                                    "held, and it recovered\n"));
}

TEST(fault_sentence, rounds_shares) {
  fault_config f{.kind = fault_kind::errors, .target = "db", .lasts = 1s};
  f.rate = 0.07; // 7.000000000000001 % in binary.
  EXPECT_THAT(to_sentence(f), HasSubstr("db fails 7 % of its requests"));
  f.kind = fault_kind::loss;
  f.from = {"web"};
  f.to = {"db"};
  f.rate = 0.145;
  EXPECT_THAT(to_sentence(f), StartsWith("14.5 % of the messages "));
}

TEST(added_faults_sentence, reports_at_most_three_faults_of_the_file) {
  fault_config f{
    .kind = fault_kind::crash, .target = "db", .at = 5s, .lasts = 1s};
  EXPECT_EQ(added_faults_sentence({}, {}), "faults: no fault");
  EXPECT_EQ(added_faults_sentence({f}, {}),
            "faults: db crashes, from 5s on for 1s");
  EXPECT_EQ(added_faults_sentence({f}, {f}),
            "further faults: db crashes, from 5s on for 1s");
  auto out = added_faults_sentence({}, {f, f, f, f, f});
  EXPECT_TRUE(out.ends_with("; and 2 more")) << out;
  EXPECT_TRUE(out.starts_with("no further fault; those of the file: db"));
}

TEST_F(explore_test, takes_a_run_that_does_not_recover_for_a_finding_if_asked) {
  // Retries that are worse than the load itself keep it down.
  auto text = std::string{sturdy_shop};
  text.replace(text.find("rate = 20"), 9, "rate = 150\nattempts = 5");
  file_ = dir_.write("shop.toml", text).string();
  explore_strings args{"--runs",   "8",  "--kind",     "stall",
                       "--target", "db", "--findings", "1"};
  EXPECT_EQ(explore(args), 0) << out_.str();
  args.emplace_back("--recovery");
  ASSERT_EQ(explore(args), 1) << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("it does not recover: it is "));
  EXPECT_EQ(run({"run", (found_ / "1.toml").string(), "--quiet"}), 1);
  EXPECT_THAT(out_.str(), HasSubstr("expected recovered"));
}

TEST_F(explore_test, keeps_what_it_found_when_it_is_interrupted) {
  expect("check = [{ metric = \"offered\", max = 10 }]");
  // After run 0, its shrinking and its file.
  stop_after_ = 8;
  EXPECT_EQ(explore({"--runs", "1000", "--jobs", "1"}), 130);
  EXPECT_THAT(out_.str(), HasSubstr("1. arm default, seed 7: offered is"));
  EXPECT_THAT(err_.str(), HasSubstr("interrupted"));
  EXPECT_TRUE(std::filesystem::exists(found_ / "1.toml"));
}

TEST_F(explore_test, maps_what_is_survived) {
  ASSERT_EQ(run({"explore", file_, "--map", "--kind", "crash,slow", "--target",
                 "db", "--longest", "5s", "--json", path("map.json")}),
            0)
    << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("arm default\n"));
  EXPECT_THAT(out_.str(), HasSubstr("    slow  crash\n"));
  EXPECT_THAT(out_.str(), HasSubstr("5s+"));
  auto all = found_json("map.json")["arms"][0]["faults"];
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1]["kind"], "crash");
  EXPECT_EQ(all[1]["survived"], 5);
  EXPECT_EQ(all[1]["fatal"], nullptr);
}

TEST_F(explore_test, reports_what_is_wrong_with_its_options) {
  struct row {
    explore_strings args;
    std::string text;
  };
  const row rows[] = {
    {{"--runs", "0"}, "--runs: \"0\" is not an integer from 1 to 1000000"},
    {{"--faults", "21"}, "--faults: \"21\" is not an integer from 1 to 20"},
    {{"--kind", "crush"}, "--kind: \"crush\" is not one of"},
    {{"--kind", "crash,"}, "--kind: a name is empty"},
    {{"--target", "nobody"}, "--target: \"nobody\" is not one of"},
    {{"--from", "soon"}, "--from: \"soon\" is not a time from 0s"},
    {{"--from", "40s"}, "--from: is after the end of the load"},
    {{"--to", "1h"}, "--to: is after the end of the load"},
    {{"--longest", "0s"}, "--longest: \"0s\" is not a time"},
    {{"--factor", "1"}, "--factor: \"1\" is not a number from 1.5"},
    {{"--rate", "1.5"}, "--rate: \"1.5\" is not a number from 0.01 to 1"},
    {{"--delay", "1us"}, "--delay: \"1us\" is not a time from 1ms"},
    {{"--factor", "inf"}, "--factor: \"inf\" is not a number from 1.5"},
    {{"--factor", "nan"}, "--factor: \"nan\" is not a number from 1.5"},
    {{"--rate", "nan"}, "--rate: \"nan\" is not a number from 0.01 to 1"},
    {{"--rate", "-inf"}, "--rate: \"-inf\" is not a number from 0.01 to 1"},
    {{"--kind", "crash", "--factor", "3"},
     "--factor: does not apply to these kinds, only to: slow\n"},
    {{"--kind", "crash,slow", "--rate", "0.5"},
     "--rate: does not apply to these kinds, only to: errors, loss\n"},
    {{"--kind", "crash", "--delay", "1s"},
     "--delay: does not apply to these kinds, only to: delay\n"},
    {{"--kind", "flush", "--longest", "1s"},
     "--longest: does not apply to these kinds, only to: slow, errors, "
     "stall, crash, capacity, partition, loss, delay\n"},
    {{"--map", "--runs", "5"}, "--runs: cannot be combined with --map"},
    {{"--map", "--faults", "5"}, "--faults: cannot be combined with --map"},
    {{"--map", "--recovery"}, "--recovery: cannot be combined with --map"},
    {{"--map", "--findings", "5"}, "--findings: cannot be combined with --map"},
    {{"--map", "--shrink", "5"}, "--shrink: cannot be combined with --map"},
    {{"--map", "--out", "d"}, "--out: cannot be combined with --map"},
    {{"--findings", "0"}, "--findings"},
    {{"--shrink", "-1"}, "--shrink"},
    {{"--arm", "other"}, "--arm: \"other\""},
    {{"--seed", "9223372036854775800"}, "--seed: the seeds of 100 runs"},
    {{"--json", file_}, "--json"},
    {{"--out", file_}, "--out"},
    {{"--json", path("d/2.toml"), "--out", path("d")},
     "--out: " + path("d/2.toml") + " is the same file as that of --json"},
  };
  for (const auto& x : rows) {
    auto args = x.args;
    args.insert(args.begin(), {"explore", file_});
    EXPECT_EQ(run(args), 2) << x.text;
    EXPECT_THAT(err_.str(), HasSubstr(x.text));
  }
  // Nor is the scenario replaced by a finding.
  std::filesystem::create_directory(path("found"));
  std::filesystem::create_symlink(file_, path("found/1.toml"));
  EXPECT_EQ(run({"explore", file_, "--out", path("found")}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("is the same file as that of FILE"));
  EXPECT_EQ(played_, 0u);
  EXPECT_EQ(run({"explore", path("none.toml")}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("cannot be read"));
}

} // namespace
} // namespace caisson::sim
