// Chance: what a canary's failures and latencies prove, and what they do not.
#include <policies/canary/model/canary_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using namespace canaries;

canary_config careful(double level = 0.0001) {
  auto c = quick_canary();
  c.significance_level = level;
  return c;
}

// -- failures -----------------------------------------------------------------

struct evidence {
  int baseline_good, baseline_bad, canary_good, canary_bad;
  bool goes_back;
};

// The probabilities are Chernoff's bounds, calculated apart.
TEST(canary_chance, is_what_so_many_failures_may_be) {
  const evidence table[] = {
    // All failures are the canary's, by chance 10^-n if it has a tenth of the
    // answers.
    {90, 0, 9, 1, false},
    {900, 0, 97, 3, false},
    {910, 0, 96, 4, true},
    // With half of the answers, 2^-n.
    {100, 0, 87, 13, false},
    {100, 0, 86, 14, true},
    // 5 % and 20 % of 900 and 100 answers: 2.3e-5; 1 % and 7 %: 2.2e-3; and
    // 1 % and 12 %: 6.6e-7.
    {855, 45, 80, 20, true},
    {891, 9, 93, 7, false},
    {891, 9, 88, 12, true},
    // 10 % of 20 answers and none of 10: 0.017.
    {10, 0, 10, 10, false},
    // None of the baseline is known, which is taken for a good one.
    {0, 0, 9, 1, true},
  };
  for (const auto& x : table) {
    canary_rig h{careful()};
    h.baseline_answers(x.baseline_good);
    h.baseline_answers(x.baseline_bad, failed());
    h.canary_answers(x.canary_good);
    h.canary_answers(x.canary_bad, failed());
    EXPECT_EQ(h.state(), x.goes_back ? "rolled_back" : "stage_1")
      << x.baseline_good << " " << x.baseline_bad << " " << x.canary_good << " "
      << x.canary_bad;
  }
}

TEST(canary_chance, is_what_the_level_of_the_stage_says) {
  for (auto level : {0.01, 0.25}) {
    auto c = careful();
    c.stages = {{0.1, {.significance_level = level}}, 1.0};
    canary_rig h{c};
    h.baseline_answers(90);
    h.canary_answers(9);
    h.canary_answers(1, failed());
    EXPECT_EQ(h.state(), level > 0.1 ? "rolled_back" : "stage_1");
  }
}

// What becomes of a canary in the time of 2000 calls of which it gets a tenth.
std::string state_after(canary_config c, double baseline_rate,
                        double canary_rate, unsigned seed) {
  c.stages = {0.1};
  c.min_calls = 20;
  canary_rig h{c};
  std::mt19937 random{seed};
  auto bad = [&](int n, double rate) {
    return std::binomial_distribution<int>{n, rate}(random);
  };
  auto goes_on = [&] {
    return h.state() == "waiting" || h.state() == "stage_1";
  };
  for (int second = 0; second < 200 && goes_on(); ++second) {
    auto of_baseline = bad(9, baseline_rate);
    auto of_canary = bad(1, canary_rate);
    h.baseline_answers(9 - of_baseline);
    h.baseline_answers(of_baseline, failed());
    h.canary_answers(of_canary, failed());
    if (goes_on())
      h.canary_answers(1 - of_canary);
    h.advance(1s);
  }
  return h.state();
}

bool is_rolled_back(double level, double baseline_rate, double canary_rate,
                    unsigned seed) {
  auto c = careful(level);
  c.dwell = unlimited;
  return state_after(c, baseline_rate, canary_rate, seed) == "rolled_back";
}

TEST(canary_chance, ends_no_canary_that_equals_the_baseline) {
  for (auto rate : {0.01, 0.05, 0.3}) {
    auto any_excess = 0;
    for (unsigned seed = 1; seed <= 10; ++seed) {
      EXPECT_FALSE(is_rolled_back(0.0001, rate, rate, seed))
        << rate << ", seed " << seed;
      any_excess += is_rolled_back(1, rate, rate, seed);
    }
    EXPECT_GE(any_excess, 5) << rate;
  }
}

TEST(canary_chance, saves_no_canary_that_is_worse) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    EXPECT_TRUE(is_rolled_back(0.0001, 0, 0.2, seed)) << "seed " << seed;
    EXPECT_TRUE(is_rolled_back(0.0001, 0.01, 0.3, seed)) << "seed " << seed;
    EXPECT_TRUE(is_rolled_back(0.0001, 0.05, 0.5, seed)) << "seed " << seed;
  }
}

// -- latencies ----------------------------------------------------------------

// One in a hundred is longer than the baseline's 99th percentile: 7 of 100 are
// by chance with 4.1e-4, 8 with 5.1e-5.
TEST(canary_chance, is_what_a_few_slow_answers_may_be) {
  canary_rig h{careful()};
  h.baseline_answers(100, outcome::success(), 10ms);
  h.canary_answers(93, outcome::success(), 10ms);
  h.canary_answers(7, outcome::success(), 1s);
  EXPECT_EQ(h.state(), "stage_1");
  canary_rig slower{careful()};
  slower.baseline_answers(100, outcome::success(), 10ms);
  slower.canary_answers(92, outcome::success(), 10ms);
  slower.canary_answers(8, outcome::success(), 1s);
  EXPECT_EQ(slower.state(), "rolled_back");
}

// 14.8 ms are allowed, and in the bucket of the histogram that has the limit.
TEST(canary_chance, is_not_less_for_answers_as_long_as_the_limit) {
  canary_rig h{careful()};
  h.baseline_answers(100, outcome::success(), 10ms);
  h.canary_answers(92, outcome::success(), 10ms);
  h.canary_answers(6, outcome::success(), 14'800us);
  h.canary_answers(2, outcome::success(), 1s);
  EXPECT_EQ(h.state(), "stage_1");
}

// 20 of 1000 are chance with 0.02, but with 0.92 if 20 answers of the baseline
// say what its percentile is.
TEST(canary_chance, is_more_if_the_baseline_is_hardly_known) {
  for (auto baseline : {20, 1000}) {
    canary_rig h{careful(0.25)};
    h.baseline_answers(baseline, outcome::success(), 10ms);
    h.canary_answers(980, outcome::success(), 10ms);
    h.canary_answers(20, outcome::success(), 1s);
    EXPECT_EQ(h.state(), baseline == 20 ? "stage_1" : "rolled_back");
  }
}

// -- the end of a stage -------------------------------------------------------

TEST(canary_chance, keeps_a_stage_until_more_is_known) {
  canary_rig h{careful()};
  h.baseline_answers(90);
  h.canary_answers(9);
  h.canary_answers(1, failed());
  h.advance(10s);
  EXPECT_EQ(h.state(), "stage_1");
  // Two of 99 are more than 2 % above.
  h.canary_answers(1, failed());
  h.canary_answers(88);
  EXPECT_EQ(h.state(), "stage_1");
  // Less are not, but it has looked worse a moment ago.
  h.canary_answers(1);
  EXPECT_EQ(h.state(), "stage_1");
  h.advance(1min - 1ns);
  h.canary_answers(1);
  EXPECT_EQ(h.state(), "stage_1");
  h.advance(1ns);
  h.canary_answers(1);
  EXPECT_EQ(h.state(), "stage_2");
}

// Both fail alike, until the baseline answers well: the end of the stage is the
// first that knows.
TEST(canary_chance, keeps_a_stage_if_it_is_worse_at_its_end) {
  canary_rig h{careful()};
  h.baseline_answers(45);
  h.baseline_answers(5, failed());
  h.canary_answers(9);
  h.canary_answers(1, failed());
  h.baseline_answers(450);
  h.advance(10s);
  EXPECT_EQ(h.state(), "stage_1");
}

TEST(canary_chance, keeps_a_stage_of_a_canary_that_may_be_slow) {
  canary_rig h{careful()};
  h.baseline_answers(100, outcome::success(), 10ms);
  h.canary_answers(1, outcome::success(), 1s);
  h.canary_answers(98, outcome::success(), 10ms);
  h.advance(10s);
  EXPECT_EQ(h.state(), "stage_1");
  h.advance(1min);
  h.canary_answers(1, outcome::success(), 10ms);
  EXPECT_EQ(h.state(), "stage_2");
}

// It fails seven times as often, and does not get on by the answers at which it
// happens to look well.
TEST(canary_chance, promotes_no_canary_that_looks_worse_now_and_then) {
  for (unsigned seed = 1; seed <= 10; ++seed)
    EXPECT_NE(state_after(careful(), 0.02, 0.15, seed), "promoted") << seed;
}

} // namespace
} // namespace caisson::test
