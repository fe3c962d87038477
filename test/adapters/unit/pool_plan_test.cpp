#include <caisson/adapters/detail/pool_plan.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace caisson::detail {
namespace {

using namespace std::chrono_literals;

constexpr time_point after_start(duration d) {
  return time_point{} + d;
}

// The jobs that can start, as "job@thread".
std::string started(pool_plan& p) {
  std::string result;
  while (auto x = p.next())
    result += std::to_string(x->what) + '@' + std::to_string(x->thread) + ' ';
  return result;
}

TEST(pool_plan, starts_jobs_in_the_order_of_their_arrival) {
  pool_plan p{2, 10, 1min};
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(p.add(never));
  EXPECT_EQ(started(p), "1@0 2@1 ");
  EXPECT_EQ(p.running(), 2u);
  EXPECT_EQ(p.waiting(), 2u);
  EXPECT_TRUE(p.finish(2, time_point{}));
  EXPECT_EQ(started(p), "3@1 ");
  EXPECT_TRUE(p.finish(1, time_point{}));
  EXPECT_EQ(started(p), "4@0 ");
}

TEST(pool_plan, uses_no_more_threads_than_it_needs_and_the_last_one_first) {
  pool_plan p{8, 0, 1min};
  ASSERT_TRUE(p.add(never));
  ASSERT_TRUE(p.add(never));
  EXPECT_EQ(started(p), "1@0 2@1 ");
  p.finish(2, time_point{});
  p.finish(1, time_point{});
  ASSERT_TRUE(p.add(never));
  EXPECT_EQ(started(p), "3@0 ");
  ASSERT_TRUE(p.add(never));
  EXPECT_EQ(started(p), "4@1 ");
}

TEST(pool_plan, has_room_for_so_many_jobs) {
  pool_plan p{2, 1, 1min};
  EXPECT_TRUE(p.add(never));
  EXPECT_TRUE(p.add(never));
  EXPECT_TRUE(p.add(never));
  EXPECT_FALSE(p.add(never));
  EXPECT_EQ(started(p), "1@0 2@1 ");
  EXPECT_FALSE(p.add(never));
  p.finish(1, time_point{});
  EXPECT_EQ(started(p), "3@0 ");
  EXPECT_TRUE(p.add(never));
  EXPECT_FALSE(p.add(never));
}

TEST(pool_plan, without_room_to_wait_takes_one_for_each_thread) {
  pool_plan p{1, 0, 1min};
  EXPECT_TRUE(p.add(never));
  EXPECT_FALSE(p.add(never));
  EXPECT_EQ(started(p), "1@0 ");
  EXPECT_FALSE(p.add(never));
  p.finish(1, time_point{});
  EXPECT_TRUE(p.add(never));
}

TEST(pool_plan, takes_waiting_jobs_out_at_exactly_their_deadline) {
  pool_plan p{1, 10, 1min};
  ASSERT_TRUE(p.add(never));
  EXPECT_EQ(started(p), "1@0 ");
  ASSERT_TRUE(p.add(after_start(3s)));
  ASSERT_TRUE(p.add(after_start(2s)));
  ASSERT_TRUE(p.add(never));
  EXPECT_EQ(p.wakes_at(), after_start(2s));
  EXPECT_EQ(p.overdue(after_start(2s) - 1ns), std::nullopt);
  EXPECT_EQ(p.overdue(after_start(2s)), 3u);
  EXPECT_EQ(p.overdue(after_start(2s)), std::nullopt);
  EXPECT_EQ(p.wakes_at(), after_start(3s));
  EXPECT_EQ(p.overdue(after_start(9s)), 2u);
  EXPECT_EQ(p.overdue(after_start(9s)), std::nullopt);
  EXPECT_EQ(p.wakes_at(), never);
  p.finish(1, time_point{});
  EXPECT_EQ(started(p), "4@0 ");
}

TEST(pool_plan, forgets_the_deadline_of_a_job_that_started) {
  pool_plan p{1, 10, 1min};
  ASSERT_TRUE(p.add(after_start(1s)));
  EXPECT_EQ(started(p), "1@0 ");
  EXPECT_EQ(p.wakes_at(), never);
  EXPECT_EQ(p.overdue(after_start(2s)), std::nullopt);
}

TEST(pool_plan, drops_waiting_jobs_only) {
  pool_plan p{1, 10, 1min};
  ASSERT_TRUE(p.add(never));
  EXPECT_EQ(started(p), "1@0 ");
  ASSERT_TRUE(p.add(after_start(1s)));
  EXPECT_FALSE(p.drop(1));
  EXPECT_FALSE(p.drop(7));
  EXPECT_TRUE(p.drop(2));
  EXPECT_FALSE(p.drop(2));
  EXPECT_EQ(p.wakes_at(), never);
  EXPECT_FALSE(p.finish(2, time_point{}));
  EXPECT_EQ(p.thread_of(1), 0u);
  EXPECT_EQ(p.thread_of(2), std::nullopt);
}

TEST(pool_plan, drops_all_in_the_order_of_their_arrival) {
  pool_plan p{1, 10, 1min};
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(p.add(after_start(1s)));
  std::vector<pool_plan::job> dropped;
  while (auto x = p.drop_first())
    dropped.push_back(*x);
  EXPECT_EQ(dropped, (std::vector<pool_plan::job>{1, 2, 3}));
  EXPECT_EQ(p.wakes_at(), never);
}

TEST(pool_plan, takes_out_threads_at_exactly_the_end_of_their_patience) {
  pool_plan p{8, 0, 10s};
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(p.add(never));
  EXPECT_EQ(started(p), "1@0 2@1 3@2 ");
  EXPECT_EQ(p.wakes_at(), never);
  EXPECT_EQ(p.idle(after_start(1h)), std::nullopt);
  p.finish(2, after_start(1s));
  p.finish(1, after_start(2s));
  EXPECT_EQ(p.wakes_at(), after_start(11s));
  EXPECT_EQ(p.idle(after_start(11s) - 1ns), std::nullopt);
  EXPECT_EQ(p.idle(after_start(11s)), 1u);
  EXPECT_EQ(p.idle(after_start(11s)), std::nullopt);
  EXPECT_EQ(p.wakes_at(), after_start(12s));
  // A job that waits no longer than that comes first.
  ASSERT_TRUE(p.add(after_start(11s)));
  EXPECT_EQ(p.wakes_at(), after_start(11s));
  EXPECT_TRUE(p.drop(4));
  EXPECT_EQ(p.idle(after_start(12s)), 0u);
  EXPECT_EQ(p.wakes_at(), never);
  EXPECT_EQ(p.thread_of(3), 2u);
}

TEST(pool_plan, a_thread_that_works_again_has_all_its_patience) {
  pool_plan p{2, 0, 10s};
  ASSERT_TRUE(p.add(never));
  EXPECT_EQ(started(p), "1@0 ");
  p.finish(1, after_start(0s));
  ASSERT_TRUE(p.add(never));
  EXPECT_EQ(started(p), "2@0 ");
  EXPECT_EQ(p.idle(after_start(10s)), std::nullopt);
  p.finish(2, after_start(15s));
  EXPECT_EQ(p.idle(after_start(25s) - 1ns), std::nullopt);
  EXPECT_EQ(p.idle(after_start(25s)), 0u);
}

TEST(pool_plan, numbers_of_idle_threads_are_those_of_the_next_ones) {
  pool_plan p{3, 0, 10s};
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(p.add(never));
  EXPECT_EQ(started(p), "1@0 2@1 3@2 ");
  p.finish(3, after_start(0s));
  p.finish(1, after_start(1s));
  EXPECT_EQ(p.idle(after_start(10s)), 2u);
  ASSERT_TRUE(p.add(never));
  ASSERT_TRUE(p.add(never));
  EXPECT_FALSE(p.add(never));
  EXPECT_EQ(started(p), "4@0 5@2 ");
  EXPECT_EQ(p.running(), 3u);
}

} // namespace
} // namespace caisson::detail
