// The scenarios that come with Caisson: those in `theory` and the retry storm
// give the published numbers, those in `published` what is published of limits
// and queues, and where they hurt, those in `loop` show what each link is
// worth, and the others end as they promise. All state it in their `expect`.
// Not played here are those whose traces are not part of this repository.
#include <support/source_dir.hpp>

#include <simulator/play/run.hpp>
#include <simulator/report/expectations.hpp>
#include <simulator/scenario/scenario.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

const std::filesystem::path directory = test::source_path("demos/scenarios");

std::vector<std::string> files_below(const std::filesystem::path& where) {
  std::vector<std::string> out;
  for (const auto& x : std::filesystem::recursive_directory_iterator{where})
    if (x.path().extension() == ".toml")
      out.push_back(
        std::filesystem::relative(x.path(), directory).generic_string());
  std::sort(out.begin(), out.end());
  return out;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  auto name = info.param.substr(0, info.param.rfind('.'));
  for (auto& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return name;
}

class scenario_file : public testing::TestWithParam<std::string> {};

TEST_P(scenario_file, keeps_what_it_promises) {
  auto s = load_scenario(directory / GetParam());
  for (const auto& arm : s.arms) {
    run_options o;
    o.seed = s.seed;
    auto r = run_arm(arm, o);
    for (const auto& line : failed_expectations(arm, r))
      ADD_FAILURE() << line;
    for (const auto& x : r.services)
      EXPECT_LT(x.little_error, 1e-9) << arm.name << ' ' << x.name;
    EXPECT_EQ(r.answered_twice, 0u) << arm.name;
    EXPECT_FALSE(arm.expect.bounds.empty() && !arm.expect.verdict)
      << arm.name << " expects nothing";
  }
}

INSTANTIATE_TEST_SUITE_P(theory, scenario_file,
                         testing::ValuesIn(files_below(directory / "theory")),
                         test_name);
INSTANTIATE_TEST_SUITE_P(loop, scenario_file,
                         testing::ValuesIn(files_below(directory / "loop")),
                         test_name);
INSTANTIATE_TEST_SUITE_P(published, scenario_file,
                         testing::ValuesIn(files_below(directory
                                                       / "published")),
                         test_name);
INSTANTIATE_TEST_SUITE_P(storm, scenario_file,
                         testing::Values("retry-storm.toml"), test_name);
INSTANTIATE_TEST_SUITE_P(
  stories, scenario_file,
  testing::Values("amplification.toml", "batching.toml", "boutique.toml",
                  "breakers.toml", "learned-limit.toml", "overload.toml",
                  "partitions.toml", "payment.toml", "quiet-start.toml",
                  "server-preset.toml", "shedding.toml", "shop-overload.toml",
                  "shop.toml", "slow-dependency.toml", "thundering-herd.toml",
                  "zones.toml"),
  test_name);

} // namespace
} // namespace caisson::sim
