// Faults that count requests, at random.
#include <support/sim_scenarios.hpp>
#include <support/simulated.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using test::counting_world;
using test::played;
using testing::SizeIs;

// The share of good requests, `mean_requests_between_failures` by the sum of
// both, is not hit, whatever the load is like.
TEST(random_counted_faults, leave_the_share_of_requests_that_theory_says) {
  for (std::uint64_t seed : {1, 2, 3}) {
    auto r = played(
      "length = '1000s'\n[service.s]\nreplicas = 5\ntime = '0s'\n"
      "[load.u]\nprofile = [['0s', 10], ['500s', 150]]\n"
      "target = 's'\n[[fault]]\nkind = 'errors'\ntarget = 's'\n"
      "mean_requests_between_failures = 40\nmean_requests_to_repair = 10\n",
      {}, seed);
    auto share = static_cast<double>(r.totals.good)
                 / static_cast<double>(r.totals.offered);
    // 80,000 requests in 1,600 rounds.
    EXPECT_NEAR(share, 0.8, 0.02) << "seed " << seed;
    EXPECT_NEAR(static_cast<double>(r.counted_faults.at(0).begun), 1600, 150)
      << "seed " << seed;
    EXPECT_THAT(r.counted_faults[0].times, SizeIs(500));
  }
}

TEST(random_counted_faults, are_the_same_with_the_same_seed) {
  auto world = counting_world(
    "kind = 'crash'\nmean_requests_between_failures = 3\nmttr = '30ms'\n"
    "[[fault]]\nkind = 'errors'\ntarget = 's'\n"
    "mtbf = '300ms'\nmean_requests_to_repair = 2",
    "time = '1ms'\nreplicas = 3\n");
  EXPECT_EQ(played(world).digest, played(world).digest);
  EXPECT_NE(played(world).digest, played(world, {}, 2).digest);
}

TEST(random_counted_faults, come_so_often_and_then_no_more) {
  auto r = played("length = '300s'\n[service.s]\ntime = '0s'\n[load.u]\nkind = "
                  "'constant'\nrate = 1000\ntarget = 's'\n[[fault]]\nkind = "
                  "'errors'\ntarget = 's'\nmean_requests_between_failures = 1\n"
                  "for_requests = 1\n");
  EXPECT_EQ(r.counted_faults.at(0).begun, 100'000u);
  EXPECT_TRUE(r.counted_faults[0].cut_off);
  EXPECT_EQ(r.totals.failed, 100'000u);
  ASSERT_FALSE(r.warnings.empty());
  EXPECT_EQ(r.warnings.back(), "fault[0] (errors s) came 100000 times, and did "
                               "not come again after that");
}

} // namespace
} // namespace caisson::sim
