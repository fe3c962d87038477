// `caisson tune` that is stopped, repeated, or asked for what cannot be.
#include <support/tune_rig.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace caisson::sim {
namespace {

using namespace tuned;

using tune_again = tune_rig;

// -- the same again -----------------------------------------------------------

TEST_F(tune_again, gives_the_same_on_one_core_and_on_many) {
  strings args{"--vary",   "service.web.workers=1..12",
               "--vary",   "load.users.timeout=20ms..2s",
               "--need",   "success>=90%",
               "--best",   "p99",
               "--seeds",  "4",
               "--unseen", "2",
               "--budget", "150"};
  std::string first;
  for (auto jobs : {"1", "2", "5"}) {
    auto file = path("out") + jobs;
    auto got = run(joined(args, {"--jobs", jobs, "--json", file + ".json",
                                 "--csv", file + ".csv"}));
    EXPECT_LE(got, 1) << err_.str();
    auto text = out_.str();
    for (auto end : {".json", ".csv"}) {
      std::ifstream in{file + end};
      text += std::string{std::istreambuf_iterator<char>{in}, {}};
    }
    if (first.empty())
      first = text;
    EXPECT_EQ(text, first) << jobs;
  }
  EXPECT_GT(first.size(), 5000u);
}

TEST_F(tune_again, goes_on_where_it_was_stopped) {
  good_ = [](const arm_config& arm, std::uint64_t seed) {
    return 900 + 10 * arm.services[0].servers + seed % 5;
  };
  strings args{"--vary",   "service.web.workers=1..9",
               "--best",   "success",
               "--unseen", "3",
               "--json",   path("x.json")};
  parts_.jobs = 1;
  stop_after_ = 40;
  EXPECT_EQ(run(args), 130);
  EXPECT_EQ(played_.size(), 40u);
  EXPECT_NE(err_.str().find("interrupted: this is the best so far; the same "
                            "command continues from there"),
            std::string::npos)
    << err_.str();
  EXPECT_NE(out_.str().find("service.web.workers"), std::string::npos);
  stop_ = false;
  stop_after_ = 0;
  ASSERT_EQ(run(args), 0) << err_.str();
  auto resumed = out_.str();
  auto rest = played_.size();
  EXPECT_NE(err_.str().find("40 of "), std::string::npos) << err_.str();
  args.insert(args.end(), {"--state", path("other")});
  ASSERT_EQ(run(args), 0);
  EXPECT_EQ(out_.str(), resumed);
  EXPECT_EQ(played_.size(), rest + 40);
  // Everything is there now.
  ASSERT_EQ(run(args), 0);
  EXPECT_EQ(out_.str(), resumed);
  EXPECT_TRUE(played_.empty());
}

TEST_F(tune_again, reports_when_nothing_was_run) {
  stop_ = true;
  EXPECT_EQ(run(joined(web_servers, {"--best", "success"})), 130);
  EXPECT_NE(out_.str().find("No run was completed."), std::string::npos);
}

TEST_F(tune_again, ends_after_a_time) {
  good_ = [](const arm_config& arm, std::uint64_t) {
    return 900 + arm.services[0].servers % 100;
  };
  ASSERT_EQ(run({"--vary", "service.web.workers=1..5000", "--best", "success",
                 "--time", "1ns"}),
            0)
    << err_.str();
  EXPECT_NE(out_.str().find("On 16 unseen seeds"), std::string::npos)
    << out_.str();
}

TEST_F(tune_again, takes_no_budget_for_a_search_of_some_time) {
  write(std::string{tuned_shop} + "[tune]\nbudget = 20\n");
  auto args = joined(web_servers, {"--best", "success", "--time", "1ns"});
  EXPECT_EQ(run(args), 0) << err_.str();
}

TEST_F(tune_again, has_a_default_budget_that_is_allowed) {
  EXPECT_EQ(run(joined(web_servers,
                       {"--best", "success", "--seeds", "1000", "--schedules",
                        "7", "--unseen", "0", "--time", "1ns"})),
            0)
    << err_.str();
}

// -- bad input ----------------------------------------------------------------

TEST_F(tune_again, refuses_bad_input_before_it_runs) {
  const strings best{"--best", "p99"};
  auto vary = [&](const std::string& text) {
    return strings{"--vary", text, "--best", "p99"};
  };
  expect_refused(best, "--vary: nothing is varied");
  expect_refused(web_servers, "--best: nothing to optimise");
  expect_refused(vary("service.web.workers=8..1"),
                 "\"8..1\" ends before it begins");
  expect_refused(vary("service.web.workers=0..4"),
                 "service.web.workers: 0 is out of range");
  expect_refused(vary("service.web.wokers=1..4"), "service.web.wokers");
  expect_refused(vary("service.wep.workers=1..4"), "service.wep");
  expect_refused(vary("tune.seeds=1..4"), "tuning does not change itself");
  expect_refused(vary("service.web.workers"), "is not PATH=VALUES");
  for (auto [a, b] :
       {std::pair{"load.users.users=1..3", "load.users.rate=1..3"},
        {"load.users.rate=1..3", "load.users.users=1..3"}})
    expect_refused({"--vary", a, "--vary", b, "--best", "p99"},
                   "cannot be set together with load.users.");
  expect_refused(joined(web_servers, {"--best", "p98"}), "\"p98\"");
  expect_refused(joined(web_servers, {"--best", "service.web.utilization"}),
                 "Write min:service.web.utilization or max:");
  expect_refused(joined(web_servers, {"--best", "p99", "--best", "p99"}),
                 "\"p99\" is given more than once");
  expect_refused(
    joined(web_servers, {"--best", "p99", "--best", "p50", "--best", "good"}),
    "3 goals");
  expect_refused(joined(web_servers, {"--best", "p99", "--need", "success"}),
                 "\"success\" is not a need");
  expect_refused(
    joined(web_servers, {"--best", "p99", "--need", "success>=many"}),
    "\"many\" is not a bound");
  expect_refused(
    joined(web_servers, {"--best", "p99", "--need", "service.db.wait<=1ms"}),
    "--need");
  expect_refused(joined(web_servers, {"--best", "p99", "--budget", "20"}),
                 "--budget: 20 runs are too few: the present settings and one "
                 "other candidate need 32");
  expect_refused(
    {"--vary", "service.web.order=fifo,lifo", "--best", "service.web.order"},
    "neither numbers nor durations");
  expect_refused(joined(web_servers, {"--best", "p99", "--arm", "x"}), "\"x\"");
  expect_refused(joined(web_servers, {"--best", "p99", "--seeds", "0"}),
                 "--seeds: \"0\" is not an integer from 1 to 1000");
  expect_refused(joined(web_servers, {"--best", "p99", "--faults", "2"}),
                 "--schedules: is missing");
  expect_refused(joined(web_servers, {"--best", "p99", "--time", "5"}),
                 "--time: \"5\" is not a time");
  expect_refused(
    joined(web_servers, {"--best", "p99", "--time", "5s", "--budget", "99"}),
    "--time: cannot be combined with --budget");
  expect_refused(joined(web_servers, {"--best", "p99", "--json", file_}),
                 "--json: ");
  expect_refused(
    joined(web_servers, {"--best", "p99", "--seed", "18446744073709551600"}),
    "--seed: 18446744073709551600 plus 32 seeds exceeds the largest seed");
}

TEST_F(tune_again, refuses_what_is_wrong_in_the_file) {
  auto refused = [&](const std::string& text, const std::string& message) {
    write(std::string{tuned_shop} + "[tune]\n" + text);
    expect_refused({}, message);
  };
  refused("need = [\"p99\"]", "tune.need: \"p99\" is not a need");
  refused("bets = [\"p99\"]", "tune.bets");
  refused("seeds = 0", "tune.seeds");
  refused("arm = \"x\"", "\"x\" is not an arm: there is only the arm default");
  refused("[tune.vary]\n\"service.web.workers\" = \"9..1\"",
          "ends before it begins");
  refused("[tune.vary]\n\"service.wep.workers\" = \"1..9\"", "service.wep");
  write(std::string{armed_shop}
        + "[tune]\nbest = [\"p99\"]\n[tune.vary]\n"
          "\"service.web.workers\" = \"1..9\"");
  expect_refused({}, "tune.arm: is missing: which of the arms is tuned?");
}

} // namespace
} // namespace caisson::sim
