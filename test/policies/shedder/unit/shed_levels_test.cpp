#include <caisson/policies/shedder/shed_levels.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace caisson::detail {
namespace {

class levels_rig {
public:
  // How many of `n` calls of that priority pass, of no user.
  int offer(std::int32_t priority, int n) {
    int passed = 0;
    for (int i = 0; i < n; ++i)
      passed += levels.admit_any(priority, 1, random) ? 1 : 0;
    return passed;
  }

  // The same of users in one group.
  int offer_of(std::int32_t priority, std::uint32_t group, int n) {
    int passed = 0;
    for (int i = 0; i < n; ++i)
      passed += levels.admit(priority, group, 1, random) ? 1 : 0;
    return passed;
  }

  // The same of calls that stand for so many.
  int offer_samples(std::int32_t priority, std::uint32_t group,
                    std::uint32_t calls, int n) {
    int passed = 0;
    for (int i = 0; i < n; ++i)
      passed += levels.admit(priority, group, calls, random) ? 1 : 0;
    return passed;
  }

  // Of two groups with 1,000 calls each one passes.
  void shed_half() {
    offer_of(0, 127, 1'000);
    offer_of(0, 0, 1'000);
    levels.tighten(0.5, 0);
  }

  shed_levels levels;
  random_source random{7};
};

TEST(shed_levels, let_all_pass_at_first) {
  levels_rig h;
  EXPECT_EQ(h.offer(0, 100), 100);
  EXPECT_EQ(h.offer(std::numeric_limits<std::int32_t>::min(), 100), 100);
  EXPECT_EQ(h.offer_of(std::numeric_limits<std::int32_t>::max(), 127, 1), 1);
  EXPECT_FALSE(h.levels.sheds());
  EXPECT_EQ(h.levels.threshold(), 0u);
  EXPECT_EQ(h.levels.share(), 1);
  // Nothing was drawn.
  EXPECT_EQ(h.random.bits(), random_source{7}.bits());
}

TEST(shed_levels, shed_the_least_important_first) {
  levels_rig h;
  for (int i = 0; i < 60; ++i) {
    h.offer(1, 500);
    h.offer(0, 500);
    if (h.levels.share() < 0.53)
      break;
    h.levels.tighten(0.95, 0);
  }
  EXPECT_EQ(h.offer(1, 500), 500);
  EXPECT_LT(h.offer(0, 500), 50);
  EXPECT_EQ(h.offer(-1, 500), 0);
  EXPECT_EQ(h.offer(2, 500), 500);
}

TEST(shed_levels, clamp_priorities) {
  levels_rig h;
  h.offer(-16, 50);
  h.offer(-1'000'000, 50);
  h.offer(15, 50);
  h.offer(1'000'000, 50);
  h.levels.tighten(0.5, 0);
  EXPECT_EQ(h.levels.threshold(), shed_levels::groups);
  EXPECT_EQ(h.offer(-17, 10), 0);
  EXPECT_EQ(h.offer(16, 10), 10);
}

TEST(shed_levels, keep_groups_of_users_together) {
  levels_rig h;
  for (std::uint32_t g = 0; g < shed_levels::groups; ++g)
    h.offer_of(0, g, 10);
  h.levels.tighten(0.75, 0);
  EXPECT_NEAR(h.levels.share(), 0.75, 0.005);
  for (std::uint32_t g = 0; g < shed_levels::groups; ++g)
    EXPECT_EQ(h.offer_of(0, g, 10), g < 32 ? 0 : 10) << g;
}

struct move_row {
  double factor;
  double least;
  std::uint32_t threshold;
};

// A thousand calls, ten of each of a hundred groups.
TEST(shed_levels, move_to_where_a_wanted_number_would_have_passed) {
  constexpr auto first = 16 * shed_levels::groups;
  const move_row rows[] = {
    {0.95, 0, first + 5},   {0.955, 0, first + 5}, {0.951, 0, first + 5},
    {0.949, 0, first + 6},  {0.5, 0, first + 50},  {0.1, 0, first + 90},
    {0.1, 500, first + 50}, {0.5, 10'000, 0},      {0.95, 1'000, 0},
    {0.95, 999, first + 1},
  };
  for (const auto& row : rows) {
    levels_rig h;
    for (std::uint32_t g = 0; g < 100; ++g)
      h.offer_of(0, g, 10);
    h.levels.tighten(row.factor, row.least);
    EXPECT_EQ(h.levels.threshold(), row.threshold)
      << row.factor << " " << row.least;
  }
}

TEST(shed_levels, shed_a_group_with_many_calls_in_part) {
  levels_rig h;
  h.offer_of(0, 5, 1'000);
  h.levels.tighten(0.95, 0);
  EXPECT_TRUE(h.levels.sheds());
  EXPECT_NEAR(h.levels.share(), 0.95, 1e-6);
  EXPECT_NEAR(h.offer_of(0, 5, 10'000), 9'500, 100);
  h.levels.tighten(0.95, 0);
  EXPECT_NEAR(h.offer_of(0, 5, 10'000), 9'025, 100);
  h.levels.relax(1.01, 0);
  EXPECT_NEAR(h.offer_of(0, 5, 10'000), 9'115, 100);
  for (int i = 0; i < 20; ++i) {
    h.levels.relax(1.01, 0);
    h.offer_of(0, 5, 1'000);
  }
  EXPECT_FALSE(h.levels.sheds());
}

TEST(shed_levels, never_let_more_pass_when_they_tighten) {
  levels_rig h;
  h.offer(0, 1'000);
  h.levels.tighten(0.5, 0);
  auto before = h.levels.threshold();
  // Only more important ones now.
  h.offer(5, 1'000);
  h.levels.tighten(0.999, 1'000);
  EXPECT_EQ(h.levels.threshold(), before);
  h.levels.tighten(0.1, 0);
  EXPECT_EQ(h.levels.threshold(), before) << "there was no other call";
}

TEST(shed_levels, let_a_share_more_pass_when_they_relax) {
  levels_rig h;
  h.offer(0, 100);
  h.levels.tighten(0.05, 0);
  auto last = h.levels.share();
  int windows = 0;
  for (; h.levels.sheds() && windows < 1'000; ++windows) {
    h.offer(0, 100);
    h.levels.relax(1.01, 0);
    EXPECT_NEAR(h.levels.share(), std::min(1.01 * last, 1.0), 1e-6);
    last = h.levels.share();
  }
  // ln 20 / ln 1.01
  EXPECT_NEAR(windows, 301, 3);
}

// When the important calls stop, as many of the others pass as of those.
TEST(shed_levels, let_no_fewer_pass_of_another_mix) {
  levels_rig h;
  h.offer(1, 500);
  h.offer(0, 500);
  h.levels.tighten(0.2, 0);
  h.offer(0, 500);
  EXPECT_EQ(h.levels.share(), 0);
  h.levels.relax(1.01, 0);
  EXPECT_NEAR(h.levels.share(), 202.0 / 500, 1e-6);
  h.offer(0, 100);
  h.levels.relax(1.01, 0);
  EXPECT_FALSE(h.levels.sheds());
}

TEST(shed_levels, go_on_relaxing_without_calls) {
  levels_rig h;
  h.offer(0, 10'000);
  h.levels.tighten(0.1, 0);
  int windows = 0;
  for (; h.levels.sheds() && windows < 1'000; ++windows)
    h.levels.relax(1.01, 0);
  // ln 10 / ln 1.01
  EXPECT_NEAR(windows, 231, 3);
  EXPECT_EQ(h.offer(0, 100), 100);
}

TEST(shed_levels, are_soon_back_if_few_calls_come) {
  levels_rig h;
  h.offer(0, 10'000);
  h.levels.tighten(0.1, 0);
  h.offer(0, 40);
  h.levels.relax(1.01, 5);
  EXPECT_GT(h.levels.share(), 0.12);
  h.offer(0, 4);
  h.levels.relax(1.01, 5);
  EXPECT_FALSE(h.levels.sheds());
}

TEST(shed_levels, stay_where_they_are_if_nothing_happens) {
  levels_rig h;
  h.levels.tighten(0.5, 0);
  h.levels.relax(2, 0);
  h.levels.keep();
  EXPECT_FALSE(h.levels.sheds());
  h.offer(0, 100);
  h.levels.keep();
  h.levels.tighten(0.5, 0);
  EXPECT_FALSE(h.levels.sheds()) << "the window was over";
}

TEST(shed_levels, can_shed_all) {
  levels_rig h;
  h.offer_of(15, 127, 10);
  for (int i = 0; i < 200; ++i) {
    h.levels.tighten(0.1, 0);
    h.offer_of(15, 127, 10);
  }
  EXPECT_EQ(h.levels.threshold(), shed_levels::count);
  EXPECT_EQ(h.offer_of(15, 127, 1'000), 0);
  EXPECT_EQ(h.offer(15, 1'000), 0);
  h.levels.relax(1.01, 5);
  EXPECT_GT(h.offer_of(15, 127, 100'000), 0);
  h.levels.open();
  EXPECT_EQ(h.offer(-16, 1'000), 1'000);
}

// -- against a list of all calls ----------------------------------------------

// What passes is a share of the calls of a window, whatever they were.
TEST(shed_levels, let_about_the_wanted_share_pass_of_any_mix) {
  random_source mix{11};
  for (int round = 0; round < 200; ++round) {
    levels_rig h;
    std::vector<std::uint32_t> seen;
    auto n = 1 + mix.below(3'000);
    for (std::uint64_t i = 0; i < n; ++i) {
      auto priority = static_cast<std::int32_t>(mix.below(40)) - 20;
      auto group = static_cast<std::uint32_t>(mix.below(shed_levels::groups));
      if (mix.below(2) == 0)
        group = group / 40 * 40; // some have many
      h.levels.admit(priority, group, 1, h.random);
      seen.push_back(
        static_cast<std::uint32_t>(std::clamp(priority, -16, 15) + 16) * 128
        + group);
    }
    auto factor = 0.05 + 0.9 * mix.uniform();
    h.levels.tighten(factor, 0);
    auto above = std::count_if(seen.begin(), seen.end(), [&](auto x) {
      return x >= h.levels.threshold();
    });
    auto at = std::count(seen.begin(), seen.end(), h.levels.threshold() - 1);
    auto target = factor * static_cast<double>(n);
    EXPECT_LE(static_cast<double>(above), target + 1e-3);
    EXPECT_GT(static_cast<double>(above + at), target);
    // The level between passes in part.
    auto share = h.levels.share() * static_cast<double>(n);
    EXPECT_NEAR(share, target, 1e-3);
  }
}

// -- calls that stay away -----------------------------------------------------

TEST(shed_levels, count_calls_that_stay_away) {
  levels_rig h;
  h.shed_half();
  EXPECT_EQ(h.offer_of(0, 127, 1'000), 1'000);
  EXPECT_EQ(h.offer_samples(0, 0, 16, 62), 0);
  EXPECT_NEAR(h.levels.share(), 1'000.0 / 1'992, 1e-6);
  h.levels.relax(1.2, 0);
  ASSERT_TRUE(h.levels.sheds());
  // 200 of 992.
  EXPECT_NEAR(h.offer_of(0, 0, 1'000), 202, 40);
}

TEST(shed_levels, count_calls_of_no_user_that_stay_away) {
  levels_rig h;
  h.offer(1, 1'000);
  h.offer(0, 1'000);
  h.levels.tighten(0.5, 0);
  h.offer(1, 1'000);
  for (int i = 0; i < 62; ++i)
    EXPECT_FALSE(h.levels.admit_any(0, 16, h.random));
  EXPECT_NEAR(h.levels.share(), 1'000.0 / 1'992, 1e-4);
  h.levels.relax(1.2, 0);
  EXPECT_NEAR(h.offer(0, 1'000), 202, 40);
}

TEST(shed_levels, take_a_sample_that_passes_for_itself) {
  levels_rig h;
  h.shed_half();
  EXPECT_EQ(h.offer_samples(0, 127, 16, 1'000), 1'000);
  EXPECT_EQ(h.offer_of(0, 0, 1'000), 0);
  EXPECT_EQ(h.levels.share(), 0.5);
  levels_rig open;
  open.offer_samples(0, 0, 16, 1'000);
  open.offer_samples(0, 127, 1, 1'000);
  open.levels.tighten(0.75, 0);
  EXPECT_NEAR(open.offer_of(0, 0, 1'000), 500, 60);
}

// Else the threshold would fall to the next level of which a sample came.
TEST(shed_levels, average_samples_of_several_windows) {
  levels_rig h;
  h.offer_of(0, 127, 1'000);
  for (std::uint32_t group = 0; group < 10; ++group)
    h.offer_of(0, group, 100);
  h.levels.tighten(0.5, 0);
  ASSERT_EQ(h.levels.threshold(), 16u * 128 + 10);
  for (std::uint32_t i = 1; i <= 20; ++i) {
    h.levels.keep();
    h.offer_of(0, 127, 1'000);
    // Each window has one of another level.
    h.offer_samples(0, i % 10, 16, 1);
    EXPECT_NEAR(1'000 / h.levels.share(), 1'016, 1e-3) << i;
  }
  h.levels.relax(1.0001, 0);
  EXPECT_EQ(h.levels.threshold(), 16u * 128 + 10);
}

TEST(shed_levels, count_the_first_windows_with_samples_evenly) {
  levels_rig h;
  h.shed_half();
  h.offer_of(0, 127, 1'000);
  h.offer_samples(0, 0, 16, 1);
  h.levels.keep();
  h.offer_of(0, 127, 1'000);
  h.offer_samples(0, 0, 16, 3);
  // 3 came, and of 15 and 45 the mean stayed away.
  EXPECT_NEAR(1'000 / h.levels.share(), 1'033, 1e-3);
}

// A window with 16 calls of each group. So many of each 16 keep away from what
// is shed for certain, but for one that stands for them.
void offer_window(levels_rig& h, int that_follow) {
  for (std::uint32_t group = 0; group < shed_levels::groups; ++group) {
    auto keep_away = that_follow > 0
                     && shed_levels::level_of(0, group) < h.levels.certain();
    h.offer_of(0, group, keep_away ? 16 - that_follow : 16);
    if (keep_away)
      h.offer_samples(0, group, static_cast<std::uint32_t>(that_follow), 1);
  }
}

// A threshold that has risen does not jump back over the levels that callers
// have just begun to avoid.
TEST(shed_levels, come_back_alike_however_many_follow) {
  for (int that_follow : {0, 4, 8, 16}) {
    levels_rig h;
    for (int i = 0; i < 30; ++i) {
      offer_window(h, that_follow);
      h.levels.tighten(0.95, 0);
    }
    // 0.95^30 of 128 are 27.5 levels, and a quarter of that is 6.9.
    auto before = h.levels.threshold();
    EXPECT_NEAR(before, 17 * 128 - 27.5, 2) << that_follow;
    offer_window(h, that_follow);
    h.levels.relax(1.25, 0);
    EXPECT_NEAR(before - h.levels.threshold(), 6.9, 1.2) << that_follow;
  }
}

TEST(shed_levels, forget_calls_that_stay_away_no_more) {
  levels_rig h;
  h.shed_half();
  h.offer_of(0, 127, 1'000);
  h.offer_samples(0, 0, 16, 62);
  h.levels.relax(1.001, 0);
  int windows = 0;
  for (; h.levels.sheds() && windows < 100; ++windows) {
    h.offer_of(0, 127, 1'000);
    h.levels.relax(1.001, 0);
  }
  EXPECT_GT(windows, 3);
  EXPECT_LT(windows, 60);
  // And at once when all pass.
  h.shed_half();
  h.offer_samples(0, 0, 16, 62);
  h.levels.open();
  h.shed_half();
  EXPECT_EQ(h.levels.share(), 0.5);
}

// A level that passes again has nobody who stays away.
TEST(shed_levels, count_no_calls_that_stayed_away_from_what_passes) {
  levels_rig h;
  auto offer_all = [&] {
    h.offer_of(0, 127, 1'000);
    h.offer_of(-1, 0, 1'000);
  };
  offer_all();
  h.offer_of(0, 0, 1'000);
  h.levels.tighten(1.0 / 3, 0);
  EXPECT_EQ(h.levels.threshold(), shed_levels::level_of(0, 0) + 1);
  offer_all();
  h.offer_samples(0, 0, 10, 100);
  h.levels.relax(2, 0);
  EXPECT_EQ(h.levels.threshold(), shed_levels::level_of(-1, 0) + 1);
  h.offer_of(0, 127, 1'000);
  h.offer_of(0, 0, 1'000);
  EXPECT_EQ(h.levels.share(), 1);
}

TEST(shed_levels, begin_another_average_when_all_have_passed) {
  levels_rig h;
  for (int i = 0; i < 3; ++i) {
    h.shed_half();
    h.offer_of(0, 127, 1'000);
    h.offer_samples(0, 0, 10, 100);
    EXPECT_NEAR(h.levels.share(), 0.5, 1e-6);
    h.levels.relax(3, 0);
    EXPECT_FALSE(h.levels.sheds());
  }
}

} // namespace
} // namespace caisson::detail
