// Clients that wait for a random time.
#include <support/simulated.hpp>

#include <caisson/settings/problem.hpp>

#include <gtest/gtest.h>

#include <string>

namespace caisson::sim {
namespace {

TEST(patience, of_a_constant_is_a_timeout) {
  auto with = [](const std::string& wait) {
    return test::log_of(R"(
length = "5s"
[service.db]
time = { kind = "exponential", mean = "10ms" }
[load.users]
target = "db"
rate = 100
attempts = 2
)" + wait);
  };
  auto lines = with("timeout = \"20ms\"");
  EXPECT_GT(lines.size(), 1000u);
  EXPECT_EQ(with("patience = \"20ms\""), lines);
}

TEST(patience, is_not_given_beside_a_timeout) {
  try {
    (void)parse_scenario(R"(
length = "5s"
[service.db]
[load.users]
target = "db"
rate = 100
timeout = "1s"
patience = "1s"
)",
                         "f");
    FAIL() << "accepted";
  } catch (const config_error& e) {
    EXPECT_NE(std::string{e.what()}.find("cannot be given beside"),
              std::string::npos)
      << e.what();
  }
}

} // namespace
} // namespace caisson::sim
