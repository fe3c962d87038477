// The work of limiters with many promised turns.
#include <policies/limiter/model/reserving_rig.hpp>
#include <support/growth.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

namespace caisson::test {
namespace {

// In seconds of this thread.
template <class F>
double time_of(F f) {
  auto begin = thread_seconds();
  f();
  return thread_seconds() - begin;
}

void ask_for_turns(reserving_rig& h) {
  call_info in_a_hurry = due_at(h.now() + 1ns);
  for (int i = 0; i < 50; ++i) {
    h.calls.clear();
    EXPECT_EQ(h.where(h.arrive(in_a_hurry)), place::rejected);
    auto p = h.reserve();
    EXPECT_TRUE(p.is_granted);
    h.release(p);
    EXPECT_FALSE(h.reserve({.max_wait = 0s}).is_granted);
    h.policy.wake(h.e);
  }
}

double time_among(std::size_t promised, int waiting) {
  reserving_rig h{some_limiter(1000, 1s, 1, 1h, 1'000'000)};
  h.arrive();
  for (int i = 0; i < waiting; ++i)
    h.arrive();
  for (std::size_t i = 0; i < promised; ++i) {
    h.reserve();
    h.calls.clear();
  }
  EXPECT_EQ(h.count("promised"), static_cast<std::int64_t>(promised));
  auto best = 1e9;
  for (int i = 0; i < 5; ++i)
    best = std::min(best, time_of([&] { ask_for_turns(h); }));
  return best;
}

TEST(many_reservations, do_not_slow_down_calls_before_or_behind_them) {
  auto few = time_among(1'000, 0);
  auto many = time_among(100'000, 0);
  EXPECT_LT(many, few * 20) << few << ' ' << many;
}

TEST(many_reservations, behind_many_who_wait_are_looked_through_once) {
  auto few = time_among(100, 100);
  auto many = time_among(1'000, 1'000);
  EXPECT_LT(many, few * 40) << few << ' ' << many;
}

// One token can be taken between all turns but for the last, which needs it.
double time_past_gaps(std::size_t promised) {
  reserving_rig h{some_limiter(1, 1s, 2, unlimited, 1'000'000)};
  h.arrive(heavy(2));
  auto returned_lease = h.reserve();
  for (std::size_t i = 0; i < promised; ++i)
    h.reserve();
  h.release(returned_lease);
  EXPECT_TRUE(h.reserve({.permits = 2}).is_granted);
  call_info in_a_hurry = due_at(1ns);
  return time_of([&] { h.arrive(in_a_hurry); });
}

TEST(many_reservations, are_looked_through_once_for_a_gap) {
  auto best_of_three = [](std::size_t n) {
    return std::min({time_past_gaps(n), time_past_gaps(n), time_past_gaps(n)});
  };
  auto few = best_of_three(1'000);
  auto many = best_of_three(10'000);
  EXPECT_LT(many, few * 40) << few << ' ' << many;
}

} // namespace
} // namespace caisson::test
