#include <policies/batcher/model/batcher_rig.hpp>

#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

class blocked_rig : public batcher_rig {
public:
  using batcher_rig::batcher_rig;

  call_id arrive_as(batch_item x, call_info call = {}) {
    policy.describe_next(std::move(x));
    return arrive(std::move(call));
  }

  // So that as much as may be is in flight, of items that nothing is equal to.
  void fill() {
    while (count("outstanding") < policy.config().max_outstanding) {
      arrive();
      if (!launched.empty())
        take();
    }
  }

  errc code_of(call_id id) const { return calls.at(id).code; }
};

batcher_config rejecting() {
  auto c = three_items();
  c.max_outstanding = 1;
  c.when_blocked = blocked_items::reject;
  return c;
}

// -- configuration ------------------------------------------------------------

TEST(batcher_blocked, cannot_reject_where_nothing_waits_for_company) {
  auto c = rejecting();
  c.max_delay = 0ns;
  EXPECT_EQ(kinds_and_keys(problems_of(c, "db")),
            std::vector<std::string>{"relation db.when_blocked"});
  EXPECT_THROW(batcher{c}, config_error);
  c.max_delay = 1ns;
  EXPECT_EQ(problems_of(c), problems{});
  c.max_delay = 0ns;
  c.when_blocked = blocked_items::wait;
  EXPECT_EQ(problems_of(c), problems{});
}

TEST(batcher_blocked, makes_items_wait_by_default) {
  batcher_config c;
  EXPECT_EQ(c.when_blocked, blocked_items::wait);
}

// -- items that come ----------------------------------------------------------

TEST(batcher_blocked, rejects_items_that_come_meanwhile) {
  blocked_rig b{rejecting()};
  b.arrive();
  b.arrive();
  EXPECT_EQ(b.where(2), place::held) << "nothing is in flight yet";
  b.arrive();
  b.take();
  auto id = b.arrive();
  EXPECT_EQ(b.where(id), place::rejected);
  EXPECT_EQ(b.code_of(id), errc::queue_full);
  EXPECT_EQ(b.calls.at(id).retry_after, 0ns);
  EXPECT_EQ(b.count("rejected_blocked"), 1);
  EXPECT_EQ(b.count("rejected_full"), 0);
  EXPECT_EQ(b.count("items"), 3);
  EXPECT_EQ(b.count("waiting"), 0);
  EXPECT_EQ(b.e.reports.back(), "rejected:>queue_full");
  b.done(b.last_taken);
  EXPECT_EQ(b.where(b.arrive()), place::held);
}

TEST(batcher_blocked, rejects_only_when_as_many_as_may_be_are_in_flight) {
  auto c = rejecting();
  c.max_outstanding = 2;
  blocked_rig b{c};
  for (int i = 0; i < 3; ++i)
    b.arrive();
  EXPECT_EQ(b.where(b.arrive()), place::held) << "one of two";
  b.fill();
  EXPECT_EQ(b.where(b.arrive()), place::rejected);
}

TEST(batcher_blocked, keeps_the_items_that_wait_already) {
  auto c = rejecting();
  c.max_outstanding = 2;
  blocked_rig b{c};
  b.fill();
  b.done(b.last_taken);
  auto waits = b.arrive();
  c.max_outstanding = 1; // The other one is still in flight.
  b.reconfigure(c);
  EXPECT_EQ(b.policy.state(), "blocked");
  EXPECT_EQ(b.where(b.arrive()), place::rejected);
  b.advance(1h);
  EXPECT_EQ(b.where(waits), place::held);
  b.done(1);
  EXPECT_EQ(b.take(), call_ids{waits});
}

TEST(batcher_blocked, lets_equal_items_join_those_that_wait) {
  auto c = rejecting();
  c.max_outstanding = 2;
  blocked_rig b{c};
  b.fill();
  b.done(b.last_taken);
  auto first = b.arrive_as({.identity = "a"});
  auto other = b.arrive_as({.identity = "a", .shard = "s"});
  c.max_outstanding = 1;
  b.reconfigure(c);
  auto second = b.arrive_as({.identity = "a"});
  EXPECT_EQ(b.where(second), place::held);
  EXPECT_EQ(b.count("equal_items"), 1);
  EXPECT_EQ(b.where(b.arrive_as({.identity = "b"})), place::rejected);
  EXPECT_EQ(b.where(b.arrive_as({.identity = "a", .shard = "t"})),
            place::rejected)
    << "equal, but in another shard";
  EXPECT_EQ(b.where(b.arrive_as({.identity = "a", .shard = "s"})), place::held);
  EXPECT_EQ(b.count("rejected_blocked"), 2);
  EXPECT_EQ(b.count("rejected_shards"), 0);
  b.abandon(first);
  b.abandon(second);
  EXPECT_EQ(b.where(b.arrive_as({.identity = "a"})), place::rejected)
    << "none waits any more";
  b.abandon(other);
}

TEST(batcher_blocked, rejects_what_is_equal_to_items_in_flight) {
  blocked_rig b{rejecting()};
  for (auto x : {"a", "b", "c"})
    b.arrive_as({.identity = x});
  b.take();
  EXPECT_EQ(b.where(b.arrive_as({.identity = "a"})), place::rejected);
}

TEST(batcher_blocked, brings_a_deadline_forward_with_an_equal_item) {
  auto c = rejecting();
  c.max_outstanding = 2;
  blocked_rig b{c};
  b.fill();
  b.done(b.last_taken);
  b.arrive_as({.identity = "a"});
  c.max_outstanding = 1;
  b.reconfigure(c);
  call_info urgent;
  urgent.deadline = b.e.now + 5ms;
  b.arrive_as({.identity = "a"}, urgent);
  EXPECT_EQ(b.policy.wakeup(), never);
  b.done(1);
  EXPECT_EQ(b.take().size(), 2u);
  EXPECT_EQ(b.count("flushed_by_deadline"), 1);
}

// -- the order of the checks --------------------------------------------------

TEST(batcher_blocked, names_the_limit_of_waiting_items_first) {
  auto c = rejecting();
  c.when_blocked = blocked_items::wait;
  blocked_rig b{c};
  b.fill();
  for (int i = 0; i < 5; ++i)
    b.arrive_as({.identity = "a"});
  c.when_blocked = blocked_items::reject;
  b.reconfigure(c);
  EXPECT_EQ(b.where(b.arrive()), place::rejected);
  EXPECT_EQ(b.where(b.arrive_as({.identity = "a"})), place::rejected)
    << "equal ones need room as well";
  EXPECT_EQ(b.count("rejected_full"), 2);
  b.abandon(4);
  EXPECT_EQ(b.where(b.arrive()), place::rejected);
  EXPECT_EQ(b.count("rejected_blocked"), 1);
}

TEST(batcher_blocked, needs_no_place_for_a_further_shard) {
  auto c = rejecting();
  c.max_outstanding = 2;
  c.max_shards = 1;
  blocked_rig b{c};
  b.fill();
  b.done(b.last_taken);
  b.arrive_as({.shard = "s"});
  c.max_outstanding = 1;
  b.reconfigure(c);
  b.arrive_as({.shard = "t"});
  EXPECT_EQ(b.count("rejected_blocked"), 1);
  EXPECT_EQ(b.count("rejected_shards"), 0);
  EXPECT_EQ(b.count("flushed_by_shards"), 0) << "nothing was sent for it";
}

TEST(batcher_blocked, blames_the_function_that_threw) {
  blocked_rig b{rejecting()};
  b.fill();
  auto id = b.arrive_as({.failed = true});
  EXPECT_EQ(b.code_of(id), errc::callback_failed);
  EXPECT_EQ(b.count("rejected_blocked"), 0);
}

TEST(batcher_blocked, rejects_while_it_drains_as_well) {
  blocked_rig b{rejecting()};
  b.fill();
  b.drain();
  auto id = b.arrive(); // Such as one that a retrier sends again.
  EXPECT_EQ(b.code_of(id), errc::queue_full);
  EXPECT_EQ(b.policy.state(), "draining");
  b.done(b.last_taken);
  EXPECT_EQ(b.where(b.arrive()), place::held);
  EXPECT_EQ(b.take().size(), 1u);
}

// -- batches that fail --------------------------------------------------------

TEST(batcher_blocked, counts_halves_by_what_is_in_flight) {
  auto c = rejecting();
  c.split_failed = 5;
  blocked_rig b{c};
  b.fill();
  outcome fault;
  fault.ok = false;
  fault.code = 3;
  fault.category = category_hash("app");
  EXPECT_TRUE(b.fail_batch(b.last_taken, fault));
  EXPECT_EQ(b.count("halves"), 1) << "the first one is in flight";
  EXPECT_EQ(b.where(b.arrive()), place::rejected);
  b.take();
  b.succeed(b.last_taken);
  EXPECT_EQ(b.count("halves"), 0);
  EXPECT_EQ(b.where(b.arrive()), place::rejected) << "the other one is now";
  b.take();
  b.succeed(b.last_taken);
  EXPECT_EQ(b.where(b.arrive()), place::held);
}

// -- operators ----------------------------------------------------------------

TEST(batcher_blocked, follows_new_settings_meanwhile) {
  auto c = rejecting();
  blocked_rig b{c};
  b.fill();
  EXPECT_EQ(b.where(b.arrive()), place::rejected);
  c.when_blocked = blocked_items::wait;
  b.reconfigure(c);
  auto waits = b.arrive();
  EXPECT_EQ(b.where(waits), place::held);
  c.when_blocked = blocked_items::reject;
  b.reconfigure(c);
  EXPECT_EQ(b.where(waits), place::held);
  EXPECT_EQ(b.where(b.arrive()), place::rejected);
  c.max_outstanding = 2;
  b.reconfigure(c);
  EXPECT_EQ(b.where(b.arrive()), place::held);
  b.advance(10ms);
  EXPECT_EQ(b.take().size(), 2u);
}

TEST(batcher_blocked, is_its_state_while_it_rejects) {
  auto c = rejecting();
  blocked_rig b{c};
  EXPECT_EQ(b.policy.state(), "idle");
  b.arrive();
  EXPECT_EQ(b.policy.state(), "collecting");
  b.fill();
  EXPECT_EQ(b.policy.state(), "blocked") << "although nothing waits";
  c.when_blocked = blocked_items::wait;
  b.reconfigure(c);
  EXPECT_EQ(b.policy.state(), "idle");
  b.arrive();
  EXPECT_EQ(b.policy.state(), "blocked");
}

TEST(batcher_blocked, counts_from_zero_after_a_reset) {
  blocked_rig b{rejecting()};
  b.fill();
  b.arrive();
  EXPECT_TRUE(b.command(operator_command::reset));
  EXPECT_EQ(b.count("rejected_blocked"), 0);
  EXPECT_EQ(b.where(b.arrive()), place::rejected) << "it is blocked still";
}

TEST(batcher_blocked, rejects_nothing_where_it_only_observes) {
  auto c = rejecting();
  c.max_items = 1;
  blocked_rig b{c};
  for (call_id id = 1; id <= 10; ++id) {
    b.arrive();
    b.abandon(id); // What the host does with a call that would be held.
    EXPECT_TRUE(b.take().empty());
  }
  EXPECT_EQ(b.count("rejected_blocked"), 0);
  EXPECT_EQ(b.count("items"), 10);
}

} // namespace
} // namespace caisson::test
