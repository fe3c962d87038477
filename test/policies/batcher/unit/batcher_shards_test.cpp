#include <policies/batcher/model/batcher_rig.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

class sharded_rig : public batcher_rig {
public:
  using batcher_rig::batcher_rig;

  call_id arrive_at(std::string shard, call_info call = {}) {
    policy.describe_next({.shard = std::move(shard)});
    return arrive(std::move(call));
  }
};

batcher_config with_shards(std::uint32_t shards) {
  batcher_config c;
  c.max_items = 2;
  c.max_delay = 10ms;
  c.max_outstanding = 1000;
  c.max_waiting = 1'000'000;
  c.deadline_margin = 5ms;
  c.max_shards = shards;
  return c;
}

// -- which items share a batch ------------------------------------------------

TEST(batcher_shards, never_share_a_batch) {
  sharded_rig b{with_shards(10)};
  b.arrive_at("a");
  b.arrive_at("b");
  b.arrive_at("");
  b.arrive();
  EXPECT_EQ(b.take(), (call_ids{3, 4})) << "no shard is one as well";
  b.arrive_at("b");
  EXPECT_EQ(b.take(), (call_ids{2, 5}));
  EXPECT_EQ(b.count("shards"), 1);
  b.arrive_at("a");
  EXPECT_EQ(b.take(), (call_ids{1, 6}));
  EXPECT_EQ(b.count("shards"), 0);
  EXPECT_EQ(b.policy.wakeup(), never);
}

TEST(batcher_shards, have_a_delay_each) {
  sharded_rig b{with_shards(10)};
  b.arrive_at("a");
  b.advance_to(4ms);
  b.arrive_at("b");
  EXPECT_EQ(b.policy.wakeup(), b.start() + 10ms);
  b.advance_to(10ms);
  EXPECT_EQ(b.take(), call_ids{1});
  EXPECT_TRUE(b.launched.empty());
  EXPECT_EQ(b.policy.wakeup(), b.start() + 14ms);
  b.advance_to(14ms);
  EXPECT_EQ(b.take(), call_ids{2});
  EXPECT_EQ(b.count("flushed_by_delay"), 2);
}

TEST(batcher_shards, have_a_deadline_each) {
  sharded_rig b{with_shards(10)};
  call_info urgent;
  urgent.deadline = b.start() + 9ms;
  b.arrive_at("a", urgent);
  b.arrive_at("b");
  EXPECT_EQ(b.policy.wakeup(), b.start() + 4ms);
  b.abandon(1);
  EXPECT_EQ(b.policy.wakeup(), b.start() + 10ms);
  b.arrive_at("b", urgent);
  EXPECT_EQ(b.take(), (call_ids{2, 3}));
}

TEST(batcher_shards, have_a_weight_each) {
  auto c = with_shards(10);
  c.max_items = 100;
  c.max_weight = 5;
  sharded_rig b{c};
  b.arrive_at("a", heavy(4));
  b.arrive_at("b", heavy(4));
  EXPECT_TRUE(b.launched.empty());
  b.arrive_at("a", heavy(1));
  EXPECT_EQ(b.take(), (call_ids{1, 3}));
}

TEST(batcher_shards, have_equal_items_of_their_own) {
  sharded_rig b{with_shards(10)};
  for (auto shard : {"a", "b"}) {
    b.policy.describe_next({.identity = "x", .shard = shard});
    b.arrive();
  }
  EXPECT_EQ(b.count("equal_items"), 0);
  b.policy.describe_next({.identity = "x", .shard = "b"});
  b.arrive();
  EXPECT_EQ(b.count("equal_items"), 1);
  b.drain();
  EXPECT_EQ(b.take(), call_ids{1});
  EXPECT_EQ(b.take(), (call_ids{2, 3}));
}

TEST(batcher_shards, share_the_room_for_items) {
  auto c = with_shards(10);
  c.max_waiting = 2;
  sharded_rig b{c};
  b.arrive_at("a");
  b.arrive_at("b");
  EXPECT_EQ(b.where(b.arrive_at("c")), place::rejected);
  EXPECT_EQ(b.count("rejected_full"), 1);
  EXPECT_EQ(b.count("waiting"), 2);
}

TEST(batcher_shards, reject_a_call_whose_shard_is_not_known) {
  sharded_rig b{with_shards(10)};
  b.policy.describe_next({.shard = "a", .failed = true});
  EXPECT_EQ(b.where(b.arrive()), place::rejected);
  EXPECT_EQ(b.count("shards"), 0);
}

// -- whose turn it is ---------------------------------------------------------

TEST(batcher_shards, take_turns_while_too_much_is_in_flight) {
  auto c = with_shards(10);
  c.max_outstanding = 1;
  sharded_rig b{c};
  for (auto shard : {"x", "x", "b", "a", "a", "a", "a", "a", "a", "c"})
    b.arrive_at(shard);
  b.take();
  b.advance_to(10ms);
  EXPECT_EQ(b.policy.wakeup(), never);
  std::vector<call_ids> seen;
  while (b.count("outstanding") > 0) {
    b.done(b.last_taken);
    if (!b.launched.empty())
      seen.push_back(b.take());
  }
  // The one that is full first, then those that are due, then its rest.
  EXPECT_EQ(seen, (std::vector<call_ids>{{4, 5}, {3}, {10}, {6, 7}, {8, 9}}));
}

TEST(batcher_shards, wait_again_if_the_clock_steps_back) {
  auto c = with_shards(10);
  c.max_outstanding = 1;
  sharded_rig b{c};
  b.arrive_at("x");
  b.arrive_at("x");
  b.take();
  b.arrive_at("a");
  b.advance_to(10ms);
  b.arrive_at("b"); // The other one is queued now.
  b.set_clock(5ms);
  b.done(b.last_taken);
  EXPECT_TRUE(b.launched.empty());
  EXPECT_EQ(b.policy.wakeup(), b.start() + 10ms);
  b.advance_to(10ms);
  EXPECT_EQ(b.take(), call_ids{3});
}

TEST(batcher_shards, forget_their_turn_with_their_last_item) {
  auto c = with_shards(10);
  c.max_outstanding = 1;
  sharded_rig b{c};
  for (auto shard : {"x", "x", "a", "a", "b", "b"})
    b.arrive_at(shard);
  b.take();
  b.abandon(3);
  b.abandon(4);
  EXPECT_EQ(b.count("shards"), 1);
  b.arrive_at("c"); // In the memory of the one that is gone.
  b.done(b.last_taken);
  EXPECT_EQ(b.take(), (call_ids{5, 6}));
  b.done(b.last_taken);
  EXPECT_TRUE(b.launched.empty());
}

TEST(batcher_shards, do_not_take_one_call_for_another) {
  auto c = with_shards(10);
  sharded_rig b{c};
  b.arrive_at("a");
  b.arrive_at("a"); // Sent, and not yet taken.
  b.arrive_at("b"); // In the memory of the one that is gone.
  b.abandon(1);
  EXPECT_EQ(b.count("waiting"), 1);
  EXPECT_EQ(b.count("shards"), 1);
  EXPECT_EQ(b.take(), call_ids{2});
}

// -- bounds -------------------------------------------------------------------

TEST(batcher_shards, are_sent_early_for_a_further_one) {
  sharded_rig b{with_shards(2)};
  b.arrive_at("a");
  b.advance_to(1ms);
  call_info urgent;
  urgent.deadline = b.start() + 7ms;
  b.arrive_at("b", urgent);
  b.arrive_at("a"); // Needs no further one.
  EXPECT_EQ(b.take(), (call_ids{1, 3}));
  b.arrive_at("c");
  EXPECT_TRUE(b.launched.empty());
  b.arrive_at("d");
  EXPECT_EQ(b.take(), call_ids{2}) << "due at 2ms, the other one at 11ms";
  EXPECT_EQ(b.count("flushed_by_shards"), 1);
  EXPECT_EQ(b.count("shards"), 2);
  EXPECT_EQ(b.e.details.back(), "shards");
}

TEST(batcher_shards, are_rejected_if_none_can_be_sent_early) {
  auto c = with_shards(1);
  c.max_outstanding = 1;
  sharded_rig b{c};
  b.arrive_at("x");
  b.arrive_at("x");
  b.take();
  EXPECT_EQ(b.where(b.arrive_at("a")), place::held);
  auto id = b.arrive_at("b");
  EXPECT_EQ(b.where(id), place::rejected);
  EXPECT_EQ(b.calls.at(id).code, errc::queue_full);
  EXPECT_EQ(b.count("rejected_shards"), 1);
  EXPECT_EQ(b.where(b.arrive_at("a")), place::held);
  b.done(b.last_taken);
  EXPECT_EQ(b.take(), (call_ids{3, 5}));
  EXPECT_EQ(b.where(b.arrive_at("b")), place::held);
}

TEST(batcher_shards, stay_when_fewer_may_be) {
  sharded_rig b{with_shards(5)};
  for (auto shard : {"a", "b", "c"})
    b.arrive_at(shard);
  b.reconfigure(with_shards(1));
  EXPECT_EQ(b.count("shards"), 3);
  b.arrive_at("d");
  EXPECT_EQ(b.count("flushed_by_shards"), 3);
  EXPECT_EQ(b.count("shards"), 1);
}

TEST(batcher_shards, follow_new_settings) {
  sharded_rig b{with_shards(5)};
  b.arrive_at("a");
  b.advance_to(1ms);
  b.arrive_at("b");
  auto c = with_shards(5);
  c.max_delay = 3ms;
  b.reconfigure(c);
  EXPECT_EQ(b.policy.wakeup(), b.start() + 3ms);
  c.max_delay = 1ms;
  b.reconfigure(c);
  EXPECT_EQ(b.take(), call_ids{1});
  c.max_items = 1;
  b.reconfigure(c);
  EXPECT_EQ(b.take(), call_ids{2});
}

TEST(batcher_shards, are_all_sent_by_a_drain) {
  auto c = with_shards(100'000);
  c.max_outstanding = 1;
  sharded_rig b{c};
  for (int i = 0; i < 1'000; ++i)
    b.arrive_at(std::to_string(i));
  b.drain();
  for (call_id id = 1; id <= 1'000; ++id) {
    EXPECT_EQ(b.take(), call_ids{id});
    b.done(b.last_taken);
  }
  EXPECT_EQ(b.count("flushed_by_drain"), 1'000);
  EXPECT_EQ(b.count("waiting"), 0);
}

TEST(batcher_shards, may_be_a_hundred_thousand) {
  batcher_config c = with_shards(100'000);
  batcher b{c};
  random_source random{1};
  batcher_rig::recording e{batcher_rig::start(), random};
  std::vector<call_info> calls(100'000);
  std::vector<slot> notes(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i].id = i + 1;
    b.describe_next({.shard = std::to_string(i)});
    b.admit(calls[i], notes[i], e);
    e.now += 1ns;
  }
  EXPECT_TRUE(e.actions.empty());
  auto o = outcome::failure(errc::cancelled, false);
  for (std::size_t i = 0; i < calls.size(); i += 2)
    b.abandon(calls[i], notes[i], o, false, e);
  EXPECT_EQ(b.wakeup(), batcher_rig::start() + 10ms + 1ns);
  for (std::size_t i = 1; i < calls.size(); i += 2)
    b.abandon(calls[i], notes[i], o, false, e);
  EXPECT_EQ(b.wakeup(), never);
}

// -- items that leave ---------------------------------------------------------

call_info ending_at(time_point t) {
  call_info call;
  call.deadline = t;
  return call;
}

// The timer of a call comes before that of the policy, or both are late: its
// item has left, and the other one, call 1, is overdue.
struct overdue_rig : sharded_rig {
  static batcher_config config() {
    auto c = with_shards(1);
    c.max_items = 9;
    c.deadline_margin = 0ms;
    return c;
  }

  overdue_rig() : sharded_rig(config()) {
    arrive_at("a");
    arrive_at("a", ending_at(start() + 20ms));
    set_clock(20ms);
    abandon(2);
  }
};

TEST(batcher_shards, are_sent_when_the_item_that_held_them_back_has_left) {
  overdue_rig b;
  EXPECT_EQ(b.policy.wakeup(), time_point::min());
  b.advance_to(20ms);
  EXPECT_EQ(b.take(), call_ids{1});
  EXPECT_EQ(b.policy.wakeup(), never);
}

TEST(batcher_shards, make_room_for_others_also_if_they_are_due) {
  overdue_rig b;
  b.arrive_at("b");
  EXPECT_EQ(b.take(), call_ids{1});
  EXPECT_EQ(b.count("flushed_by_delay"), 1);
  EXPECT_EQ(b.count("flushed_by_shards"), 0);
}

TEST(batcher_shards, that_became_due_first_are_sent_first) {
  auto c = with_shards(10);
  c.max_outstanding = 1;
  sharded_rig b{c};
  b.arrive_at("x");
  b.arrive_at("x");
  EXPECT_EQ(b.take(), (call_ids{1, 2}));
  b.arrive_at("a");
  b.advance_to(20ms);
  // Due at once, but later.
  b.arrive_at("b", ending_at(b.start() + 22ms));
  b.succeed(b.last_taken);
  EXPECT_EQ(b.take(), call_ids{3});
  b.succeed(b.last_taken);
  EXPECT_EQ(b.take(), call_ids{4});
}

} // namespace
} // namespace caisson::test
