// Keys that are asked for more often than others.
#include <support/simulated.hpp>

#include <simulator/world/popularity.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

// The probabilities of Zipf's law.
std::vector<double> zipf(std::uint32_t keys, double skew) {
  std::vector<double> p;
  double sum = 0;
  for (std::uint32_t i = 1; i <= keys; ++i)
    sum += p.emplace_back(1 / std::pow(i, skew));
  for (auto& x : p)
    x /= sum;
  return p;
}

TEST(popularity, draws_keys_by_zipfs_law) {
  constexpr std::uint32_t keys = 50;
  constexpr int draws = 200'000;
  for (double skew : {0.0, 0.5, 1.0, 2.0}) {
    popularity all{keys, skew};
    std::vector<int> count(keys);
    keyed_random random{draw_key{42}};
    for (int i = 0; i < draws; ++i) {
      auto key = all.draw(random);
      ASSERT_LT(key, keys);
      ++count[key];
    }
    auto p = zipf(keys, skew);
    for (std::uint32_t i = 0; i < keys; ++i) {
      auto expected = p[i] * draws;
      EXPECT_NEAR(count[i], expected, 5 * std::sqrt(expected) + 1)
        << "key " << i << ", skew " << skew;
    }
  }
}

TEST(popularity, of_a_single_key_is_that_key) {
  for (double skew : {0.0, 1.0, 10.0}) {
    keyed_random random{draw_key{1}};
    EXPECT_EQ((popularity{1, skew}.draw(random)), 0u);
  }
}

// A key that is asked for λ times a second, and kept for T after each miss, is
// missed once per T + 1/λ.
TEST(popularity, gives_a_cache_the_hit_ratio_of_theory) {
  for (double skew : {0.0, 0.8, 1.2}) {
    constexpr double rate = 200;
    constexpr double ttl = 20;
    double missed = 0;
    for (auto p : zipf(2000, skew))
      missed += p / (1 + rate * p * ttl);
    auto r = test::played(R"(
length = "400s"
warmup = "60s"
[service.shop]
workers = "unlimited"
calls = [{ to = "store", cache_keys = 2000, cache_ttl = "20s", cache_skew = )"
                          + std::to_string(skew) + R"( }]
[service.store]
workers = "unlimited"
[load.users]
rate = 200
target = "shop"
)");
    auto offered = static_cast<double>(r.totals.offered);
    auto share = static_cast<double>(r.services[1].arrivals) / offered;
    // Misses are nearly independent.
    EXPECT_NEAR(share, missed, 5 * std::sqrt(missed / offered)) << skew;
  }
}

} // namespace
} // namespace caisson::sim
