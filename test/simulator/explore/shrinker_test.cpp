// Making what was found smaller.
#include <simulator/explore/drawn_faults.hpp>
#include <simulator/explore/fault_texts.hpp>
#include <simulator/explore/shrinker.hpp>

#include <support/explored.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using fault_list = std::vector<fault_config>;

class shrinking : public testing::Test {
protected:
  // Asks `breaks`, which must be right for the answer, too.
  template <class F>
  shrinker::result shrink(const fault_list& found, F breaks,
                          std::size_t most_runs = 1000) {
    asked_ = 0;
    shrinker s{menu_,
               [&](const fault_list& some) -> std::optional<bool> {
                 ++asked_;
                 return breaks(some);
               },
               most_runs};
    auto r = s.shrink(found);
    EXPECT_EQ(r.runs, asked_);
    EXPECT_LE(asked_, most_runs);
    EXPECT_TRUE(breaks(r.least)) << to_sentence(r.least);
    return r;
  }

  static bool any(const fault_list& all, auto test) {
    return std::ranges::any_of(all, test);
  }

  arm_config arm_ = test::explored_arm();
  fault_menu menu_{arm_, {}};
  std::size_t asked_ = 0;
};

fault_list many_faults() {
  return {test::some_fault(fault_kind::stall, 10500ms, 20s),
          test::some_fault(fault_kind::crash, 33500ms, 15s),
          test::some_fault(fault_kind::slow, 20s, 3s, "web"),
          test::some_fault(fault_kind::partition, 40s, 7s),
          test::some_fault(fault_kind::errors, 41s, 7s, "web"),
          test::some_fault(fault_kind::loss, 42s, 7s)};
}

TEST_F(shrinking, finds_the_one_fault_that_matters) {
  auto r = shrink(many_faults(), [&](const fault_list& all) {
    return any(all, [](auto& f) {
      return f.kind == fault_kind::crash && f.lasts >= 2500ms;
    });
  });
  EXPECT_EQ(to_sentence(r.least), "db#1 crashes, from 50s on for 3s");
  EXPECT_TRUE(r.complete);
}

TEST_F(shrinking, keeps_faults_that_matter_together) {
  auto r = shrink(many_faults(), [&](const fault_list& all) {
    return any(all, [](auto& f) { return f.kind == fault_kind::stall; })
           && any(all, [](auto& f) { return f.kind == fault_kind::loss; });
  });
  EXPECT_EQ(to_sentence(r.least),
            "db#1 stalls, from 50s on for 500ms; 1 % of the "
            "messages web -> db#1 are lost, from 50s on for "
            "500ms");
}

TEST_F(shrinking, reports_that_no_fault_is_needed) {
  auto r = shrink(many_faults(), [](const fault_list&) { return true; });
  EXPECT_TRUE(r.least.empty());
  EXPECT_EQ(r.runs, 1u);
}

TEST_F(shrinking, leaves_what_cannot_be_smaller) {
  auto least = fault_list{
    test::some_fault(fault_kind::crash, 50s, 500ms, "db#1")};
  auto r = shrink(least, [&](const fault_list& all) { return !all.empty(); });
  EXPECT_EQ(to_sentence(r.least), to_sentence(least));
}

TEST_F(shrinking, makes_faults_weaker) {
  auto slow = test::some_fault(fault_kind::slow, 50s, 5s, "web");
  slow.factor = 20;
  auto r = shrink({slow}, [&](const fault_list& all) {
    return any(all, [](auto& f) { return f.factor >= 4; });
  });
  EXPECT_EQ(r.least.at(0).factor, 5);
  auto few = test::some_fault(fault_kind::capacity, 50s, 5s, "db");
  few.servers = 0;
  r = shrink({few}, [&](const fault_list& all) {
    return any(all, [](auto& f) { return f.servers <= 2; });
  });
  EXPECT_EQ(r.least.at(0).servers, 2u);
}

TEST_F(shrinking, keeps_the_direction_that_matters) {
  auto cut = test::some_fault(fault_kind::partition, 50s, 500ms);
  auto r = shrink({cut}, [&](const fault_list& all) {
    return any(all, [](auto& f) {
      return f.direction == fault_direction::both || f.from[0] == "db";
    });
  });
  EXPECT_EQ(to_sentence(r.least),
            "all messages db -> web are lost, from 50s on for 500ms");
}

TEST_F(shrinking, keeps_to_the_bounds_when_it_rounds_a_time) {
  auto late = test::some_fault(fault_kind::crash, 73500ms, 500ms, "web");
  auto r = shrink({late}, [](const fault_list& all) { return !all.empty(); });
  EXPECT_EQ(r.least.at(0).at, 50s);
  r = shrink({late}, [&](const fault_list& all) {
    return any(all, [](auto& f) { return f.at >= 71s; });
  });
  EXPECT_EQ(r.least.at(0).at, 74s);
}

TEST_F(shrinking, ends_when_it_has_asked_enough) {
  auto r = shrink(
    many_faults(),
    [&](const fault_list& all) {
      return any(all, [](auto& f) { return f.kind == fault_kind::loss; });
    },
    5);
  EXPECT_EQ(r.runs, 5u);
  EXPECT_FALSE(r.complete);
  r = shrink(
    many_faults(), [&](const fault_list& all) { return all.size() == 6; }, 0);
  EXPECT_EQ(r.least.size(), 6u);
  EXPECT_FALSE(r.complete);
}

TEST_F(shrinking, ends_when_there_is_no_answer) {
  std::size_t asked = 0;
  shrinker s{menu_,
             [&](const fault_list& all) -> std::optional<bool> {
               if (++asked == 4)
                 return std::nullopt;
               return any(all,
                          [](auto& f) { return f.kind == fault_kind::loss; });
             },
             1000};
  auto r = s.shrink(many_faults());
  EXPECT_EQ(asked, 4u);
  EXPECT_EQ(r.runs, 3u);
  EXPECT_FALSE(r.complete);
  EXPECT_TRUE(any(r.least, [](auto& f) { return f.kind == fault_kind::loss; }));
}

// A rule that any of some sets of faults breaks: what is left is one of these
// sets, and no fault in it can go.
TEST_F(shrinking, leaves_no_fault_that_could_go) {
  rc::check([&] {
    auto key = *rc::gen::arbitrary<std::uint64_t>();
    fault_menu menu{arm_, {.most = 12}};
    auto found = drawn_faults(menu, key);
    auto first = *rc::gen::arbitrary<std::size_t>() % found.size();
    auto second = *rc::gen::arbitrary<std::size_t>() % found.size();
    auto a = found[first].kind;
    auto b = found[second].kind;
    auto breaks = [&](const fault_list& all) {
      return any(all, [&](auto& f) { return f.kind == a; })
             && any(all, [&](auto& f) { return f.kind == b; });
    };
    shrinker s{
      menu,
      [&](const fault_list& all) -> std::optional<bool> { return breaks(all); },
      100'000};
    auto r = s.shrink(found);
    RC_ASSERT(r.complete);
    RC_ASSERT(breaks(r.least));
    RC_ASSERT(r.least.size() == (a == b ? 1u : 2u));
    for (const auto& f : r.least)
      RC_ASSERT(f.kind == fault_kind::flush || f.lasts == menu.unit);
  });
}

} // namespace
} // namespace caisson::sim
