// Adaptive limits come near the optimum after a step of load or capacity, which
// must not be a matter of luck: the scenarios with many seeds.
#include <support/source_dir.hpp>

#include <simulator/play/run.hpp>
#include <simulator/report/expectations.hpp>
#include <simulator/scenario/scenario.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace caisson::sim {
namespace {

const std::filesystem::path theory_directory = test::source_path(
  "demos/scenarios/theory");

class adaptive_step : public testing::TestWithParam<std::uint64_t> {
public:
  static void play(const char* file, std::uint64_t seed) {
    auto s = load_scenario(theory_directory / file);
    auto limits = 0;
    for (const auto& arm : s.arms) {
      if (arm.name == "none" || arm.name == "before" || arm.name == "best")
        continue;
      ++limits;
      run_options o;
      o.seed = seed;
      for (const auto& line : failed_expectations(arm, run_arm(arm, o)))
        ADD_FAILURE() << line;
    }
    EXPECT_EQ(limits, 5);
  }
};

TEST_P(adaptive_step, of_the_load_ends_near_the_optimum) {
  play("adaptive-load-step.toml", GetParam());
}

TEST_P(adaptive_step, of_the_capacity_ends_near_the_optimum) {
  play("adaptive-capacity-step.toml", GetParam());
}

// The scenarios themselves have the first seed.
INSTANTIATE_TEST_SUITE_P(seeds, adaptive_step,
                         testing::Range<std::uint64_t>(2, 21));

} // namespace
} // namespace caisson::sim
