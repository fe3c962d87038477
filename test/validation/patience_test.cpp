// A queue whose clients wait for a random time.
#include <support/simulated.hpp>

#include <gtest/gtest.h>

#include <string>

namespace caisson::sim {
namespace {

// One worker of rate µ, requests of rate λ, each of which is gone after an
// exponential time of rate θ if it is not served by then: with n of them inside
// one leaves at the rate µ + n·θ.
double served_share(double lambda, double mu, double theta) {
  double all = 1;
  double weight = 1;
  for (int n = 1; n < 1000; ++n)
    all += weight *= lambda / (mu + n * theta);
  return mu * (1 - 1 / all) / lambda;
}

arm_result play(double lambda, double mean_patience_ms) {
  return test::played(R"(
length = "1000s"
warmup = "10s"
[service.db]
time = { kind = "exponential", mean = "10ms" }
abandoned = "cancel"
[load.users]
target = "db"
rate = )" + std::to_string(lambda)
                      + R"(
patience = { kind = "exponential", mean = ")"
                      + std::to_string(mean_patience_ms) + R"(ms" }
)");
}

TEST(patience_theory, loses_as_many_requests_as_theory_says) {
  struct {
    double lambda;
    double patience_ms;
  } const rows[] = {{50, 50}, {80, 50}, {80, 200}, {150, 100}, {300, 20}};
  for (const auto& row : rows) {
    auto r = play(row.lambda, row.patience_ms);
    auto expected = served_share(row.lambda, 100, 1000 / row.patience_ms);
    auto offered = static_cast<double>(r.totals.offered);
    auto share = static_cast<double>(r.totals.good) / offered;
    EXPECT_NEAR(share, expected, 0.008)
      << row.lambda << "/s, " << row.patience_ms << " ms";
  }
}

} // namespace
} // namespace caisson::sim
