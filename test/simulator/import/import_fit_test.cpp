// Distributions of measured times.
#include <simulator/import/fit.hpp>
#include <simulator/import/normal_quantile.hpp>
#include <simulator/scenario/distribution.hpp>
#include <simulator/scenario/distribution_value.hpp>

#include <caisson/settings/setting.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

std::vector<double> drawn(const distribution& from, std::size_t n,
                          std::uint64_t seed = 1) {
  keyed_random random{draw_key{seed}};
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i)
    out.push_back(static_cast<double>(from.draw(random).count()));
  return out;
}

double mean_of_times(const std::vector<double>& xs) {
  return std::accumulate(xs.begin(), xs.end(), 0.0)
         / static_cast<double>(xs.size());
}

TEST(fit, finds_what_the_times_were_drawn_from) {
  struct {
    distribution from;
    const char* kind;
    double ratio;
  } cases[] = {
    {distribution{5ms}, "constant", 0},
    {distribution::exponential(5ms), "exponential", 0},
    {distribution::lognormal(5ms, 0.5), "lognormal", 0.5},
    {distribution::lognormal(5ms, 2), "lognormal", 2},
    {distribution::normal(5ms, 0.2), "normal", 0.2},
    {distribution::uniform(2ms, 8ms), "uniform", 0},
    {distribution::weibull(5ms, 0.5), "weibull", 0.5},
    {distribution::hyperexponential(5ms, 3), "hyperexponential", 3},
  };
  for (const auto& c : cases)
    for (std::uint64_t seed : {1, 2, 3}) {
      auto times = drawn(c.from, 20'000, seed);
      auto x = fit(times, times_kind::best);
      EXPECT_EQ(kind_name(x), c.kind) << "seed " << seed;
      EXPECT_LE(x.error, fit_tolerance) << c.kind;
      EXPECT_NEAR(x.mean, mean_of_times(times), 1);
      if (c.ratio > 0) {
        EXPECT_NEAR(x.ratio, c.ratio, c.ratio * 0.06) << c.kind;
      }
    }
}

TEST(fit, keeps_the_values_where_nothing_fits) {
  auto times = drawn(distribution::bimodal(2ms, 50ms, 0.2), 10'000);
  auto x = fit(times, times_kind::best);
  EXPECT_EQ(kind_name(x), "empirical");
  EXPECT_EQ(x.values.size(), most_fitted_values);
  EXPECT_NEAR(mean_of_times(x.values), mean_of_times(times), 1);
  EXPECT_TRUE(std::ranges::is_sorted(x.values));
  // Whoever asks for a formula gets the one that is least wrong.
  x = fit(times, times_kind::fitted);
  EXPECT_NE(kind_name(x), "empirical");
  EXPECT_GT(x.error, fit_tolerance);
}

TEST(fit, keeps_the_values_if_it_is_asked_to) {
  std::vector<double> times{30, 10, 20};
  auto x = fit(times, times_kind::empirical);
  EXPECT_EQ(kind_name(x), "empirical");
  EXPECT_EQ(x.values, (std::vector<double>{10, 20, 30}));
  // Which no value could say better.
  times = {7, 7, 7};
  EXPECT_EQ(kind_name(fit(times, times_kind::empirical)), "constant");
}

TEST(fit, takes_few_times_and_zeros) {
  std::vector<double> times;
  EXPECT_EQ(fit(times, times_kind::best).mean, 0);
  times = {4e6};
  EXPECT_EQ(fit(times, times_kind::best).mean, 4e6);
  times = {0, 0, 0};
  EXPECT_EQ(kind_name(fit(times, times_kind::best)), "constant");
  times = {0, 0, 0, 1e6};
  for (auto how :
       {times_kind::best, times_kind::fitted, times_kind::empirical}) {
    auto copy = times;
    EXPECT_DOUBLE_EQ(fit(copy, how).mean, 250'000);
  }
}

// What is written reads back as the same distribution.
TEST(setting_of, is_what_a_scenario_reads) {
  for (const auto& from :
       {distribution{5ms}, distribution::exponential(5ms),
        distribution::lognormal(5ms, 0.5), distribution::normal(5ms, 0.2),
        distribution::uniform(2ms, 8ms), distribution::weibull(5ms, 0.5),
        distribution::hyperexponential(5ms, 3),
        distribution::bimodal(2ms, 50ms, 0.2)}) {
    auto times = drawn(from, 5000);
    auto x = fit(times, times_kind::best);
    distribution read;
    problems found;
    field_value_for<distribution> value{read};
    value.read(setting_of(x), {}, found);
    value.check({}, found);
    EXPECT_EQ(to_text(found), "") << kind_name(x);
    EXPECT_NEAR(to_seconds(read.mean()) * 1e9 / x.mean, 1, 1e-3)
      << kind_name(x);
  }
}

TEST(fit_moments, makes_two_ways_as_varied_as_the_whole) {
  EXPECT_EQ(kind_name(fit_moments(5e6, 0)), "constant");
  auto x = fit_moments(5e6, 0.7);
  EXPECT_EQ(kind_name(x), "lognormal");
  EXPECT_EQ(x.ratio, 0.7);
}

TEST(normal_quantile, is_exact) {
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-12);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-10);
  EXPECT_NEAR(normal_quantile(0.01), -2.326347874040841, 1e-10);
  EXPECT_NEAR(normal_quantile(1e-6), -4.753424308822899, 1e-8);
}

} // namespace
} // namespace caisson::sim
