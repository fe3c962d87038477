// The command, with runs that are made by hand.
#include <support/sim_results.hpp>

#include <support/scratch.hpp>

#include <simulator/command/cli.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

class command : public testing::Test {
protected:
  command() {
    parts.version = "1.2.3";
    parts.stop = &stop;
    parts.load = [this](const std::filesystem::path&) { return world; };
    parts.play = [this](const arm_config& arm, const run_options& options) {
      return play(arm, options);
    };
    for (std::string name : {"naive", "caisson"}) {
      world.arms.push_back(small_arm());
      world.arms.back().name = name;
    }
  }

  arm_result play(const arm_config& arm, const run_options& options) {
    played.push_back(arm.name + " " + std::to_string(options.seed));
    options.progress(0.5);
    if (options.log)
      options.log("a line");
    auto r = small_result();
    r.name = arm.name;
    r.seed = options.seed;
    if (played.back() == stopping) {
      stop = true;
      r.interrupted = true;
      r.length = 1s;
    }
    return r;
  }

  int run(std::vector<const char*> args) {
    args.insert(args.begin(), "caisson");
    out.str("");
    err.str("");
    played.clear();
    return command_main(static_cast<int>(args.size()), args.data(), out, err,
                        parts);
  }

  scenario world;
  std::atomic<bool> stop{false};
  // The run that is interrupted.
  std::string stopping;
  command_parts parts;
  std::ostringstream out;
  std::ostringstream err;
  std::vector<std::string> played;
};

using strings = std::vector<std::string>;

// -- usage --------------------------------------------------------------------

TEST_F(command, says_its_version_and_helps) {
  EXPECT_EQ(run({"--version"}), 0);
  EXPECT_EQ(out.str(), "caisson 1.2.3\n");
  for (std::vector<const char*> args : {std::vector{"--help"},
                                        {"run", "--help"},
                                        {"check", "--help"},
                                        {"sweep", "--help"},
                                        {"worker", "--help"},
                                        {"tune", "--help"},
                                        {"import", "--help"}}) {
    EXPECT_EQ(run(args), 0);
    EXPECT_NE(out.str().find("Example"), std::string::npos) << args[0];
    EXPECT_EQ(err.str(), "");
  }
}

struct usage_case {
  std::vector<const char*> args;
  std::string message;
};

TEST_F(command, refuses_bad_usage) {
  const usage_case cases[] = {
    {{}, "A subcommand is required"},
    {{"play"},
     "caisson: \"play\" is not one of: run, check, sweep, worker, explore, "
     "tune, import, ctl, top"},
    {{"run"}, "FILE is required"},
    {{"check"}, "FILE is required"},
    {{"sweep"}, "FILE is required"},
    {{"tune"}, "FILE is required"},
    {{"tune", "a", "--vary", ""}, "--vary: the value is empty"},
    {{"import"}, "FILE is required"},
    {{"import", "a", "--sampling", "0"},
     "--sampling: \"0\" is not a number from 1e-06 to 1"},
    {{"import", "a", "--times", "long"},
     "--times: \"long\" is not one of: best, fitted, empirical"},
    {{"import", "a", "--format", "zipkin"},
     "--format: \"zipkin\" is not one of: auto, otlp, jaeger"},
    {{"import", "a", "b", "--out", "./b"},
     "--out: ./b is the same file as that of FILE"},
    {{"run", "a", "--spans", "b", "--trace", "./b"},
     "--spans: b is the same file as that of --trace"},
    {{"run", "a", "--trace", ""}, "--trace: the value is empty"},
    {{"sweep", "a", "--set", ""}, "--set: the value is empty"},
    {{"sweep", "a", "--state", ""}, "--state: the value is empty"},
    {{"sweep", "a", "--jobs", "0"},
     "--jobs: \"0\" is not an integer from 1 to 256"},
    {{"sweep", "a", "--worker", "b:1", "--jobs", "257"},
     "--jobs: \"257\" is not an integer from 0 to 256"},
    {{"sweep", "a", "--worker", "b"},
     "--worker: \"b\" is not HOST:PORT with a port from 1 to 65535, such as "
     "127.0.0.1:4001 or [::1]:4001"},
    {{"sweep", "a", "--worker", "b:0"},
     "--worker: \"b:0\" is not HOST:PORT with a port from 1 to 65535, such as "
     "127.0.0.1:4001 or [::1]:4001"},
    {{"sweep", "a", "--worker", "b:1", "--worker", "c:1", "--worker", "b:1"},
     "--worker: b:1 is given more than once"},
    {{"sweep", "a", "--worker", "b:1", "--worker-timeout", "1s"},
     "--worker-timeout: \"1s\" is not a time from 3s to 1h"},
    {{"sweep", "a", "--worker", "b:1", "--worker-wait", "unlimited"},
     "--worker-wait: \"unlimited\" is not a time from 0s to 1000h"},
    {{"sweep", "a", "--worker-wait", "1s"}, "--worker-wait: requires --worker"},
    {{"sweep", "a", "--insecure"}, "--insecure: requires --worker"},
    {{"sweep", "a", "--ca", "b"}, "--ca: requires --worker"},
    {{"worker", "--listen", "4001"},
     "--listen: \"4001\" is not HOST:PORT with a port from 0 to 65535, such as "
     "127.0.0.1:4001 or [::1]:4001"},
    {{"worker", "--jobs", "0"},
     "--jobs: \"0\" is not an integer from 1 to 256"},
    {{"worker", "a"}, "The following argument was not expected: a"},
    {{"run", "a", "b"}, "The following argument was not expected: b"},
    {{"run", "a", "--fast"}, "The following argument was not expected: --fast"},
    {{"run", "a", "--seed", "-1"},
     "--seed: \"-1\" is not an integer from 0 to 18446744073709551615"},
    {{"run", "a", "--seed", "18446744073709551615", "--seeds", "2"},
     "--seed: \"18446744073709551615\" is not an integer from 0 to "
     "18446744073709551614"},
    {{"run", "a", "--seeds", "0"},
     "--seeds: \"0\" is not an integer from 1 to 100000"},
    {{"run", "a", "--seeds", "3x"},
     "--seeds: \"3x\" is not an integer from 1 to 100000"},
    {{"run", ""}, "FILE: the value is empty"},
    {{"check", "a", ""}, "FILE: the value is empty"},
    {{"run", "a", "--seed", ""}, "--seed: the value is empty"},
    {{"run", "a", "--seeds", ""}, "--seeds: the value is empty"},
    {{"run", "a", "--arm", ""}, "--arm: the value is empty"},
    {{"run", "a", "--json", ""}, "--json: the value is empty"},
    {{"run", "a", "--csv", ""}, "--csv: the value is empty"},
    {{"run", "a", "--html", ""}, "--html: the value is empty"},
    {{"run", "a", "--log", ""}, "--log: the value is empty"},
    {{"run", "a", "--json", "b", "--csv", "./b"},
     "--csv: ./b is the same file as that of --json"},
    {{"run", "a", "--csv", "b", "--html", "./b"},
     "--html: ./b is the same file as that of --csv"},
    {{"run", "a", "--html", "a"}, "--html: a is the same file as that of FILE"},
    {{"run", "a", "--log", "./a"},
     "--log: ./a is the same file as that of FILE"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(run(c.args), 2);
    EXPECT_EQ(err.str(),
              c.message + "\nRun with --help for more information.\n");
    EXPECT_EQ(out.str(), "");
    EXPECT_EQ(played, strings{});
  }
}

TEST_F(command, does_not_let_strangers_in) {
  EXPECT_EQ(run({"worker", "--listen", "0.0.0.0:4001"}), 2);
  EXPECT_TRUE(err.str().starts_with(
    "--listen: 0.0.0.0:4001 can be reached from other machines"))
    << err.str();
  EXPECT_EQ(run({"worker", "--key", "k"}), 2);
  EXPECT_EQ(err.str(), "--certificate: is required with certificates\n");
}

TEST_F(command, leaves_ctl_to_its_own_part) {
  EXPECT_EQ(run({"ctl", "list"}), 2);
  EXPECT_EQ(err.str(), "caisson: ctl is not part of this build: it needs "
                       "caisson::control (CAISSON_BUILD_CONTROL)\n");
  strings seen;
  parts.ctl = [&](int argc, const char* const* argv, std::ostream& to,
                  std::ostream&) {
    seen.assign(argv, argv + argc);
    to << "done\n";
    return 2;
  };
  EXPECT_EQ(run({"ctl", "list", "--json"}), 2);
  EXPECT_EQ(seen, (strings{"ctl", "list", "--json"}));
  EXPECT_EQ(run({"top", "--once"}), 2);
  EXPECT_EQ(seen, (strings{"top", "--once"}));
  EXPECT_EQ(out.str(), "done\n");
}

// -- run ----------------------------------------------------------------------

TEST_F(command, plays_all_arms_with_the_seed_of_the_file) {
  world.seed = 5;
  EXPECT_EQ(run({"run", "a.toml"}), 0);
  EXPECT_EQ(played, (strings{"naive 5", "caisson 5"}));
  EXPECT_TRUE(
    out.str().starts_with("a.toml: 2 s, seed 5, arms: naive, caisson\n"));
  EXPECT_NE(out.str().find("\n-- speed\n"), std::string::npos);
  EXPECT_EQ(err.str(), "");
}

TEST_F(command, plays_the_arms_and_seeds_that_are_asked_for) {
  EXPECT_EQ(run({"run", "--arm", "caisson", "a.toml", "--seed", "010",
                 "--seeds", "2", "--no-speed"}),
            0);
  EXPECT_EQ(played, (strings{"caisson 10", "caisson 11"}));
  EXPECT_TRUE(
    out.str().starts_with("a.toml: 2 s, seeds 10 to 11, arm: caisson\n"));
  EXPECT_EQ(out.str().find("-- speed"), std::string::npos);
}

TEST_F(command, plays_arms_in_the_order_of_the_file) {
  EXPECT_EQ(run({"run", "--arm", "caisson", "--arm", "naive", "a.toml"}), 0);
  EXPECT_EQ(played, (strings{"naive 1", "caisson 1"}));
}

TEST_F(command, refuses_arms_that_do_not_exist) {
  EXPECT_EQ(run({"run", "a.toml", "--arm", "x", "--arm", "y"}), 2);
  EXPECT_EQ(err.str(), "a.toml: --arm: \"x\" is not one of: naive, caisson\n"
                       "a.toml: --arm: \"y\" is not one of: naive, caisson\n");
  EXPECT_EQ(played, strings{});
}

TEST_F(command, is_quiet_if_asked_to) {
  EXPECT_EQ(run({"run", "a.toml", "--quiet"}), 0);
  EXPECT_EQ(out.str(), "naive: recovered after 0.5 s, at 1 s\n"
                       "caisson: recovered after 0.5 s, at 1 s\n");
}

TEST_F(command, fails_if_an_expectation_does) {
  world.arms[1].expect.bounds = {
    {"success", 0.99, infinity, {}, unlimited, "a.toml:3:1"}};
  EXPECT_EQ(run({"run", "a.toml", "--quiet", "--seeds", "2"}), 1);
  EXPECT_NE(out.str().find("failed: seed 2: arm caisson: success is 0.75, "
                           "expected at least 0.99 (a.toml:3:1)\n"),
            std::string::npos);
  EXPECT_EQ(run({"run", "a.toml", "--arm", "naive"}), 0);
}

TEST_F(command, fails_if_the_statistics_are_wrong) {
  parts.play = [](const arm_config&, const run_options&) {
    auto r = small_result();
    r.answered_twice = 1;
    return r;
  };
  EXPECT_EQ(run({"run", "a.toml", "--arm", "naive", "--quiet"}), 1);
  EXPECT_EQ(out.str(),
            "naive: recovered after 0.5 s, at 1 s\n"
            "failed: arm naive: 1 request was answered more than once\n");
}

// -- files --------------------------------------------------------------------

TEST_F(command, writes_the_files_that_are_asked_for) {
  test::scratch_dir dir;
  auto json = (dir / "a.json").string();
  auto csv = (dir / "a.csv").string();
  auto log = (dir / "a.log").string();
  EXPECT_EQ(run({"run", "a.toml", "--json", json.c_str(), "--csv", csv.c_str(),
                 "--log", log.c_str()}),
            0);
  EXPECT_TRUE(test::text_of(json).starts_with("{\n \"format\": 1,\n"));
  EXPECT_TRUE(test::text_of(csv).starts_with("seed,arm,second,"));
  EXPECT_EQ(test::text_of(log), "# arm naive seed 1\n"
                                "a line\n"
                                "# arm caisson seed 1\n"
                                "a line\n");
}

TEST_F(command, leaves_standard_output_to_a_file_that_wants_it) {
  world.arms[0].expect.verdict = verdict_kind::stuck;
  EXPECT_EQ(run({"run", "a.toml", "--log", "-"}), 1);
  EXPECT_EQ(out.str(), "# arm naive seed 1\n"
                       "a line\n"
                       "# arm caisson seed 1\n"
                       "a line\n");
  EXPECT_EQ(err.str(),
            "failed: arm naive: verdict is recovered, expected stuck\n");
}

TEST_F(command, keeps_the_rows_of_several_seeds_for_files_only) {
  EXPECT_EQ(run({"run", "a.toml", "--csv", "-", "--seeds", "3"}), 0);
  auto text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 3 * 2 * 2);
}

TEST_F(command, plays_nothing_if_a_file_cannot_be_written) {
  EXPECT_EQ(run({"run", "a.toml", "--json", "/none/a.json"}), 2);
  EXPECT_EQ(err.str(),
            "/none/a.json: cannot be written: No such file or directory\n");
  EXPECT_EQ(played, strings{});
}

TEST_F(command, fails_if_standard_output_does) {
  std::ofstream full{"/dev/full"};
  for (auto args : {std::vector{"caisson", "--help"},
                    {"caisson", "--version"},
                    {"caisson", "check", "a.toml"},
                    {"caisson", "run", "a.toml"},
                    {"caisson", "run", "a.toml", "--json", "-"}}) {
    full.clear();
    err.str("");
    EXPECT_EQ(command_main(static_cast<int>(args.size()), args.data(), full,
                           err, parts),
              2)
      << args[1];
    EXPECT_EQ(err.str(), "standard output: cannot be written: No space left on "
                         "device\n");
  }
}

TEST_F(command, writes_its_files_although_standard_output_fails) {
  test::scratch_dir dir;
  auto json = (dir / "a.json").string();
  std::ofstream full{"/dev/full"};
  std::vector args{"caisson", "run", "a.toml", "--json", json.c_str()};
  EXPECT_EQ(
    command_main(static_cast<int>(args.size()), args.data(), full, err, parts),
    2);
  EXPECT_TRUE(test::text_of(json).ends_with("}\n"));
}

// -- interruptions ------------------------------------------------------------

TEST_F(command, shows_what_was_done_before_an_interruption) {
  test::scratch_dir dir;
  auto csv = (dir / "a.csv").string();
  stopping = "caisson 1";
  world.arms[1].expect.verdict = verdict_kind::stuck;
  EXPECT_EQ(
    run({"run", "a.toml", "--seeds", "2", "--quiet", "--csv", csv.c_str()}),
    130);
  EXPECT_EQ(played, (strings{"naive 1", "caisson 1"}));
  EXPECT_EQ(out.str(), "seed 1: naive: recovered after 0.5 s, at 1 s\n"
                       "seed 1: caisson: interrupted at 1 s\n");
  EXPECT_EQ(err.str(),
            "interrupted: 1 of 4 runs done, arm caisson, seed 1, up to 1 s\n");
  EXPECT_NE(test::text_of(csv).find("\n1,caisson,1,"), std::string::npos);
}

TEST_F(command, plays_nothing_after_an_interruption) {
  stop = true;
  EXPECT_EQ(run({"run", "a.toml", "--quiet"}), 130);
  EXPECT_EQ(played, strings{});
  EXPECT_EQ(out.str(), "");
  EXPECT_EQ(err.str(), "interrupted: 0 of 2 runs done\n");
  EXPECT_EQ(run({"run", "a.toml"}), 130);
}

// -- check and errors ---------------------------------------------------------

TEST_F(command, checks_files) {
  world.arms[1].faults.resize(2);
  EXPECT_EQ(run({"check", "a.toml", "b.toml"}), 0);
  EXPECT_EQ(out.str(),
            "a.toml: ok: 1 service, 1 load, 2 arms, 2 faults, 2 s\n"
            "b.toml: ok: 1 service, 1 load, 2 arms, 2 faults, 2 s\n");
}

TEST_F(command, checks_all_files_whatever_is_wrong_with_one) {
  parts.load = [this](const std::filesystem::path& path) {
    if (path == "a.toml")
      throw config_error{{{problem_kind::range, "x", "is bad", "a.toml:1:1"},
                          {problem_kind::range, "y", "too"}}};
    return world;
  };
  EXPECT_EQ(run({"check", "a.toml", "b.toml"}), 2);
  EXPECT_EQ(out.str(),
            "b.toml: ok: 1 service, 1 load, 2 arms, 0 faults, 2 s\n");
  EXPECT_EQ(err.str(), "a.toml:1:1: x: is bad\ny: too\n");
}

TEST_F(command, reports_a_hundred_problems_and_counts_the_rest) {
  parts.load = [](const std::filesystem::path&) -> scenario {
    throw config_error{
      problems(250, problem{problem_kind::range, "k", "is bad", "a.toml:1:1"})};
  };
  for (auto what : {"run", "check"}) {
    EXPECT_EQ(run({what, "a.toml"}), 2);
    auto text = err.str();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 101);
    EXPECT_TRUE(text.ends_with("\n... and 150 more: 250 problems in all\n"));
  }
}

TEST_F(command, shows_nothing_of_a_file_that_would_move_the_cursor) {
  EXPECT_EQ(run({"check", "a\x1b[2J.toml"}), 0);
  EXPECT_TRUE(out.str().starts_with("a\\x1b[2J.toml: ok: "));
  parts.load = [](const std::filesystem::path&) -> scenario {
    throw config_error{{{problem_kind::range, "k\x1b", "is\rbad", "a\n.toml"}}};
  };
  EXPECT_EQ(run({"check", "a.toml"}), 2);
  EXPECT_EQ(err.str(), "a\\x0a.toml: k\\x1b: is\\x0dbad\n");
}

TEST_F(command, finds_expectations_that_make_no_sense_before_the_run) {
  for (auto& arm : world.arms)
    arm.expect.bounds = {
      {"service.db.wait", 0, 1, {}, unlimited, "a.toml:3:1"}};
  for (auto what : {"run", "check"}) {
    EXPECT_EQ(run({what, "a.toml"}), 2);
    EXPECT_EQ(err.str(), "a.toml:3:1: service.db.wait: service \"db\" is not "
                         "one of: web\n");
    EXPECT_EQ(played, strings{});
  }
}

TEST_F(command, names_the_arms_that_have_a_problem) {
  auto key = setting_path{} / "expect" / "check" / 0;
  world.arms[1].expect.bounds = {
    {"service.db.wait", 0, 1, {}, unlimited, "a.toml:3:1", key}};
  EXPECT_EQ(run({"check", "a.toml"}), 2);
  EXPECT_EQ(err.str(), "a.toml:3:1: expect.check[0]: service.db.wait: service "
                       "\"db\" is not one of: web (in arm caisson)\n");
}

TEST_F(command, warns_of_a_fault_that_lasts_too_long) {
  for (auto& arm : world.arms)
    arm.length = 58s;
  world.arms[1].faults.push_back({.target = "web", .at = 10s, .lasts = 46s});
  EXPECT_EQ(run({"check", "a.toml"}), 0);
  EXPECT_EQ(out.str(), "a.toml: ok: 1 service, 1 load, 2 arms, 1 fault, 58 s\n"
                       "a.toml: warning: arm caisson: no window of 5s fits "
                       "between the end of the last fault, which is 56s, and "
                       "length, which is 58s: the verdict is that of the whole "
                       "run\n");
}

TEST_F(command, warns_of_zones_without_a_replica) {
  world.arms[1].zones.names = {"a", "b"};
  world.arms[1].services.at(0).zones = {"b", "a"};
  EXPECT_EQ(run({"check", "a.toml"}), 0);
  EXPECT_EQ(out.str(), "a.toml: ok: 1 service, 1 load, 2 arms, 0 faults, 2 s\n"
                       "a.toml: warning: arm caisson: service web has 1 "
                       "replica for 2 zones: none is in a\n");
}

template <class E>
auto thrower(E e) {
  return [e](const arm_config&, const run_options&) -> arm_result { throw e; };
}

TEST_F(command, distinguishes_bad_input_from_internal_errors) {
  parts.play = thrower(
    config_error{{{problem_kind::range, "stack", "is bad", "a:1:1"}}});
  EXPECT_EQ(run({"run", "a.toml"}), 2);
  EXPECT_EQ(err.str(), "a:1:1: stack: is bad\n");
  parts.play = thrower(std::runtime_error{"no room"});
  EXPECT_EQ(run({"run", "a.toml"}), 2);
  EXPECT_EQ(err.str(), "caisson: no room\n");
  parts.play = thrower(std::logic_error{"a slip"});
  EXPECT_EQ(run({"run", "a.toml"}), 3);
  EXPECT_EQ(err.str(), "caisson: internal error: a slip\n");
  parts.play = thrower(7);
  EXPECT_EQ(run({"run", "a.toml"}), 3);
  EXPECT_EQ(err.str(), "caisson: internal error\n");
}

TEST_F(command, draws_progress_on_a_terminal_only) {
  EXPECT_EQ(run({"run", "a.toml"}), 0);
  EXPECT_EQ(err.str(), "");
  parts.terminal = true;
  EXPECT_EQ(run({"run", "a.toml", "--no-progress"}), 0);
  EXPECT_EQ(err.str(), "");
  EXPECT_EQ(run({"run", "a.toml"}), 0);
  EXPECT_TRUE(err.str().starts_with(
    "\r\x1b[Knaive (1/2, seed 1)  [#####...............]  25 %"));
  EXPECT_TRUE(err.str().ends_with("\r\x1b[K"));
  parts.columns = [] { return std::size_t{10}; };
  EXPECT_EQ(run({"run", "a.toml"}), 0);
  EXPECT_TRUE(err.str().starts_with("\r\x1b[K25 %"));
}

} // namespace
} // namespace caisson::sim
