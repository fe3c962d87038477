// Compares candidates as `caisson tune` does.
#include <simulator/tune/confidence.hpp>
#include <simulator/tune/halton.hpp>
#include <simulator/tune/tune_fronts.hpp>
#include <simulator/tune/tune_ranking.hpp>
#include <simulator/tune/tune_space.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace caisson::sim {
namespace {

using numbers = std::vector<double>;
using indexes = std::vector<std::size_t>;

std::vector<sweep_value> integers(std::int64_t lo, std::int64_t hi) {
  std::vector<sweep_value> out;
  for (auto i = lo; i <= hi; ++i)
    out.push_back(sweep_value_of({i, {}}));
  return out;
}

tune_axis steps_of(std::size_t n) {
  return axis_of(integers(0, static_cast<std::int64_t>(n) - 1));
}

// -- spaces -------------------------------------------------------------------

TEST(tune_space, has_positions_by_differences_or_by_ratios) {
  auto narrow = axis_of(integers(1, 5));
  EXPECT_EQ(narrow.positions, (numbers{0, 0.25, 0.5, 0.75, 1}));
  auto wide = axis_of(integers(1, 100));
  EXPECT_NEAR(wide.positions[9], 0.5, 1e-12);
  EXPECT_FALSE(axis_of({sweep_value_of({std::string{"a"}, {}}),
                        sweep_value_of({std::string{"b"}, {}})})
                 .ordered());
  EXPECT_EQ(axis_of(integers(3, 3)).positions, numbers{0});
}

TEST(tune_space, counts_and_names_all_points) {
  tune_space s{{steps_of(3), steps_of(4)}};
  EXPECT_EQ(s.points(100), 12u);
  EXPECT_EQ(s.points(12), 12u);
  EXPECT_EQ(s.points(11), 11u);
  std::set<tune_point> all;
  for (std::size_t i = 0; i < 12; ++i)
    all.insert(s.nth(i));
  EXPECT_EQ(all.size(), 12u);
  EXPECT_EQ(s.nth(5), (tune_point{1, 1}));
}

TEST(tune_space, finds_the_nearest_value) {
  auto axis = steps_of(5);
  EXPECT_EQ(value_near(axis, -1), 0u);
  EXPECT_EQ(value_near(axis, 0.3), 1u);
  EXPECT_EQ(value_near(axis, 0.45), 2u);
  EXPECT_EQ(value_near(axis, 2), 4u);
}

TEST(tune_space, steps_by_at_least_one_value) {
  tune_space s{{steps_of(11), {.size = 3}}};
  auto all = s.around({5, 0}, 0.001);
  EXPECT_EQ(all, (std::vector<tune_point>{{6, 0}, {4, 0}, {5, 1}, {5, 2}}));
  EXPECT_EQ(s.around({0, 0}, 0.2),
            (std::vector<tune_point>{{2, 0}, {0, 1}, {0, 2}}));
}

TEST(tune_space, stays_within_when_it_draws) {
  tune_space s{{steps_of(11), {.size = 3}, steps_of(1), {.size = 1}}};
  keyed_random random{draw_key{1}};
  std::set<tune_point> seen;
  for (int i = 0; i < 2000; ++i) {
    auto p = s.near({5, 1, 0, 0}, 0.3, random);
    ASSERT_LT(p[0], 11u);
    ASSERT_LT(p[1], 3u);
    EXPECT_EQ(p[2], 0u);
    EXPECT_EQ(p[3], 0u);
    seen.insert(p);
  }
  EXPECT_EQ(seen.size(), 33u);
}

// -- Halton -------------------------------------------------------------------

TEST(halton, fills_each_dimension_evenly) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    halton_sequence h{most_dimensions, draw_key{seed}};
    // The first base^k points have one in each of as many equal parts.
    std::set<int> halves;
    std::set<int> thirds;
    for (std::uint64_t i = 0; i < 27; ++i) {
      auto p = h.point(i);
      ASSERT_EQ(p.size(), most_dimensions);
      for (auto x : p) {
        ASSERT_GE(x, 0);
        ASSERT_LT(x, 1);
      }
      if (i < 16)
        halves.insert(static_cast<int>(p[0] * 16));
      thirds.insert(static_cast<int>(p[1] * 27));
    }
    EXPECT_EQ(halves.size(), 16u) << seed;
    EXPECT_EQ(thirds.size(), 27u) << seed;
  }
}

TEST(halton, differs_by_seed) {
  EXPECT_NE((halton_sequence{2, draw_key{1}}.point(0)),
            (halton_sequence{2, draw_key{2}}.point(0)));
  EXPECT_EQ((halton_sequence{2, draw_key{1}}.point(7)),
            (halton_sequence{2, draw_key{1}}.point(7)));
}

// -- targets ------------------------------------------------------------------

constexpr auto inf = std::numeric_limits<double>::infinity();
constexpr auto nan_ = std::numeric_limits<double>::quiet_NaN();

TEST(tune_targets, take_what_is_missing_for_the_worst) {
  tune_target less{0, tune_sense::less, {}};
  tune_target more{0, tune_sense::more, {}};
  EXPECT_LT(estimate_of({{1}, {3}}, 2, less), estimate_of({{2}, {3}}, 2, less));
  EXPECT_LT(estimate_of({{2}, {3}}, 2, more), estimate_of({{1}, {3}}, 2, more));
  EXPECT_LT(estimate_of({{9}, {9}}, 2, less),
            estimate_of({{1}, {inf}}, 2, less));
  EXPECT_LT(estimate_of({{1}, {inf}}, 2, more),
            estimate_of({{nan_}, {inf}}, 2, more));
  // Only the first rows count.
  EXPECT_EQ(estimate_of({{1}, {inf}}, 1, less), (tune_estimate{0, 1}));
}

TEST(tune_targets, measure_by_how_much_needs_are_missed) {
  tune_targets t{{{0, tune_sense::more, 0.9}, {1, tune_sense::less, 2}},
                 {{1, tune_sense::less, {}}}};
  EXPECT_EQ(shortfall({{0.9, 2}}, 1, t), 0);
  EXPECT_NEAR(shortfall({{0.45, 3}}, 1, t), 0.5 + 0.5, 1e-12);
  EXPECT_GT(shortfall({{1, inf}, {1, 1}}, 2, t),
            shortfall({{0, 1e9}, {0, 1e9}}, 2, t));
  EXPECT_GT(shortfall({{1, inf}, {1, inf}}, 2, t),
            shortfall({{1, inf}, {1, 1}}, 2, t));
  // Means of equal numbers may differ from them in their last digits.
  tune_rows same(10, {0.1 + 0.2, 1});
  EXPECT_EQ(shortfall(same, 10, {{{0, tune_sense::less, 0.3}}, {}}), 0);
}

// -- fronts -------------------------------------------------------------------

TEST(tune_fronts, agree_with_the_definition) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    keyed_random random{draw_key{seed}};
    std::vector<tune_trade> all(1 + random.below(40));
    for (auto& t : all)
      t = {{0, double(random.below(8))}, {0, double(random.below(8))}};
    auto dominates = [](const tune_trade& a, const tune_trade& b) {
      return a.first <= b.first && a.second <= b.second && a != b;
    };
    // Takes away one front after the other.
    indexes naive(all.size());
    std::vector<bool> is_ranked(all.size());
    for (std::size_t front = 0;
         std::ranges::count(is_ranked, false) > 0 && front < 100; ++front) {
      auto before = is_ranked;
      for (std::size_t i = 0; i < all.size(); ++i) {
        auto beaten = false;
        for (std::size_t k = 0; k < all.size(); ++k)
          beaten = beaten || (!before[k] && dominates(all[k], all[i]));
        if (!before[i] && !beaten) {
          naive[i] = front;
          is_ranked[i] = true;
        }
      }
    }
    EXPECT_EQ(fronts_of(all), naive) << "seed " << seed;
  }
}

TEST(tune_fronts, give_room_to_those_who_stand_alone) {
  std::vector<tune_trade> all{{{0, 0}, {0, 10}},
                              {{0, 1}, {0, 9}},
                              {{0, 5}, {0, 5}},
                              {{0, 10}, {0, 0}},
                              {{0, 1}, {0, 9}}};
  auto room = room_on_fronts(all, fronts_of(all));
  EXPECT_EQ(room[0], inf);
  EXPECT_EQ(room[3], inf);
  EXPECT_NEAR(room[1], 1.0, 1e-12);
  EXPECT_NEAR(room[2], 1.8, 1e-12);
  EXPECT_EQ(room[4], 0);
}

// -- ranking ------------------------------------------------------------------

const tune_targets one_need{{{0, tune_sense::more, 0.9}},
                            {{1, tune_sense::less, {}}}};

TEST(tune_ranking, puts_needs_before_the_objective) {
  tune_rows good{{0.95, 5}};
  tune_rows better{{0.95, 4}};
  tune_rows near{{0.89, 1}};
  tune_rows far{{0.5, 0}};
  tune_rows lucky{{0.95, 1}};
  std::vector<tune_contender> all{
    {0, &far}, {1, &near}, {2, &good}, {3, &better}, {4, &lucky, 0.6}};
  EXPECT_EQ(best_first(all, 1, one_need), (indexes{3, 2, 4, 1, 0}));
}

TEST(tune_ranking, prefers_what_was_there_first_among_equals) {
  tune_rows same{{1, 5}};
  std::vector<tune_contender> all{{2, &same}, {0, &same}, {1, &same}};
  EXPECT_EQ(best_first(all, 1, one_need), (indexes{0, 1, 2}));
}

TEST(tune_ranking, keeps_a_third_for_the_front) {
  std::vector<tune_rows> rows{{{0.95, 5}}, {{0.95, 6}}, {{0.95, 7}},
                              {{0.95, 8}}, {{0.1, 0}},  {{0.99, 9}}};
  std::vector<tune_contender> all;
  for (std::size_t i = 0; i < rows.size(); ++i)
    all.push_back({i, &rows[i]});
  auto order = best_with_front(all, 1, one_need);
  EXPECT_EQ((indexes{order.begin(), order.begin() + 3}), (indexes{0, 1, 4}));
  EXPECT_EQ((std::set<std::size_t>{order.begin(), order.end()}.size()), 6u);
  EXPECT_EQ(front_of(all, 1, one_need.trade_off()), (indexes{4, 0, 5}));
}

TEST(tune_ranking, finds_the_knee) {
  std::vector<tune_rows> rows{{{0, 10}}, {{1, 2}}, {{5, 1}}, {{10, 0}}};
  std::vector<tune_contender> all;
  for (std::size_t i = 0; i < rows.size(); ++i)
    all.push_back({i, &rows[i]});
  EXPECT_EQ(
    knee_of(all, 1, {{0, tune_sense::less, {}}, {1, tune_sense::less, {}}}),
    1u);
}

// -- confidence ---------------------------------------------------------------

TEST(bootstrap, covers_the_mean_about_as_often_as_it_says) {
  // 300 samples of 30 numbers each, uniform from 0 to 1.
  std::size_t covered = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    keyed_random random{draw_key{seed}};
    tune_rows rows;
    for (int i = 0; i < 30; ++i)
      rows.push_back({random.uniform()});
    auto ci = bootstrap{30, draw_key{seed}.with("b")}.interval(rows, 0);
    covered += ci.from <= 0.5 && 0.5 <= ci.to;
  }
  // 285 are expected, and a few less from so few numbers; the standard
  // deviation is 4.
  EXPECT_GE(covered, 266u);
  EXPECT_LE(covered, 299u);
}

TEST(bootstrap, sees_paired_differences_behind_common_noise) {
  keyed_random random{draw_key{3}};
  tune_rows a;
  tune_rows b;
  for (int i = 0; i < 16; ++i) {
    auto common = 100 * random.uniform();
    a.push_back({common + random.uniform()});
    b.push_back({common + 1 + random.uniform()});
  }
  tune_target less{0, tune_sense::less, {}};
  bootstrap chance{16, draw_key{1}};
  auto d = chance.difference(a, b, less);
  EXPECT_GT(d.sure, 0.999);
  EXPECT_LT(d.interval.to, 0);
  EXPECT_LT(d.interval.from, d.mean);
  EXPECT_LT(d.mean, d.interval.to);
  auto other = chance.difference(b, a, less);
  EXPECT_LT(other.sure, 0.001);
  EXPECT_EQ(chance.difference(a, a, less).sure, 0.5);
  // More is better: the other way around.
  EXPECT_LT(chance.difference(a, b, {0, tune_sense::more, {}}).sure, 0.001);
}

TEST(bootstrap, takes_what_never_ends_for_worse) {
  tune_rows ends(8, {1.0});
  tune_rows never = ends;
  never[3][0] = inf;
  tune_target less{0, tune_sense::less, {}};
  bootstrap chance{8, draw_key{1}};
  auto d = chance.difference(ends, never, less);
  // Resamples without that row are equal: (7/8)^8 of them.
  EXPECT_NEAR(d.sure, 1 - std::pow(7.0 / 8, 8) / 2, 0.03);
  EXPECT_TRUE(std::isnan(d.interval.from));
  EXPECT_TRUE(std::isnan(chance.interval(never, 0).from));
}

TEST(bootstrap, says_how_sure_needs_are) {
  tune_rows rows{{0.9, 0}, {1.0, 0}, {1.0, 0}, {1.0, 0}};
  bootstrap chance{4, draw_key{1}};
  // Met unless the first row is drawn three times or more: 13/256.
  tune_targets t{{{0, tune_sense::more, 0.95}}, {}};
  EXPECT_NEAR(chance.sure_of_needs(rows, t), 1 - 13.0 / 256, 0.02);
  rows[0][0] = nan_;
  EXPECT_NEAR(chance.sure_of_needs(rows, t), std::pow(0.75, 4), 0.04);
}

} // namespace
} // namespace caisson::sim
