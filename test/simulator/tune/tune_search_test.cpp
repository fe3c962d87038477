// The search of `caisson tune` with functions whose best is known.
#include <simulator/tune/tune_ranking.hpp>
#include <simulator/tune/tune_search.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <vector>

namespace caisson::sim {
namespace {

using row_numbers = std::vector<double>;
using candidate_ids = std::vector<std::size_t>;

std::vector<sweep_value> all_integers(std::int64_t lo, std::int64_t hi) {
  std::vector<sweep_value> out;
  for (auto i = lo; i <= hi; ++i)
    out.push_back(sweep_value_of({i, {}}));
  return out;
}

tune_axis equal_steps(std::size_t n) {
  return axis_of(all_integers(0, static_cast<std::int64_t>(n) - 1));
}

// -- the search ---------------------------------------------------------------

// A function of a point with noise, part of which is the same for all.
struct noisy {
  std::function<row_numbers(const tune_point&, keyed_random& common,
                            keyed_random& own)>
    row;
  std::size_t spent = 0;
  std::size_t most = 1'000'000;
  std::set<tune_point> played = {};

  bool operator()(std::vector<tune_candidate>& all, const candidate_ids& which,
                  std::size_t trials, std::uint64_t seed) {
    for (auto i : which)
      for (auto t = all[i].rows.size(); t < trials; ++t) {
        if (spent == most)
          return false;
        ++spent;
        played.insert(all[i].point);
        auto key = draw_key{seed}.with("noise").with(t);
        keyed_random common{key};
        auto own_key = key.with("own");
        for (auto x : all[i].point)
          own_key = own_key.with(x);
        keyed_random own{own_key};
        all[i].rows.push_back(row(all[i].point, common, own));
      }
    return true;
  }
};

tune_search_result found_by(noisy& f, const tune_space& space,
                            const tune_targets& targets, std::uint64_t seed,
                            std::size_t budget, tune_point start,
                            std::size_t trials = 16) {
  tune_search s{space,
                targets,
                {.trials = trials,
                 .budget = budget,
                 .first = (budget - trials) / 2,
                 .key = draw_key{seed}},
                [&](auto& all, const auto& which, std::size_t n) {
                  return f(all, which, n, seed);
                }};
  return s.run({.point = std::move(start)});
}

tune_point best_of(const tune_search_result& r, const tune_targets& t) {
  auto order = best_first(r.contenders(t, draw_key{1}), r.trials, t);
  return r.candidates[order.at(0)].point;
}

const tune_targets least_of_first{{}, {{0, tune_sense::less, {}}}};

TEST(tune_search, finds_the_best_of_a_noisy_function) {
  tune_space space{
    {equal_steps(101), axis_of(all_integers(1, 1000)), {.size = 4}}};
  const auto& ratios = space.axes()[1].positions;
  noisy f{[&](const tune_point& p, keyed_random& common, keyed_random& own) {
    auto x = p[0] / 100.0 - 0.3;
    auto y = ratios[p[1]] - 0.6;
    return row_numbers{x * x + y * y + (p[2] == 2 ? 0 : 0.2) + common.uniform()
                       + 0.1 * own.uniform()};
  }};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    f.spent = 0;
    auto r = found_by(f, space, least_of_first, seed, 1000, {100, 0, 0});
    auto best = best_of(r, least_of_first);
    EXPECT_NEAR(best[0] / 100.0, 0.3, 0.15) << "seed " << seed;
    EXPECT_NEAR(ratios[best[1]], 0.6, 0.15) << "seed " << seed;
    EXPECT_EQ(best[2], 2u) << "seed " << seed;
    EXPECT_LE(r.spent, 1000u);
    EXPECT_GE(r.spent, 900u);
    EXPECT_EQ(r.spent, f.spent);
    EXPECT_FALSE(r.complete);
  }
}

TEST(tune_search, is_exact_without_noise) {
  tune_space space{{equal_steps(60), equal_steps(60), equal_steps(60)}};
  noisy f{[](const tune_point& p, keyed_random&, keyed_random&) {
    return row_numbers{std::abs(p[0] - 41.0) + std::abs(p[1] - 7.0)
                       + std::abs(p[2] - 59.0)};
  }};
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    EXPECT_EQ(
      best_of(found_by(f, space, least_of_first, seed, 2000, {0, 0, 0}, 4),
              least_of_first),
      (tune_point{41, 7, 59}))
      << "seed " << seed;
}

TEST(tune_search, finds_the_best_within_a_need) {
  // The first number falls with x, the second must not fall below 0.5.
  tune_space space{{equal_steps(1001)}};
  tune_targets t{{{1, tune_sense::more, 0.5}}, {{0, tune_sense::less, {}}}};
  noisy f{[](const tune_point& p, keyed_random&, keyed_random& own) {
    auto x = p[0] / 1000.0;
    return row_numbers{1 - x, 1 - x * x + 0.02 * (own.uniform() - 0.5)};
  }};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto r = found_by(f, space, t, seed, 600, {0});
    auto x = best_of(r, t)[0] / 1000.0;
    EXPECT_NEAR(x, std::sqrt(0.5), 0.03) << "seed " << seed;
    auto front = front_of(r.contenders(t, draw_key{1}), r.trials,
                          t.trade_off());
    EXPECT_GE(front.size(), 8u) << "seed " << seed;
  }
}

TEST(tune_search, finds_a_front_of_two) {
  tune_space space{{equal_steps(101), equal_steps(101)}};
  tune_targets t{{}, {{0, tune_sense::less, {}}, {1, tune_sense::less, {}}}};
  // The front is y = 0.
  noisy f{[](const tune_point& p, keyed_random&, keyed_random&) {
    auto x = p[0] / 100.0;
    auto y = p[1] / 100.0;
    return row_numbers{x + y, (1 - x) * (1 - x) + y};
  }};
  auto r = found_by(f, space, t, 1, 1500, {50, 100}, 4);
  auto front = front_of(r.contenders(t, draw_key{1}), r.trials, t.trade_off());
  ASSERT_GE(front.size(), 15u);
  std::size_t right = 0;
  for (auto i : front)
    right += r.candidates[i].point[1] <= 2;
  EXPECT_GE(right, front.size() * 3 / 4);
}

TEST(tune_search, tries_everything_if_it_can) {
  tune_space space{{equal_steps(5), {.size = 2}}};
  noisy f{[](const tune_point& p, keyed_random&, keyed_random&) {
    return row_numbers{double(p[0] != 3) + double(p[1] != 1)};
  }};
  auto r = found_by(f, space, least_of_first, 1, 160, {0, 0});
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.spent, 160u);
  EXPECT_EQ(f.played.size(), 10u);
  EXPECT_EQ(best_of(r, least_of_first), (tune_point{3, 1}));
  f.spent = 0;
  EXPECT_FALSE(found_by(f, space, least_of_first, 1, 159, {0, 0}).complete);
}

TEST(tune_search, has_a_single_candidate) {
  tune_space space{{equal_steps(1)}};
  noisy f{[](const tune_point&, keyed_random&, keyed_random&) {
    return row_numbers{1};
  }};
  auto r = found_by(f, space, least_of_first, 1, 32, {0});
  EXPECT_EQ(r.candidates.size(), 1u);
  EXPECT_EQ(r.spent, 16u);
  EXPECT_TRUE(r.complete);
}

TEST(tune_search, keeps_all_when_all_are_equal) {
  tune_space space{{equal_steps(200)}};
  noisy f{[](const tune_point&, keyed_random&, keyed_random&) {
    return row_numbers{1};
  }};
  EXPECT_EQ(
    best_of(found_by(f, space, least_of_first, 1, 300, {77}), least_of_first),
    tune_point{77});
}

TEST(tune_search, compares_what_it_has_when_it_is_stopped) {
  tune_space space{{equal_steps(1000)}};
  noisy f{[](const tune_point& p, keyed_random&, keyed_random&) {
    return row_numbers{std::abs(p[0] - 500.0)};
  }};
  for (std::size_t most : {0u, 3u, 16u, 17u, 60u, 200u}) {
    f.spent = 0;
    f.most = most;
    auto r = found_by(f, space, least_of_first, 1, 500, {0});
    EXPECT_TRUE(r.interrupted);
    EXPECT_EQ(r.spent, most);
    auto all = r.contenders(least_of_first, draw_key{1});
    EXPECT_EQ(all.empty(), most == 0) << most;
    for (const auto& c : all)
      EXPECT_GE(c.rows->size(), r.trials);
    if (most >= 60) {
      EXPECT_NE(best_of(r, least_of_first), tune_point{0}) << most;
    }
  }
}

TEST(tune_search, leaves_out_what_is_not_allowed) {
  tune_space space{{equal_steps(400)}};
  noisy f{[](const tune_point& p, keyed_random&, keyed_random&) {
    return row_numbers{-double(p[0])};
  }};
  tune_search s{space,
                least_of_first,
                {.trials = 4, .budget = 200, .first = 100, .key = draw_key{1}},
                [&](auto& all, const auto& which, std::size_t n) {
                  candidate_ids allowed;
                  for (auto i : which)
                    if (all[i].point[0] > 250)
                      all[i].allowed = false;
                    else
                      allowed.push_back(i);
                  return f(all, allowed, n, 1);
                }};
  auto r = s.run({.point = {0}});
  EXPECT_GE(best_of(r, least_of_first)[0], 240u);
  EXPECT_LE(best_of(r, least_of_first)[0], 250u);
}

TEST(tune_search, ends_early_with_something_to_compare) {
  tune_space space{{equal_steps(1000)}};
  noisy f{[](const tune_point& p, keyed_random&, keyed_random&) {
    return row_numbers{std::abs(p[0] - 500.0)};
  }};
  tune_search s{space,
                least_of_first,
                {.trials = 16,
                 .budget = 100'000,
                 .first = 250,
                 .key = draw_key{1},
                 .enough = [] { return true; }},
                [&](auto& all, const auto& which, std::size_t n) {
                  return f(all, which, n, 1);
                }};
  auto r = s.run({.point = {0}});
  EXPECT_FALSE(r.interrupted);
  EXPECT_EQ(r.trials, 16u);
  EXPECT_LT(r.spent, 250u);
  EXPECT_NEAR(best_of(r, least_of_first)[0], 500, 50);
}

} // namespace
} // namespace caisson::sim
