#include <policies/batcher/model/batcher_rig.hpp>

#include <caisson/policies/batcher/forming_batch.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using detail::sent_batch;

using item_numbers = std::vector<std::uint32_t>;

class equal_rig : public batcher_rig {
public:
  using batcher_rig::batcher_rig;

  call_id arrive_as(std::string identity, call_info call = {}) {
    policy.describe_next({.identity = std::move(identity)});
    return arrive(std::move(call));
  }

  // What the layer learns of the batch that is taken next.
  item_numbers begin() { return policy.begin_batch(launched.front()); }
};

batcher_config of_different(std::uint32_t items) {
  batcher_config c;
  c.max_items = items;
  c.max_delay = 10ms;
  c.max_outstanding = 1;
  c.max_waiting = 1000;
  c.deadline_margin = 5ms;
  return c;
}

outcome equal_items_error() {
  outcome o;
  o.ok = false;
  o.code = 3;
  o.category = category_hash("app");
  return o;
}

// -- equal items --------------------------------------------------------------

TEST(batcher_identity, makes_equal_calls_one_item) {
  equal_rig b{of_different(3)};
  b.arrive_as("a");
  b.arrive_as("b");
  b.arrive_as("a");
  b.arrive_as("a");
  EXPECT_TRUE(b.launched.empty()) << "two items";
  b.arrive_as("c");
  EXPECT_EQ(b.begin(), (item_numbers{0, 0, 0, 1, 2}));
  EXPECT_EQ(b.take(), (call_ids{1, 3, 4, 2, 5}));
  EXPECT_EQ(b.count("items"), 5);
  EXPECT_EQ(b.count("equal_items"), 2);
  EXPECT_EQ(b.count("flushed_by_count"), 1);
}

TEST(batcher_identity, is_that_of_no_other_call_if_it_is_empty) {
  equal_rig b{of_different(3)};
  b.arrive_as("");
  b.arrive();
  b.arrive_as("");
  EXPECT_TRUE(b.begin().empty());
  EXPECT_EQ(b.take(), (call_ids{1, 2, 3}));
  EXPECT_EQ(b.count("equal_items"), 0);
}

TEST(batcher_identity, says_nothing_of_a_batch_of_different_items) {
  equal_rig b{of_different(2)};
  b.arrive_as("a");
  b.arrive_as("b");
  EXPECT_TRUE(b.begin().empty());
}

TEST(batcher_identity, is_forgotten_when_the_item_is_sent) {
  equal_rig b{of_different(1)};
  b.arrive_as("a");
  b.take();
  b.arrive_as("a");
  b.arrive_as("a");
  EXPECT_EQ(b.count("equal_items"), 1);
  EXPECT_EQ(b.count("waiting"), 2);
  b.done(b.last_taken);
  EXPECT_EQ(b.take(), (call_ids{2, 3}));
}

TEST(batcher_identity, weighs_once) {
  auto c = of_different(100);
  c.max_weight = 5;
  equal_rig b{c};
  b.arrive_as("a", heavy(3));
  b.arrive_as("a", heavy(3));
  EXPECT_TRUE(b.launched.empty());
  b.arrive_as("b", heavy(2));
  EXPECT_EQ(b.take().size(), 3u);
}

TEST(batcher_identity, counts_every_call_among_those_that_wait) {
  auto c = of_different(2);
  c.max_waiting = 3;
  equal_rig b{c};
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(b.where(b.arrive_as("a")), place::held);
  EXPECT_EQ(b.where(b.arrive_as("a")), place::rejected);
  EXPECT_EQ(b.count("equal_items"), 2);
}

TEST(batcher_identity, rejects_a_call_whose_identity_is_not_known) {
  equal_rig b{of_different(2)};
  b.policy.describe_next({.identity = "a", .failed = true});
  EXPECT_EQ(b.where(b.arrive()), place::rejected);
  b.arrive_as("a");
  EXPECT_EQ(b.count("equal_items"), 0);
}

// -- calls that leave ---------------------------------------------------------

TEST(batcher_identity, keeps_the_item_for_those_that_stay) {
  equal_rig b{of_different(2)};
  auto first = b.arrive_as("a");
  b.advance_to(4ms);
  auto second = b.arrive_as("a");
  b.abandon(first);
  EXPECT_EQ(b.policy.wakeup(), b.start() + 10ms) << "as the item came";
  b.advance_to(10ms);
  EXPECT_TRUE(b.begin().empty()) << "just one";
  EXPECT_EQ(b.take(), call_ids{second});
}

TEST(batcher_identity, drops_the_item_with_its_last_call) {
  equal_rig b{of_different(2)};
  auto first = b.arrive_as("a");
  auto second = b.arrive_as("a");
  b.abandon(second);
  b.abandon(first);
  EXPECT_EQ(b.policy.wakeup(), never);
  b.arrive_as("a");
  EXPECT_EQ(b.count("equal_items"), 1) << "only that of the second call";
  b.arrive_as("b");
  EXPECT_EQ(b.take(), (call_ids{3, 4}));
}

TEST(batcher_identity, minds_the_deadline_of_every_call) {
  equal_rig b{of_different(2)};
  b.arrive_as("a");
  call_info urgent;
  urgent.deadline = b.start() + 9ms;
  auto id = b.arrive_as("a", urgent);
  EXPECT_EQ(b.policy.wakeup(), b.start() + 4ms);
  b.abandon(id);
  EXPECT_EQ(b.policy.wakeup(), b.start() + 10ms);
  b.arrive_as("a", urgent);
  b.advance_to(4ms);
  EXPECT_EQ(b.take(), (call_ids{1, 3}));
  EXPECT_EQ(b.policy.wakeup(), never);
}

TEST(batcher_identity, numbers_those_that_are_left_at_the_start) {
  equal_rig b{of_different(3)};
  for (auto x : {"a", "b", "b", "a", "a", "c"})
    b.arrive_as(x);
  b.abandon(1); // Of a, others are left.
  b.abandon(2);
  b.abandon(3);
  EXPECT_EQ(b.begin(), (item_numbers{0, 0, 1}));
  EXPECT_EQ(b.take(), (call_ids{4, 5, 6}));
}

// -- the end ------------------------------------------------------------------

TEST(batcher_identity, gives_the_numbers_once_and_for_that_batch) {
  equal_rig b{of_different(1)};
  auto send = [&] {
    b.arrive_as("a");
    b.arrive_as("a");
  };
  b.arrive(); // In flight, so that the next ones wait.
  b.take();
  send();
  b.done(b.last_taken);
  b.begin();
  b.take();
  b.abandon(3); // It was sent, and its result is dropped.
  auto batch = b.last_taken;
  b.done(batch);
  EXPECT_TRUE(b.policy.take_numbers(batch + 1).empty());
  b.arrive();
  b.take();
  send();
  b.done(b.last_taken);
  b.begin();
  b.take();
  batch = b.last_taken;
  b.done(batch);
  EXPECT_EQ(b.policy.take_numbers(batch), (item_numbers{0, 0}));
  EXPECT_TRUE(b.policy.take_numbers(batch).empty());
}

TEST(batcher_identity, splits_between_items) {
  auto c = of_different(3);
  c.split_failed = 5;
  equal_rig b{c};
  for (auto x : {"a", "b", "a", "b", "c"})
    b.arrive_as(x);
  b.take(); // 1 3, 2 4, 5
  EXPECT_TRUE(b.fail_batch(b.last_taken, equal_items_error()));
  EXPECT_EQ(b.begin(), (item_numbers{0, 0, 1, 1}));
  EXPECT_EQ(b.take(), (call_ids{1, 3, 2, 4}));
  EXPECT_TRUE(b.fail_batch(b.last_taken, equal_items_error()));
  EXPECT_EQ(b.begin(), (item_numbers{0, 0}));
  EXPECT_EQ(b.take(), (call_ids{1, 3}));
  EXPECT_FALSE(b.fail_batch(b.last_taken, equal_items_error())) << "one item";
  EXPECT_EQ(b.take(), (call_ids{2, 4}));
  b.done(b.last_taken);
  EXPECT_TRUE(b.begin().empty());
  EXPECT_EQ(b.take(), call_ids{5});
}

TEST(batcher_identity, does_not_split_what_became_one_item_before_it_was_sent) {
  auto c = of_different(2);
  c.split_failed = 5;
  equal_rig b{c};
  b.arrive_as("a");
  b.arrive_as("b");
  b.abandon(2);
  b.begin();
  b.take();
  EXPECT_FALSE(b.fail_batch(b.last_taken, equal_items_error()));
}

// -- the parts ----------------------------------------------------------------

TEST(sent_batch, numbers_its_items_only_if_some_are_equal) {
  sent_batch x;
  x.add(7);
  x.add(8);
  EXPECT_EQ(x.numbers, item_numbers{});
  EXPECT_EQ(x.items(), 2u);
  x.add_equal(9);
  x.add(10);
  EXPECT_EQ(x.numbers, (item_numbers{0, 1, 1, 2}));
  EXPECT_EQ(x.calls, (call_ids{7, 8, 9, 10}));
  EXPECT_EQ(x.items(), 3u);
}

TEST(sent_batch, is_divided_between_items) {
  struct row {
    item_numbers whole;
    item_numbers first;
    item_numbers second;
    std::size_t first_calls;
    std::size_t second_calls;
  };
  for (const auto& x :
       std::vector<row>{{{0, 0}, {0, 0}, {}, 2, 0},
                        {{0, 0, 1}, {0, 0}, {}, 2, 1},
                        {{0, 1, 1}, {}, {0, 0}, 1, 2},
                        {{0, 1, 2, 2}, {}, {0, 0}, 2, 2},
                        {{0, 0, 1, 2, 2}, {0, 0, 1}, {0, 0}, 3, 2},
                        {{0, 1, 1, 2, 3}, {0, 1, 1}, {}, 3, 2}}) {
    sent_batch b;
    b.levels = 4;
    b.numbers = x.whole;
    b.calls.resize(x.whole.size());
    auto second = b.split_off();
    EXPECT_EQ(b.numbers, x.first);
    EXPECT_EQ(second.numbers, x.second);
    EXPECT_EQ(b.calls.size(), x.first_calls);
    EXPECT_EQ(second.calls.size(), x.second_calls);
    EXPECT_EQ(second.levels, 4u);
  }
}

TEST(batcher_identity, holds_a_hundred_thousand_equal_calls) {
  auto c = of_different(2);
  c.max_waiting = 1'000'000;
  equal_rig b{c};
  for (int i = 0; i < 100'000; ++i)
    b.arrive_as("a");
  for (call_id id = 1; id <= 100'000; id += 2)
    b.abandon(id);
  b.arrive_as("b");
  EXPECT_EQ(b.take().size(), 50'001u);
  EXPECT_EQ(b.count("waiting"), 0);
}

} // namespace
} // namespace caisson::test
