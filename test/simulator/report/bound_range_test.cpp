// The seconds that a bound on a number of the result is about.
#include <simulator/play/run.hpp>
#include <simulator/report/expectations.hpp>
#include <simulator/scenario/scenario.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace caisson::sim {
namespace {

// What fails if 100 requests a second begin, all of them well.
std::vector<std::string> failed_of(const std::string& times,
                                   const std::string& checks) {
  auto all = parse_scenario(times + R"(
[service.web]
workers = 10
[load.users]
kind = "constant"
rate = 100
target = "web"
[expect]
check = [
)" + checks + "]\n",
                            "a.toml");
  return failed_expectations(all.arms.at(0), run_arm(all.arms.at(0), {}));
}

TEST(a_bound, from_the_start_on_counts_the_warmup) {
  EXPECT_EQ(failed_of("length = '3s'\nwarmup = '1s'", R"(
  { metric = "offered", min = 200, max = 200 },
  { metric = "offered", from = "0s", min = 300, max = 300 },
  { metric = "offered", to = "3s", min = 300, max = 300 },
  { metric = "offered", from = "0s", to = "3s", min = 300, max = 300 },
)"),
            std::vector<std::string>{});
}

TEST(a_bound, reaches_the_end_of_a_load_within_a_second) {
  EXPECT_EQ(failed_of("length = '2500ms'", R"(
  { metric = "offered", from = "1s", min = 150, max = 150 },
  { metric = "offered", from = "2s", min = 50, max = 50 },
  { metric = "offered_rate", from = "1s", min = 100, max = 100 },
  { metric = "offered_rate", from = "1s", to = "2s", min = 100, max = 100 },
  { metric = "goodput", from = "2s", to = "3s", min = 100, max = 100 },
)"),
            std::vector<std::string>{});
}

} // namespace
} // namespace caisson::sim
