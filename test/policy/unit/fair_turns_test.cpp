// Shares of keys.
#include <caisson/base/random.hpp>
#include <caisson/policy/fair_turns.hpp>

#include <support/violations.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using detail::fair_turns;
using places = std::vector<fair_turns::place>;

// Joins with calls at places from `first` on, all of this key and weight.
void join(fair_turns& t, fair_turns::place first, int n, std::string_view key,
          std::uint32_t permits = 1) {
  for (int i = 0; i < n; ++i)
    t.join(first + static_cast<fair_turns::place>(i), key, permits);
}

places turns(fair_turns& t, std::size_t n = 1'000) {
  places out;
  for (; out.size() < n && t.next() != fair_turns::none;
       t.leave(out.back(), true))
    out.push_back(t.next());
  return out;
}

TEST(fair_turns, gives_each_key_a_turn_and_keeps_the_order_within_keys) {
  fair_turns t;
  EXPECT_EQ(t.next(), fair_turns::none);
  join(t, 0, 4, "a");
  join(t, 10, 2, "b");
  join(t, 20, 1, "");
  EXPECT_EQ(turns(t), (places{0, 10, 20, 1, 11, 2, 3}));
  EXPECT_EQ(t.next(), fair_turns::none);
}

TEST(fair_turns, shares_permits_and_not_calls) {
  fair_turns t;
  join(t, 0, 4, "heavy", 4);
  join(t, 10, 12, "light");
  auto first = turns(t, 10);
  std::int64_t heavy = 0;
  for (auto p : first)
    heavy += p < 10 ? 4 : 0;
  // The first two rounds: one heavy call against four light ones.
  EXPECT_EQ(heavy, 8);
  EXPECT_EQ(first.size(), 10u);
}

TEST(fair_turns, forgets_keys_and_what_they_had_saved) {
  fair_turns t;
  join(t, 0, 1, "a", 3);
  join(t, 1, 1, "b", 1);
  EXPECT_EQ(t.keys(), 2u);
  EXPECT_EQ(t.of_key("a").permits, 3);
  EXPECT_EQ(t.of_key("b").calls, 1u);
  t.leave(0, false);
  EXPECT_EQ(t.keys(), 1u);
  EXPECT_EQ(t.of_key("a").calls, 0u);
  EXPECT_EQ(t.next(), 1u);
  t.leave(1, true);
  EXPECT_EQ(t.keys(), 0u);
}

TEST(fair_turns, takes_calls_from_the_middle_and_from_the_head) {
  fair_turns t;
  join(t, 0, 3, "a");
  join(t, 10, 3, "b");
  ASSERT_EQ(t.next(), 0u);
  t.leave(0, false);
  EXPECT_EQ(t.next(), 1u) << "the turn stays with the key";
  t.leave(11, false);
  EXPECT_EQ(turns(t), (places{1, 10, 2, 12}));
}

TEST(fair_turns, lets_the_next_key_have_its_turn_if_the_first_has_left) {
  fair_turns t;
  join(t, 0, 1, "a", 2);
  join(t, 10, 2, "b", 2);
  ASSERT_EQ(t.next(), 0u);
  t.leave(0, false);
  EXPECT_EQ(t.next(), 10u);
  join(t, 20, 1, "c", 2);
  EXPECT_EQ(turns(t), (places{10, 20, 11}));
}

TEST(fair_turns, knows_the_key_with_the_most_calls_and_its_newest_one) {
  fair_turns t;
  join(t, 0, 2, "a");
  EXPECT_EQ(t.most(), 2u);
  EXPECT_EQ(t.newest_of_most(), 1u);
  join(t, 10, 2, "b");
  EXPECT_EQ(t.newest_of_most(), 1u) << "a has had two for longer";
  join(t, 12, 1, "b");
  EXPECT_EQ(t.most(), 3u);
  EXPECT_EQ(t.newest_of_most(), 12u);
  t.leave(12, false);
  EXPECT_EQ(t.newest_of_most(), 1u);
  t.leave(11, false);
  t.leave(1, false);
  EXPECT_EQ(t.most(), 1u);
  EXPECT_EQ(t.newest_of_most(), 10u) << "b has had one for longer";
}

TEST(fair_turns, clears) {
  fair_turns t;
  join(t, 0, 3, "a", 2);
  t.clear();
  EXPECT_EQ(t.next(), fair_turns::none);
  EXPECT_EQ(t.keys(), 0u);
  EXPECT_EQ(t.most(), 0u);
  join(t, 5, 1, "a");
  EXPECT_EQ(turns(t), (places{5}));
}

// -- shares -------------------------------------------------------------------

// Serves keys that always have calls waiting, of random weights up to `most`
// each, and returns how far apart their shares were at most.
std::int64_t largest_gap(std::vector<std::uint32_t> most, int calls) {
  random_source random{11};
  fair_turns t;
  std::vector<std::int64_t> served(most.size());
  std::map<fair_turns::place, std::pair<std::size_t, std::uint32_t>> waiting;
  fair_turns::place free = 0;
  auto add = [&](std::size_t key) {
    auto permits = static_cast<std::uint32_t>(1 + random.below(most[key]));
    waiting[free] = {key, permits};
    t.join(free++, std::to_string(key), permits);
  };
  for (std::size_t key = 0; key < most.size(); ++key)
    for (int i = 0; i < 3; ++i)
      add(key);
  std::int64_t gap = 0;
  for (int i = 0; i < calls; ++i) {
    auto p = t.next();
    t.leave(p, true);
    auto [key, permits] = waiting.at(p);
    waiting.erase(p);
    served[key] += permits;
    add(key);
    auto [least, largest] = std::minmax_element(served.begin(), served.end());
    gap = std::max(gap, *largest - *least);
  }
  return gap;
}

TEST(fair_turns, keeps_shares_within_two_of_the_heaviest_calls) {
  EXPECT_LE(largest_gap({1, 1, 1}, 3'000), 1);
  EXPECT_LE(largest_gap({8, 1, 3}, 3'000), 16);
  EXPECT_LE(largest_gap({20, 20, 20, 1}, 3'000), 40);
}

TEST(fair_turns, gives_a_key_with_hundred_times_the_load_no_more) {
  fair_turns t;
  join(t, 0, 1'000, "greedy");
  for (int k = 0; k < 10; ++k)
    join(t, static_cast<fair_turns::place>(1'000 + 10 * k), 10,
         "modest" + std::to_string(k));
  auto first = turns(t, 110);
  EXPECT_EQ(
    std::count_if(first.begin(), first.end(), [](auto p) { return p < 1'000; }),
    10);
}

TEST(fair_turns, works_with_many_keys) {
  fair_turns t;
  constexpr fair_turns::place n = 100'000;
  for (fair_turns::place p = 0; p < n; ++p)
    t.join(p, std::to_string(p), 1 + p % 7);
  EXPECT_EQ(t.keys(), n);
  EXPECT_EQ(t.most(), 1u);
  auto all = turns(t, n);
  EXPECT_EQ(all.size(), n);
  EXPECT_EQ(t.keys(), 0u);
}

TEST(fair_turns, a_place_becomes_free_once) {
  violations_throw guard;
  fair_turns t;
  t.join(0, "a", 1);
  t.join(1, "a", 1);
  t.leave(0, false);
  EXPECT_THROW(t.leave(0, false), invariant_violation);
  EXPECT_EQ(t.next(), 1u);
  EXPECT_EQ(t.calls(), 1u);
}

} // namespace
} // namespace caisson::test
