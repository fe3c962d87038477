// Waits for a permit or a token, as metrics and events report them.
#include "policies/limiter/model/limiter_rig.hpp"

#include <caisson/policies/semaphore.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using strings = std::vector<std::string>;

semaphore_config queueing(std::uint32_t permits, std::uint32_t waiters,
                          duration max_wait = unlimited,
                          wait_order order = wait_order::fifo) {
  semaphore_config c;
  c.permits = permits;
  c.max_waiters = waiters;
  c.max_wait = max_wait;
  c.order = order;
  return c;
}

// Granted, in vain, the longest.
using times = std::vector<std::int64_t>;

template <class Host>
times waits_of(const Host& h) {
  return {h.count("waited_us_granted"), h.count("waited_us_refused"),
          h.count("longest_wait_us")};
}

// -- the sums -----------------------------------------------------------------

TEST(wait_times, count_whole_microseconds_of_each_wait) {
  detail::wait_times t;
  t.granted(1999ns);
  t.granted(1999ns);
  t.refused(999ns);
  std::vector<metric> ms;
  t.list(ms);
  ASSERT_EQ(ms.size(), 3u);
  EXPECT_EQ(ms[0].value, 2);
  EXPECT_EQ(ms[1].value, 0);
  EXPECT_EQ(ms[2].value, 1);
  EXPECT_FALSE(ms[0].gauge);
  EXPECT_TRUE(ms[2].gauge);
}

TEST(wait_times, do_not_overflow) {
  detail::wait_times t;
  for (int i = 0; i < 1002; ++i)
    t.granted(unlimited);
  std::vector<metric> ms;
  t.list(ms);
  EXPECT_EQ(ms[0].value, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(ms[2].value, std::numeric_limits<std::int64_t>::max() / 1000);
}

// -- semaphore ----------------------------------------------------------------

TEST(wait_times, of_calls_that_get_their_permit) {
  rig<semaphore> h{queueing(1, 5)};
  auto a = h.arrive();
  auto b = h.arrive();
  h.advance(2ms);
  auto c = h.arrive();
  h.advance(3ms);
  h.finish(a);
  EXPECT_EQ(waits_of(h), (times{5000, 0, 5000}));
  h.advance(1ms);
  h.finish(b);
  EXPECT_EQ(waits_of(h), (times{9000, 0, 5000}));
  h.finish(c);
  EXPECT_EQ(waits_of(h), (times{9000, 0, 5000}));
}

TEST(wait_times, of_calls_that_wait_in_vain) {
  rig<semaphore> h{queueing(2, 2, 10ms, wait_order::lifo)};
  h.arrive(heavy(2));
  auto evicted = h.arrive(heavy(2));
  h.advance(1ms);
  auto abandoned_call = h.arrive();
  h.arrive(); // in place of the oldest
  EXPECT_EQ(h.where(evicted), place::rejected);
  EXPECT_EQ(waits_of(h), (times{0, 1000, 1000}));
  h.advance(2ms);
  h.abandon(abandoned_call);
  EXPECT_EQ(waits_of(h), (times{0, 3000, 2000}));
  h.advance(8ms); // the end of the last one's wait
  EXPECT_EQ(h.count("timed_out"), 1);
  EXPECT_EQ(waits_of(h), (times{0, 13'000, 10'000}));
  h.arrive(heavy(2));
  h.advance(4ms);
  h.reconfigure(queueing(1, 2, 10ms, wait_order::lifo));
  EXPECT_EQ(h.count("outgrown"), 1);
  EXPECT_EQ(waits_of(h), (times{0, 17'000, 10'000}));
  EXPECT_EQ(h.e.details, (strings{"waited 1ms", "waited 10ms", "waited 4ms"}));
}

TEST(wait_times, are_not_those_of_calls_that_do_not_wait) {
  rig<semaphore> h{queueing(1, 0)};
  h.arrive();
  h.advance(5ms);
  h.arrive();
  EXPECT_EQ(waits_of(h), (times{0, 0, 0}));
  EXPECT_EQ(h.e.details, strings{""});
}

TEST(wait_times, begin_anew_with_a_reset) {
  rig<semaphore> h{queueing(1, 5)};
  auto a = h.arrive();
  h.arrive();
  h.advance(5ms);
  h.finish(a);
  auto c = h.arrive();
  EXPECT_TRUE(h.command(operator_command::reset));
  EXPECT_EQ(waits_of(h), (times{0, 0, 0}));
  h.advance(1ms);
  h.abandon(c);
  EXPECT_EQ(waits_of(h), (times{0, 1000, 1000}));
}

TEST(wait_times, are_not_negative_when_the_clock_steps_back) {
  rig<semaphore> h{queueing(1, 5)};
  auto a = h.arrive();
  h.advance(5ms);
  h.arrive();
  h.set_clock(1ms);
  h.finish(a);
  EXPECT_EQ(waits_of(h), (times{0, 0, 0}));
}

// -- limiter ------------------------------------------------------------------

TEST(wait_times, of_calls_that_wait_for_a_token) {
  limiter_rig h{some_limiter(10, 1s, 1, 250ms)};
  h.arrive();
  h.arrive();
  auto abandoned_call = h.arrive();
  h.advance_to(50ms);
  h.abandon(abandoned_call);
  h.advance_to(100ms);
  EXPECT_EQ(waits_of(h), (times{100'000, 50'000, 100'000}));
  EXPECT_TRUE(h.command(operator_command::reset));
  EXPECT_EQ(waits_of(h), (times{0, 0, 0}));
}

TEST(wait_times, of_calls_whose_token_does_not_come) {
  limiter_rig h{some_limiter(10, 1s, 2, 250ms)};
  h.arrive(heavy(2));
  auto late = h.arrive(heavy(2));
  EXPECT_EQ(h.where(late), place::held);
  // From now on tokens come too slowly for it.
  h.advance_to(10ms);
  h.reconfigure(some_limiter(1, 1s, 2, 250ms));
  h.advance_to(250ms);
  EXPECT_EQ(h.where(late), place::rejected);
  EXPECT_EQ(h.count("timed_out"), 1);
  EXPECT_EQ(waits_of(h), (times{0, 250'000, 250'000}));
  EXPECT_EQ(h.e.details, strings{"waited 250ms"});
}

} // namespace
} // namespace caisson::test
