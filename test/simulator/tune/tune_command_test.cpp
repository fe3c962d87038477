// Finds settings with `caisson tune`.
#include <support/tune_rig.hpp>

#include <simulator/explore/fault_texts.hpp>
#include <simulator/tune/tune_plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {
namespace {

using namespace tuned;

using tune_test = tune_rig;

// -- reports ------------------------------------------------------------------

TEST_F(tune_test, reports_what_is_best_and_how_sure_that_is) {
  good_ = [](const arm_config& arm, std::uint64_t seed) {
    return 900 + 10 * arm.services[0].servers + seed % 3;
  };
  ASSERT_EQ(run(joined(web_servers, {"--need", "success>=95%", "--best",
                                     "min:service.web.workers"})),
            0)
    << err_.str();
  auto text = out_.str();
  for (auto line : {
         "A shop\n",
         ": arm default, 8 combinations, 8 tried in 128 runs, seeds 7 to 22\n",
         "needed: success >= 95.00 %\n",
         "wanted: least service.web.workers\n",
         "service.web.workers    4     5  1 to 8\n",
         "The best settings meet the needs (>99.9 % sure), the present ones do "
         "not.\n",
         "On 16 unseen seeds this holds: needs met (>99.9 % sure).\n",
         "to try them, add to the scenario:\n\n[arm.present]\n",
       })
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  EXPECT_EQ(text.find("end of its range"), std::string::npos);
  EXPECT_EQ(err_.str(), "");
}

TEST_F(tune_test, keeps_within_the_width_of_the_terminal) {
  good_ = [](const arm_config& arm, std::uint64_t seed) {
    return 900 + 10 * arm.services[0].servers + seed % 3;
  };
  parts_.out_columns = [] { return std::size_t{80}; };
  ASSERT_EQ(run(joined(web_servers, {"--need", "success>=95%", "--best",
                                     "min:service.web.workers"})),
            0)
    << err_.str();
  auto text = out_.str();
  // What is to be copied stays whole.
  auto sentences = std::istringstream{text.substr(0, text.find("to try them"))};
  std::size_t lines = 0;
  for (std::string line; std::getline(sentences, line); ++lines)
    EXPECT_LE(line.size(), 80u) << line;
  EXPECT_GT(lines, 10u);
  // Intervals stand below the values.
  auto at = text.find("\nsuccess");
  ASSERT_NE(at, text.npos) << text;
  auto row = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  EXPECT_EQ(row.find(" to "), row.npos) << row;
  EXPECT_EQ(text.substr(at + row.size() + 2).find_first_not_of(' '),
            text.substr(at + row.size() + 2).find('('))
    << text;
}

TEST_F(tune_test, says_that_a_range_may_be_too_short) {
  good_ = [](const arm_config& arm, std::uint64_t) {
    return 900 + 10 * arm.services[0].servers;
  };
  ASSERT_EQ(run(joined(web_servers, {"--best", "success"})), 0) << err_.str();
  EXPECT_NE(out_.str().find("service.web.workers = 8 is at the end of its "
                            "range, 1 to 8"),
            std::string::npos)
    << out_.str();
}

TEST_F(tune_test, says_how_near_it_comes) {
  good_ = [](const arm_config& arm, std::uint64_t) {
    return 900 + 10 * arm.services[0].servers;
  };
  EXPECT_EQ(run(joined(web_servers, {"--need", "success>=99.9%", "--best",
                                     "min:service.web.workers"})),
            1);
  EXPECT_NE(out_.str().find("Nothing that was tried meets the needs. The "
                            "nearest has success 98.00 % instead of at least "
                            "99.90 %."),
            std::string::npos)
    << out_.str();
}

TEST_F(tune_test, reports_a_gain_that_meets_no_need) {
  good_ = [](const arm_config& arm, std::uint64_t) {
    return 900 + 10 * arm.services[0].servers;
  };
  auto all = json_of(
    joined(web_servers, {"--need", "success>=99.9%", "--best", "success"}), 1);
  EXPECT_EQ(winner(all)["service.web.workers"], 8);
  EXPECT_EQ(all["verdict"], "needs fail");
  auto sentences = all["sentences"].dump();
  EXPECT_NE(sentences.find("Better than the present settings: success"),
            std::string::npos);
  EXPECT_NE(
    sentences.find("it has success 98.00 % instead of at least 99.90 %; "
                   "better than the present settings: success"),
    std::string::npos)
    << sentences;
}

TEST_F(tune_test, calls_nothing_better_that_is_worse) {
  good_ = [](const arm_config& arm, std::uint64_t) {
    return 900 + 10 * arm.services[0].servers;
  };
  // Nearer to the need, and farther from what is wanted.
  auto all = json_of(joined(web_servers, {"--need", "success>=99.9%", "--best",
                                          "min:service.web.workers"}),
                     1);
  EXPECT_EQ(winner(all)["service.web.workers"], 8);
  EXPECT_EQ(all["sentences"].dump().find("etter than"), std::string::npos)
    << all["sentences"].dump();
}

TEST_F(tune_test, says_that_the_winner_fails_on_unseen_seeds) {
  // Good with two servers on the seeds 7 to 10 only.
  good_ = [](const arm_config& arm, std::uint64_t seed) {
    return arm.services[0].servers == 2 && seed <= 10 ? 1000u : 900u;
  };
  strings sizes{"--seeds", "4", "--unseen", "4"};
  auto all = json_of(joined(joined(web_servers, sizes),
                            {"--need", "success>=95%", "--best", "success"}),
                     1);
  EXPECT_EQ(winner(all)["service.web.workers"], 2);
  EXPECT_EQ(all["verdict"], "needs fail");
  EXPECT_TRUE(all["seen"]["best_meets_needs"]);
  EXPECT_FALSE(all["unseen"]["best_meets_needs"]);
  EXPECT_FALSE(all["meets_needs"]);
  EXPECT_NE(
    all["sentences"].dump().find("On 4 unseen seeds this does not hold: "
                                 "success 90.00 % instead of at least "
                                 "95.00 %"),
    std::string::npos)
    << all["sentences"];
  all = json_of(joined(joined(web_servers, sizes), {"--best", "success"}));
  EXPECT_EQ(all["verdict"], "gain fails");
  EXPECT_NE(all["sentences"].dump().find("not better than the present settings "
                                         "there"),
            std::string::npos)
    << all["sentences"];
  all = json_of(joined(joined(web_servers, {"--seeds", "4", "--unseen", "0"}),
                       {"--best", "success"}));
  EXPECT_EQ(all["verdict"], "untested");
  EXPECT_TRUE(all["unseen"].is_null());
}

TEST_F(tune_test, tests_with_seeds_that_follow_those_of_the_search) {
  good_ = [](const arm_config&, std::uint64_t) { return 1000u; };
  ASSERT_EQ(run(joined(web_servers, {"--best", "success", "--seeds", "3",
                                     "--unseen", "2", "--jobs", "1"})),
            0)
    << err_.str();
  std::map<std::uint32_t, std::set<std::uint64_t>> seeds;
  for (const auto& [arm, seed] : played_)
    seeds[arm.services[0].servers].insert(seed);
  EXPECT_EQ(seeds.at(4), (std::set<std::uint64_t>{7, 8, 9, 10, 11}));
  EXPECT_EQ(seeds.at(8), (std::set<std::uint64_t>{7, 8, 9}));
}

TEST_F(tune_test, keeps_the_present_settings_if_nothing_is_better) {
  good_ = [](const arm_config&, std::uint64_t) { return 990u; };
  ASSERT_EQ(run(joined(web_servers, {"--best", "success"})), 0);
  EXPECT_NE(out_.str().find("The present settings are the best of all that "
                            "were tried."),
            std::string::npos);
  EXPECT_EQ(out_.str().find("add to the scenario"), std::string::npos);
}

TEST_F(tune_test, takes_a_single_value) {
  good_ = [](const arm_config& arm, std::uint64_t) {
    return 900 + 10 * arm.services[0].servers;
  };
  auto all = json_of(
    {"--vary", "service.web.workers=4..4", "--best", "success"});
  EXPECT_EQ(all["candidates"].size(), 1u);
  EXPECT_EQ(all["winner"], 0);
  EXPECT_TRUE(all["next"].is_null());
  // What there is now is not among the values, and still a candidate.
  all = json_of({"--vary", "service.web.workers=6", "--best", "success"});
  EXPECT_EQ(all["candidates"].size(), 2u);
  EXPECT_EQ(all["candidates"][0]["settings"]["service.web.workers"], 4);
  EXPECT_EQ(winner(all)["service.web.workers"], 6);
}

TEST_F(tune_test, shows_the_front_of_two) {
  good_ = [](const arm_config& arm, std::uint64_t) {
    return 900 + 10 * std::min(arm.services[0].servers, 5u);
  };
  auto all = json_of(
    joined(web_servers, {"--best", "success", "--best", "workers"}));
  std::vector<int> front;
  for (const auto& x : all["front"])
    front.push_back(x["settings"]["service.web.workers"]);
  EXPECT_EQ(front, (std::vector<int>{5, 4, 3, 2, 1}));
  EXPECT_TRUE(all["front"][0].contains("unseen"));
}

TEST_F(tune_test, leaves_out_what_cannot_be_together) {
  write(std::string{tuned_shop}
        + "[service.web.autoscale]\nmin = 2\nmax = 4\n");
  good_ = [](const arm_config& arm, std::uint64_t) {
    return 900 + 10 * arm.services[0].autoscale->min;
  };
  auto all = json_of({"--vary", "service.web.autoscale.min=1..6", "--vary",
                      "service.web.autoscale.max=3..5", "--best", "success"});
  EXPECT_EQ(winner(all)["service.web.autoscale.min"], 4);
  EXPECT_NE(all["hints"].dump().find("left out as invalid"), std::string::npos)
    << all["hints"];
}

// -- arms ---------------------------------------------------------------------

TEST_F(tune_test, finds_settings_within_the_arm) {
  write(armed_shop);
  expect_refused({"--vary", "service.web.workers=1..8", "--best", "success"},
                 "--arm: which arm is tuned? There are bare, guarded");
  strings vary{"--arm",    "guarded",
               "--vary",   "stack.few.layer[0].permits=1..20",
               "--vary",   "service.web.workers=3..5",
               "--best",   "p99",
               "--seeds",  "2",
               "--unseen", "1",
               "--budget", "30"};
  auto all = json_of(vary);
  EXPECT_EQ(all["vary"][0]["setting"],
            "arm.guarded.stack.few.layer[0].permits");
  EXPECT_EQ(all["vary"][1]["setting"], "service.web.workers");
  EXPECT_EQ(all["candidates"][0]["settings"]["stack.few.layer[0].permits"], 10);
  // What is to be added is an arm that does what the best candidate did.
  auto text = armed_shop + all["toml"].get<std::string>();
  auto again = parse_scenario(text, "again");
  ASSERT_EQ(again.arms.size(), 3u) << text;
  EXPECT_EQ(again.arms[2].name, "guarded-tuned");
  EXPECT_EQ(json(again.arms[2].services[0].servers),
            winner(all)["service.web.workers"]);
  double sum = 0;
  for (std::uint64_t seed : {1u, 2u}) {
    run_options o;
    o.seed = seed;
    auto totals = run_arm(again.arms[2], o).totals;
    sum += static_cast<double>(totals.good)
           / static_cast<double>(totals.offered);
  }
  EXPECT_EQ(all["seen"]["metrics"]["success"]["best"].get<double>(), sum / 2);
}

TEST_F(tune_test, reports_lines_where_an_arm_cannot_express_it) {
  write(std::string{tuned_shop}
        + "[[fault]]\nkind = \"slow\"\ntarget = \"web\"\nat = \"1s\"\n"
          "for = \"1s\"\nfactor = 3\n");
  good_ = [](const arm_config& arm, std::uint64_t) {
    return 900 + static_cast<std::uint64_t>(arm.faults[0].factor);
  };
  ASSERT_EQ(run({"--vary", "fault[0].factor=1..9", "--best", "success"}), 0)
    << err_.str();
  EXPECT_NE(out_.str().find("to try them, change in the scenario:\n\n"
                            "fault[0].factor = 9\n"),
            std::string::npos)
    << out_.str();
}

TEST_F(tune_test, reads_what_to_do_from_the_file) {
  good_ = [](const arm_config& arm, std::uint64_t) {
    return 900 + 10 * arm.services[0].servers;
  };
  auto text = std::string{tuned_shop} + R"(
[tune]
need = ["success>=95%"]
best = ["min:service.web.workers"]
seeds = 3
unseen = 2
budget = 40
[tune.vary]
"service.web.workers" = "1..8"
)";
  write(text);
  auto all = json_of({});
  EXPECT_EQ(winner(all)["service.web.workers"], 5);
  EXPECT_EQ(all["seeds"], 3);
  EXPECT_EQ(all["unseen_seeds"], 2);
  // What it says to add makes a good file with an `arm` in [tune].
  ASSERT_EQ(run({}), 0) << err_.str();
  EXPECT_NE(out_.str().find("and to its table [tune], which now has to say "
                            "which arm is tuned:\n\narm = \"present\"\n"),
            std::string::npos)
    << out_.str();
  auto added = all["toml"].get<std::string>();
  EXPECT_THROW((void)parse_scenario(text + added, "shop.toml"), config_error);
  auto with_arm = text;
  with_arm.replace(with_arm.find("[tune]\n"), 7,
                   "[tune]\narm = " + all["tune_arm"].dump() + "\n");
  EXPECT_EQ(parse_scenario(with_arm + added, "shop.toml").arms.size(), 2u);
  // Options replace what the file says.
  all = json_of({"--vary", "service.web.workers=1..6", "--best", "success",
                 "--need", "success>=91%", "--seeds", "2"});
  EXPECT_EQ(winner(all)["service.web.workers"], 6);
  EXPECT_EQ(all["seeds"], 2);
  EXPECT_EQ(all["need"][0]["bound"], 0.91);
}

// -- faults -------------------------------------------------------------------

TEST_F(tune_test, runs_all_candidates_with_the_same_random_faults) {
  write(std::string{tuned_shop} + "[service.db]\nreplicas = 3\nworkers = 4\n");
  good_ = [](const arm_config&, std::uint64_t) { return 990u; };
  ASSERT_EQ(run({"--vary", "service.db.replicas=1..3", "--vary",
                 "service.db.workers=1..4", "--best", "success", "--seeds", "5",
                 "--schedules", "3", "--unseen", "2", "--budget", "400",
                 "--faults", "2", "--jobs", "1"}),
            0)
    << err_.str();
  // As they are without a change of db, which is what others are given, too.
  std::map<std::uint64_t, std::multiset<strings>> drawn;
  std::map<std::pair<std::uint32_t, std::uint32_t>,
           std::map<std::uint64_t, std::multiset<strings>>>
    trials;
  for (const auto& [arm, seed] : played_) {
    ASSERT_GE(arm.faults.size(), 1u);
    ASSERT_LE(arm.faults.size(), 2u);
    auto db = std::ranges::find(arm.services, "db", &service_config::name);
    strings texts;
    for (const auto& f : arm.faults) {
      texts.push_back(to_sentence(f));
      auto hash = f.target.find('#');
      if (hash != std::string::npos) {
        EXPECT_GT(db->replicas, 1u);
        EXPECT_LE(std::stoul(f.target.substr(hash + 1)), db->replicas);
      }
    }
    trials[{db->replicas, db->servers}][seed].insert(texts);
  }
  drawn = trials.at({3, 4});
  EXPECT_EQ(drawn.size(), 7u);
  for (const auto& [seed, all] : drawn)
    EXPECT_EQ(all.size(), 3u) << seed;
  // Nothing has to be changed for three replicas, but for faults that leave
  // more servers than there are.
  for (const auto& [seed, all] : trials.at({3, 3}))
    EXPECT_EQ(all.size(), drawn.at(seed).size());
  std::set<strings> different;
  for (const auto& [seed, all] : drawn)
    different.insert(all.begin(), all.end());
  EXPECT_GT(different.size(), 15u);
}

TEST_F(tune_test, fits_faults_to_smaller_services) {
  arm_config arm;
  arm.services.resize(2);
  arm.services[0].name = "db";
  arm.services[0].replicas = 2;
  arm.services[0].servers = 3;
  arm.services[1].name = "web";
  auto target = [&](const std::string& name) {
    fault_config f;
    f.target = name;
    return fitted(f, arm).target;
  };
  EXPECT_EQ(target("db#3"), "db#1");
  EXPECT_EQ(target("db#2"), "db#2");
  EXPECT_EQ(target("web#2"), "web");
  EXPECT_EQ(target("web"), "web");
  fault_config f;
  f.kind = fault_kind::capacity;
  f.target = "db#3";
  f.servers = 7;
  EXPECT_EQ(fitted(f, arm).servers, 2u);
  f.kind = fault_kind::loss;
  f.from = {"web#4"};
  f.to = {"db#4"};
  EXPECT_EQ(fitted(f, arm).from, strings{"web"});
  EXPECT_EQ(fitted(f, arm).to, strings{"db#2"});
}

TEST_F(tune_test, really_injects_random_faults) {
  strings args{"--vary",      "service.web.workers=2..5",
               "--best",      "success",
               "--seeds",     "3",
               "--unseen",    "1",
               "--schedules", "2",
               "--budget",    "60"};
  auto all = json_of(args);
  EXPECT_EQ(all["seen"]["runs"], 6);
  EXPECT_EQ(all["unseen"]["runs"], 2);
  EXPECT_LT(all["seen"]["metrics"]["success"]["now"].get<double>(), 0.999);
}

TEST_F(tune_test, warns_of_runs_without_requests) {
  write(std::string{tuned_shop} + "stop = \"1ns\"\n");
  run(joined(web_servers, {"--best", "success", "--budget", "64"}));
  EXPECT_NE(err_.str().find("caisson: warning: no request began in "),
            std::string::npos)
    << err_.str();
}

} // namespace
} // namespace caisson::sim
