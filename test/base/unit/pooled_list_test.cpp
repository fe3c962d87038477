#include <caisson/base/pooled_list.hpp>
#include <caisson/base/random.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace caisson {
namespace {

std::vector<int> content(const pooled_list<int>& xs) {
  std::vector<int> out;
  for (auto h = xs.front(); h != pooled_list<int>::none; h = xs.next(h))
    out.push_back(xs[h]);
  return out;
}

using ints = std::vector<int>;

TEST(pooled_list, is_empty_at_the_start) {
  pooled_list<int> xs;
  EXPECT_TRUE(xs.empty());
  EXPECT_EQ(xs.size(), 0u);
  EXPECT_EQ(xs.front(), pooled_list<int>::none);
  EXPECT_EQ(xs.back(), pooled_list<int>::none);
}

TEST(pooled_list, keeps_the_order_of_arrival) {
  pooled_list<int> xs;
  auto a = xs.push_back(1);
  xs.push_back(2);
  auto c = xs.push_back(3);
  EXPECT_EQ(content(xs), (ints{1, 2, 3}));
  EXPECT_EQ(xs.front(), a);
  EXPECT_EQ(xs.back(), c);
  EXPECT_EQ(xs.size(), 3u);
}

TEST(pooled_list, gives_up_its_first_middle_last_and_only_entry) {
  pooled_list<int> xs;
  auto a = xs.push_back(1);
  auto b = xs.push_back(2);
  auto c = xs.push_back(3);
  auto d = xs.push_back(4);
  EXPECT_EQ(xs.erase(b), 2);
  EXPECT_EQ(content(xs), (ints{1, 3, 4}));
  EXPECT_EQ(xs.erase(d), 4);
  EXPECT_EQ(content(xs), (ints{1, 3}));
  EXPECT_EQ(xs.back(), c);
  EXPECT_EQ(xs.erase(a), 1);
  EXPECT_EQ(content(xs), (ints{3}));
  EXPECT_EQ(xs.front(), c);
  EXPECT_EQ(xs.erase(c), 3);
  EXPECT_TRUE(xs.empty());
  EXPECT_EQ(xs.front(), pooled_list<int>::none);
  EXPECT_EQ(xs.back(), pooled_list<int>::none);
}

TEST(pooled_list, uses_the_places_of_entries_that_left) {
  pooled_list<int> xs;
  xs.push_back(1);
  auto b = xs.push_back(2);
  xs.erase(b);
  for (int i = 0; i < 100; ++i) {
    auto h = xs.push_back(i);
    EXPECT_EQ(h, b);
    EXPECT_EQ(xs.erase(h), i);
  }
}

TEST(pooled_list, keeps_handles_valid_while_others_come_and_go) {
  pooled_list<int> xs;
  auto a = xs.push_back(1);
  std::vector<pooled_list<int>::handle> handles;
  for (int i = 0; i < 1000; ++i)
    handles.push_back(xs.push_back(i));
  for (auto h : handles)
    xs.erase(h);
  EXPECT_EQ(xs[a], 1);
  EXPECT_EQ(content(xs), (ints{1}));
}

TEST(pooled_list, holds_values_that_can_only_be_moved) {
  pooled_list<std::unique_ptr<int>> xs;
  auto h = xs.push_back(std::make_unique<int>(5));
  EXPECT_EQ(*xs[h], 5);
  EXPECT_EQ(*xs.erase(h), 5);
}

TEST(pooled_list, agrees_with_a_plain_sequence_under_random_operations) {
  using entry = std::pair<pooled_list<int>::handle, int>;
  random_source random{11};
  pooled_list<int> xs;
  std::deque<entry> model;
  for (int step = 0; step < 20'000; ++step) {
    if (model.empty() || random.below(100) < 51) {
      model.emplace_back(xs.push_back(step), step);
    } else {
      auto i = static_cast<std::ptrdiff_t>(random.below(model.size()));
      ASSERT_EQ(xs.erase(model[static_cast<std::size_t>(i)].first),
                model[static_cast<std::size_t>(i)].second);
      model.erase(model.begin() + i);
    }
    ASSERT_EQ(xs.size(), model.size());
    if (!model.empty()) {
      ASSERT_EQ(xs.front(), model.front().first);
      ASSERT_EQ(xs.back(), model.back().first);
    }
    if (step % 100 == 0) {
      ints expected;
      for (auto& x : model)
        expected.push_back(x.second);
      ASSERT_EQ(content(xs), expected);
    }
  }
}

TEST(pooled_list, gives_memory_back_when_it_is_empty) {
  pooled_list<int> l;
  std::vector<pooled_list<int>::handle> all;
  for (int i = 0; i < 10'000; ++i)
    all.push_back(l.push_back(i));
  EXPECT_EQ(l.capacity(), 10'000u);
  for (auto h : all)
    l.erase(h);
  EXPECT_EQ(l.capacity(), 0u);
  EXPECT_EQ(l.find(all.back()), nullptr);
  EXPECT_EQ(l.find(pooled_list<int>::none), nullptr);
  EXPECT_EQ(l[l.push_back(7)], 7);
}

} // namespace
} // namespace caisson
