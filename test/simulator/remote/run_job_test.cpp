// Runs that are executed by a stranger, who must get the same.
#include <support/scratch.hpp>
#include <support/source_dir.hpp>

#include <simulator/play/run_result.hpp>
#include <simulator/play/world_hash.hpp>
#include <simulator/remote/run_job.hpp>
#include <simulator/scenario/sweep_values.hpp>

#include <caisson/settings/problem.hpp>
#include <caisson/settings/toml.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

constexpr auto two_arms = R"(
title = "Two \"arms\""
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
[sweep]
seeds = 3
)";

settings settings_of(const std::string& text) {
  problems found;
  auto out = parse_toml(text, "x", found);
  EXPECT_TRUE(found.empty());
  return out;
}

class run_job_test : public testing::Test {
protected:
  // As a sweep makes it, with recordings in `dir_`.
  run_job job_for(const std::string& text, const std::string& arm) {
    auto root = settings_of(text);
    auto all = scenario_from(root, "x", dir_.path());
    run_job out;
    out.build = {"1.2.3", "p", "a"};
    out.file = "shop.toml";
    out.text = job_text(root, arm);
    out.arm = arm;
    out.seed = 7;
    out.metrics = {"goodput", "service.web.utilization"};
    for (const auto& a : all.arms)
      if (a.name == arm) {
        out.world = world_hash(root, a, "1.2.3");
        direct_ = a;
      }
    return out;
  }

  job_state play(const run_job& job) {
    return play_job(job,
                    {.recordings =
                       [this](const std::string& path) {
                         auto found = recordings_.find(path);
                         return found == recordings_.end() ? nullptr
                                                           : found->second;
                       }},
                    worlds_);
  }

  test::scratch_dir dir_;
  arm_config direct_;
  world_cache worlds_;
  std::map<std::string, std::shared_ptr<const std::string>> recordings_;
};

TEST_F(run_job_test, has_the_result_of_playing_it_here) {
  for (std::string arm : {"wide", "short", "wide"}) {
    auto end = play(job_for(two_arms, arm));
    ASSERT_EQ(end.stage, job_stage::done) << end.text;
    run_options o;
    o.seed = 7;
    auto result = run_arm(direct_, o);
    EXPECT_EQ(end.text, run_text(run_result_of(
                          result, {"goodput", "service.web.utilization"})));
    EXPECT_EQ(end.failures, std::vector<std::string>{});
  }
}

TEST_F(run_job_test, contains_the_arm_and_no_other) {
  auto job = job_for(two_arms, "short");
  EXPECT_EQ(job.text.find("wide"), std::string::npos);
  EXPECT_EQ(job.text.find("sweep"), std::string::npos);
  job.arm = "wide";
  auto end = play(job);
  EXPECT_EQ(end.stage, job_stage::refused);
  EXPECT_NE(end.text.find("the arm is not in the scenario"), std::string::npos);
}

TEST_F(run_job_test, must_be_the_world_that_is_meant) {
  auto job = job_for(two_arms, "wide");
  ++job.world;
  auto end = play(job);
  EXPECT_EQ(end.stage, job_stage::refused);
  EXPECT_NE(end.text.find("differs from that of the sweep"), std::string::npos)
    << end.text;
  // What was read before does not count for it.
  --job.world;
  EXPECT_EQ(play(job).stage, job_stage::done);
  ++job.world;
  EXPECT_EQ(play(job).stage, job_stage::refused);
}

TEST_F(run_job_test, is_refused_if_it_is_wrong) {
  auto job = job_for(two_arms, "wide");
  for (std::string text :
       {std::string{}, std::string{"\xff\0\x1b", 3}, std::string(1000, '['),
        std::string{"length = '1s'"}, job.text + "\nnonsense = 1"}) {
    job.text = text;
    auto end = play(job);
    EXPECT_EQ(end.stage, job_stage::refused);
    EXPECT_NE(end.text, "");
  }
}

TEST_F(run_job_test, reads_no_file) {
  dir_.write("counts.csv", "0,50\n1,60\n");
  auto text = std::string{two_arms};
  text.replace(text.find("rate = 60"), 9,
               "trace = { file = 'counts.csv', format = 'counts' }");
  auto job = job_for(text, "wide");
  auto before = std::filesystem::current_path();
  std::filesystem::current_path(dir_.path());
  auto end = play(job);
  std::filesystem::current_path(before);
  EXPECT_EQ(end.stage, job_stage::refused);
  EXPECT_NE(end.text.find("did not come with the scenario"), std::string::npos)
    << end.text;
  // With its content it is executed, wherever the file may be.
  recordings_["counts.csv"] = std::make_shared<std::string>("0,50\n1,60\n");
  EXPECT_EQ(play(job).stage, job_stage::done);
  // Another content is another world.
  worlds_.keep(run_job{}, nullptr);
  recordings_["counts.csv"] = std::make_shared<std::string>("0,50\n1,61\n");
  world_cache none;
  auto other = play_job(
    job,
    {.recordings =
       [&](const std::string&) { return recordings_["counts.csv"]; }},
    none);
  EXPECT_NE(other.text.find("differs from that of the sweep"),
            std::string::npos);
}

TEST_F(run_job_test, that_lacks_memory_may_run_elsewhere) {
  auto job = job_for(two_arms, "wide");
  auto end = play_job(
    job,
    {.play = [](const arm_config&, const run_options&) -> arm_result {
       throw std::bad_alloc{};
     },
     .recordings = {}},
    worlds_);
  EXPECT_EQ(end.stage, job_stage::failed);
}

TEST_F(run_job_test, is_not_larger_than_allowed) {
  auto job = job_for(two_arms, "wide");
  EXPECT_EQ(oversize_of(job), "");
  auto with = [&](auto change) {
    auto x = job;
    change(x);
    return oversize_of(x);
  };
  const std::string large(longest_job_name + 1, 'x');
  EXPECT_NE(with([](auto& x) { x.text.assign(longest_job_text + 1, 'x'); }),
            "");
  EXPECT_NE(with([](auto& x) { x.metrics.resize(most_job_metrics + 1); }), "");
  EXPECT_NE(with([](auto& x) { x.recordings.resize(most_job_recordings + 1); }),
            "");
  EXPECT_NE(with([&](auto& x) { x.id = large; }), "");
  EXPECT_NE(with([&](auto& x) { x.file = large; }), "");
  EXPECT_NE(with([&](auto& x) { x.arm = large; }), "");
  EXPECT_NE(with([&](auto& x) { x.metrics.back() = large; }), "");
  EXPECT_NE(with([&](auto& x) { x.recordings = {{large, 1, 1}}; }), "");
}

// Every scenario that comes with the program reads back as the same world.
TEST(job_text, is_the_same_world_for_all_scenarios) {
  std::size_t arms = 0;
  auto dir = test::source_path("demos/scenarios");
  for (const auto& file : std::filesystem::recursive_directory_iterator{dir}) {
    if (file.path().extension() != ".toml")
      continue;
    problems found;
    auto root = read_toml_file(file.path(), found);
    ASSERT_TRUE(found.empty());
    auto base = file.path().parent_path();
    for (const auto& arm : scenario_from(root, "x", base).arms) {
      auto text = job_text(root, arm.name);
      auto again = settings_of(text);
      auto all = scenario_from(again, "y", base);
      ASSERT_EQ(all.arms.size(), 1u) << file.path();
      EXPECT_EQ(world_hash(again, all.arms[0], "1"), world_hash(root, arm, "1"))
        << file.path() << " " << arm.name;
      // In the same order, too.
      ASSERT_EQ(all.arms[0].services.size(), arm.services.size());
      for (std::size_t i = 0; i < arm.services.size(); ++i)
        EXPECT_EQ(all.arms[0].services[i].name, arm.services[i].name);
      ASSERT_EQ(all.arms[0].loads.size(), arm.loads.size());
      for (std::size_t i = 0; i < arm.loads.size(); ++i)
        EXPECT_EQ(all.arms[0].loads[i].name, arm.loads[i].name);
      ++arms;
    }
  }
  EXPECT_GT(arms, 30u);
}

} // namespace
} // namespace caisson::sim
