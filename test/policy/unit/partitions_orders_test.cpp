// Orders of the calls that wait within partitions, and those without hope.
#include <caisson/policies/semaphore.hpp>

#include <support/partitioned.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <map>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

TEST(partitions, keep_the_order_within_each) {
  auto c = partitioned({{"live", 0.5}, {"batch", 0.5}}, 2);
  c.order = wait_order::lifo;
  shared_rig h{c};
  auto batch = h.flood("batch", 5);
  auto live = h.flood("live", 3);
  h.finish(batch[0]);
  EXPECT_EQ(h.where(live[2]), place::below);
  h.finish(batch[1]);
  EXPECT_EQ(h.where(batch[4]), place::below);
}

// A partition that is short of permits sheds, another one does not.
TEST(partitions, codel_judges_each_by_its_own_waits) {
  auto c = partitioned({{"a", 0.5}, {"b", 0.5}}, 2);
  c.partitions.borrow = false;
  c.order = wait_order::codel;
  c.queue.codel_keep = 0;
  shared_rig h{c};
  h.flood("a", 40);
  for (int i = 0; i < 30; ++i) {
    auto b = h.of("b");
    h.advance(20ms);
    for (auto& [id, x] : std::map{h.calls})
      if (x.where == place::below)
        h.finish(id);
    EXPECT_EQ(h.where(b), place::passed);
  }
  EXPECT_GT(h.count("shed"), 2);
}

// One in which nobody has waited for a while begins anew.
TEST(partitions, codel_forgets_long_waits_when_nobody_waits) {
  auto c = partitioned({{"a", 0.5}, {"b", 0.5}}, 2);
  c.partitions.borrow = false;
  c.order = wait_order::codel;
  c.queue.codel_keep = 0;
  shared_rig h{c};
  for (int i = 0; i < 2; ++i) {
    auto first = h.of("a");
    auto second = h.of("a");
    h.advance(9ms);
    h.finish(first);
    ASSERT_EQ(h.where(second), place::below) << i;
    h.finish(second);
    h.advance(200ms);
  }
}

// Knows that each call takes 100 ms.
struct hopeful_rig : shared_rig {
  hopeful_rig() : shared_rig(hopeful()) {
    for (int i = 0; i < 4; ++i) {
      auto some = flood("batch", 10);
      advance(100ms);
      for (auto id : some)
        finish(id);
    }
  }

  static semaphore_config hopeful() {
    auto c = partitioned(two);
    c.queue.reject_hopeless = true;
    return c;
  }

  // What becomes of a call with so much time.
  place due(const char* key, duration d) {
    return where(arrive_with(d, of_key(key)));
  }
};

TEST(partitions, hope_counts_what_the_partition_can_get) {
  hopeful_rig h;
  h.flood("batch", 10);
  // Two means: it would begin to run when the first come back.
  EXPECT_EQ(h.due("live", 205ms), place::held);
  h.flood("batch", 10);
  EXPECT_EQ(h.due("batch", 205ms), place::rejected) << "11 are before its turn";
  EXPECT_EQ(h.due("live", 205ms), place::held) << "7 permits are its own";
  EXPECT_EQ(h.count("hopeless"), 1);
}

TEST(partitions, hope_leaves_out_what_others_use) {
  hopeful_rig h;
  h.flood("live", 8);
  h.flood("batch", 5);
  EXPECT_EQ(h.count("waiting_batch"), 3);
  // Two permits for four calls, and then its own time.
  EXPECT_EQ(h.due("batch", 290ms), place::rejected);
  EXPECT_EQ(h.due("batch", 310ms), place::held);
}

} // namespace
} // namespace caisson::test
