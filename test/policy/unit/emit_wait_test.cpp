// Events of policies when a call begins to wait.
#include <caisson/policies/keyed/keyed.hpp>
#include <caisson/policies/semaphore.hpp>

#include <policies/batcher/model/batcher_rig.hpp>
#include <policies/limiter/model/limiter_rig.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace caisson::test {
namespace {

// Which call, how many run, how many wait.
using waits = std::vector<std::array<std::uint64_t, 3>>;

semaphore_config queueing(std::uint32_t permits, wait_order order) {
  semaphore_config c;
  c.permits = permits;
  c.max_waiters = 2;
  c.order = order;
  return c;
}

TEST(emit_wait, semaphore_reports_permits_in_use_and_waiting_calls) {
  rig<semaphore> h{queueing(3, wait_order::fifo)};
  auto a = h.arrive(heavy(2));
  auto b = h.arrive(heavy(2));
  auto c = h.arrive();
  EXPECT_EQ(h.e.waits, (waits{{b, 2, 1}, {c, 2, 2}}));
  // One that is refused does not wait.
  h.arrive();
  EXPECT_EQ(h.e.waits.size(), 2u);
  // Nor does one that was granted begin anew.
  h.finish(a);
  EXPECT_EQ(h.where(b), place::below);
  EXPECT_EQ(h.e.waits.size(), 2u);
  auto d = h.arrive();
  EXPECT_EQ(h.e.waits.back(), (std::array<std::uint64_t, 3>{d, 3, 1}));
}

TEST(emit_wait, semaphore_does_not_count_who_is_pushed_out) {
  rig<semaphore> h{queueing(1, wait_order::lifo)};
  h.arrive();
  h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  EXPECT_EQ(h.e.waits.back(), (std::array<std::uint64_t, 3>{c, 1, 2}));
  EXPECT_EQ(h.where(b), place::held);
}

TEST(emit_wait, limiter_reports_calls_that_have_paid_and_are_not_back) {
  limiter_rig h{some_limiter(10, 1s, 2, 1s)};
  auto a = h.arrive();
  auto b = h.arrive();
  auto c = h.arrive();
  EXPECT_EQ(h.e.waits, (waits{{c, 2, 1}}));
  h.finish(a);
  h.abandon(b);
  auto d = h.arrive();
  EXPECT_EQ(h.e.waits.back(), (std::array<std::uint64_t, 3>{d, 0, 2}));
  h.advance(100ms);
  EXPECT_EQ(h.where(c), place::below);
  h.abandon(d);
  auto e = h.arrive();
  EXPECT_EQ(h.e.waits.back(), (std::array<std::uint64_t, 3>{e, 1, 1}));
}

TEST(emit_wait, batcher_reports_batches_in_flight_and_items_of_the_next) {
  batcher_config c;
  c.max_items = 2;
  c.max_outstanding = 1;
  batcher_rig h{c};
  auto a = h.arrive();
  EXPECT_EQ(h.e.waits, (waits{{a, 0, 1}}));
  // This one completes the batch.
  h.arrive();
  EXPECT_EQ(h.e.waits.size(), 1u);
  h.take();
  auto d = h.arrive();
  auto e = h.arrive();
  auto f = h.arrive();
  EXPECT_EQ(h.e.waits, (waits{{a, 0, 1}, {d, 1, 1}, {e, 1, 2}, {f, 1, 3}}));
}

TEST(emit_wait, is_reported_for_each_key_by_itself) {
  rig<keyed<semaphore>> h{
    keyed_config<semaphore>{queueing(1, wait_order::fifo)}};
  for (const auto* key : {"a", "a", "b", "b"})
    h.arrive(of_key(key));
  EXPECT_EQ(h.e.waits, (waits{{2, 1, 1}, {4, 1, 1}}));
}

} // namespace
} // namespace caisson::test
