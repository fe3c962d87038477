// Times to threshold against theory.
#include <simulator/report/metrics.hpp>

#include <support/sim_results.hpp>
#include <support/sim_scenarios.hpp>

#include <simulator/play/run.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace caisson::sim {
namespace {

// From empty to n inside: from i to i + 1 it takes 1/λ on average, and with
// every step back in between, which there are μ/λ of, as long as from i - 1.
double mean_threshold_time(double arrivals, double services, int n) {
  double step = 0;
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    step = 1 / arrivals + (i == 0 ? 0 : services / arrivals * step);
    sum += step;
  }
  return sum;
}

TEST(threshold_theory, gives_the_mean_times_of_a_markovian_queue) {
  struct load {
    int rate;
    int inside;
  };
  for (auto [rate, n] : {load{50, 4}, load{80, 6}}) {
    auto expected = mean_threshold_time(rate, 100, n);
    double sum = 0;
    std::size_t count = 0;
    // Chosen at random, each of 100 replicas is a queue of its own.
    auto arm = test::only_arm(
      "length = '20s'\n[service.s]\nreplicas = 100\ntime = { kind = "
      "'exponential', mean = '10ms' }\n[load.u]\nkind = 'poisson'\nrate = "
      + std::to_string(100 * rate)
      + "\ntarget = 's'\n[[edge]]\nbalancer = 'random'\n");
    for (std::uint64_t seed : {1, 2, 3, 4}) {
      run_options o;
      o.seed = seed;
      o.step = one_row;
      for (int i = 1; i <= 100; ++i)
        o.metrics.push_back("first(service.s#" + std::to_string(i)
                            + ".inside >= " + std::to_string(n) + ")");
      auto r = run_arm(arm, o);
      for (const auto& name : o.metrics) {
        auto x = metric_of(r, name);
        ASSERT_TRUE(std::isfinite(x)) << name << " seed " << seed;
        sum += x;
        ++count;
      }
    }
    // Nearly exponential: 400 of them are right to 5 % or better.
    EXPECT_NEAR(sum / static_cast<double>(count), expected, 0.15 * expected)
      << rate;
  }
}

} // namespace
} // namespace caisson::sim
