#include <caisson/base/timer_queue.hpp>

#include <support/times.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using queue = timer_queue<char>;

// All payloads due at `now`, in the order in which they fire.
std::string fired(queue& q, time_point now) {
  std::string result;
  while (auto x = q.pop_due(now))
    result += *x;
  return result;
}

TEST(timer_queue, is_empty_at_first) {
  queue q;
  EXPECT_TRUE(q.empty());
  EXPECT_EQ(q.size(), 0u);
  EXPECT_EQ(q.next(), never);
  EXPECT_EQ(q.pop_due(time_point::max()), std::nullopt);
}

TEST(timer_queue, fires_in_order_of_time) {
  queue q;
  q.push(at(3s), 'c');
  q.push(at(1s), 'a');
  q.push(at(4s), 'd');
  q.push(at(2s), 'b');
  EXPECT_EQ(q.next(), at(1s));
  EXPECT_EQ(fired(q, at(10s)), "abcd");
  EXPECT_TRUE(q.empty());
}

TEST(timer_queue, fires_at_exactly_its_time_and_not_before) {
  queue q;
  q.push(at(1s), 'a');
  EXPECT_EQ(fired(q, at(1s) - 1ns), "");
  EXPECT_EQ(fired(q, at(1s)), "a");
}

TEST(timer_queue, fires_equal_times_in_the_order_in_which_they_were_set) {
  queue q;
  std::string expected;
  for (char c = 'a'; c <= 'z'; ++c) {
    q.push(at(1s), c);
    expected += c;
  }
  EXPECT_EQ(fired(q, at(1s)), expected);
}

// One that comes in a row of later ones, and one for which there is no row.
TEST(timer_queue, fires_equal_times_of_different_kinds_in_order) {
  queue q;
  q.push(at(1s), 'a');
  for (int later = 100; later > 50; --later)
    q.push(at(std::chrono::seconds(later)), 'x');
  q.push(at(1s), 'b');
  EXPECT_EQ(fired(q, at(1s)), "ab");
}

TEST(timer_queue, keeps_the_order_of_equal_times_when_others_are_cancelled) {
  queue q;
  std::vector<queue::handle> handles;
  for (char c = 'a'; c <= 'j'; ++c)
    handles.push_back(q.push(at(1s), c));
  for (std::size_t i : {0u, 3u, 4u, 9u})
    EXPECT_TRUE(q.cancel(handles[i]));
  EXPECT_EQ(fired(q, at(1s)), "bcfghi");
}

TEST(timer_queue, keeps_a_timer_for_never_and_never_fires_it) {
  queue q;
  auto h = q.push(never, 'a');
  EXPECT_EQ(q.size(), 1u);
  EXPECT_EQ(q.next(), never);
  EXPECT_EQ(q.pop_due(never), std::nullopt);
  EXPECT_TRUE(q.update(h, at(1s)));
  EXPECT_EQ(fired(q, at(1s)), "a");
}

TEST(timer_queue, cancels_on_the_spot) {
  queue q;
  auto a = q.push(at(1s), 'a');
  q.push(at(2s), 'b');
  EXPECT_TRUE(q.cancel(a));
  EXPECT_EQ(q.size(), 1u);
  EXPECT_EQ(q.next(), at(2s));
  EXPECT_EQ(fired(q, at(10s)), "b");
}

TEST(timer_queue, moves_a_timer_forth_and_back) {
  queue q;
  auto a = q.push(at(1s), 'a');
  q.push(at(2s), 'b');
  auto c = q.push(at(3s), 'c');
  EXPECT_TRUE(q.update(a, at(5s)));
  EXPECT_TRUE(q.update(c, at(1s)));
  EXPECT_EQ(q.next(), at(1s));
  EXPECT_EQ(fired(q, at(10s)), "cba");
}

TEST(timer_queue, moves_a_timer_behind_those_of_the_same_time) {
  queue q;
  auto a = q.push(at(1s), 'a');
  q.push(at(2s), 'b');
  q.push(at(2s), 'c');
  EXPECT_TRUE(q.update(a, at(2s)));
  EXPECT_EQ(fired(q, at(2s)), "bca");
}

TEST(timer_queue, ignores_a_default_handle) {
  queue q;
  q.push(at(1s), 'a');
  EXPECT_FALSE(q.contains({}));
  EXPECT_FALSE(q.cancel({}));
  EXPECT_FALSE(q.update({}, at(2s)));
  EXPECT_EQ(q.next(), at(1s));
}

TEST(timer_queue, ignores_the_handle_of_a_timer_that_fired) {
  queue q;
  auto a = q.push(at(1s), 'a');
  EXPECT_TRUE(q.contains(a));
  EXPECT_EQ(fired(q, at(1s)), "a");
  EXPECT_FALSE(q.contains(a));
  EXPECT_FALSE(q.cancel(a));
  EXPECT_FALSE(q.update(a, at(2s)));
  EXPECT_TRUE(q.empty());
}

TEST(timer_queue, ignores_a_stale_handle_whose_memory_serves_another_timer) {
  queue q;
  auto a = q.push(at(1s), 'a');
  EXPECT_TRUE(q.cancel(a));
  auto b = q.push(at(2s), 'b');
  ASSERT_EQ(a.node, b.node) << "memory is reused";
  EXPECT_FALSE(a == b);
  EXPECT_FALSE(q.contains(a));
  EXPECT_FALSE(q.cancel(a));
  EXPECT_FALSE(q.update(a, at(9s)));
  EXPECT_EQ(fired(q, at(2s)), "b");
}

TEST(timer_queue, makes_all_handles_stale_when_cleared) {
  queue q;
  auto a = q.push(at(1s), 'a');
  auto b = q.push(at(2s), 'b');
  q.clear();
  EXPECT_TRUE(q.empty());
  EXPECT_EQ(q.next(), never);
  auto c = q.push(at(3s), 'c');
  auto d = q.push(at(4s), 'd');
  EXPECT_FALSE(q.cancel(a));
  EXPECT_FALSE(q.cancel(b));
  EXPECT_TRUE(q.contains(c));
  EXPECT_TRUE(q.contains(d));
  EXPECT_EQ(fired(q, at(10s)), "cd");
}

TEST(timer_queue, uses_no_more_memory_than_for_the_most_timers_at_once) {
  queue q;
  for (int round = 0; round < 1000; ++round) {
    auto a = q.push(at(1s), 'a');
    auto b = q.push(at(2s), 'b');
    EXPECT_LT(a.node, 2u);
    EXPECT_LT(b.node, 2u);
    EXPECT_EQ(fired(q, at(1s)), "a");
    EXPECT_TRUE(q.cancel(b));
  }
}

TEST(timer_queue, gives_memory_back_when_it_is_empty) {
  timer_queue<int> q;
  std::vector<timer_queue<int>::handle> all;
  for (int i = 0; i < 10'000; ++i)
    all.push_back(q.push(time_point{duration{i}}, i));
  q.cancel(all[0]);
  auto again = q.push(time_point{duration{1}}, 0);
  for (auto h : all)
    q.cancel(h);
  q.cancel(again);
  EXPECT_EQ(q.capacity(), 0u);
  // Handles of before name none of the new timers.
  auto fresh = q.push(time_point{duration{1}}, 1);
  EXPECT_TRUE(q.contains(fresh));
  EXPECT_FALSE(q.contains(all[0]));
  EXPECT_FALSE(q.contains(again));
}

} // namespace
} // namespace caisson::test
