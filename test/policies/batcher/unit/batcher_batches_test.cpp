#include <policies/batcher/model/batcher_rig.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace caisson::test {
namespace {

// -- batches in flight --------------------------------------------------------

TEST(batcher, starts_one_child_a_batch_that_counts_as_one_call) {
  batcher_rig b{three_items()};
  for (int i = 0; i < 6; ++i)
    b.arrive();
  ASSERT_EQ(b.e.children.size(), 2u);
  EXPECT_EQ(b.e.children[0].parents, (call_ids{1, 2, 3}));
  EXPECT_EQ(b.e.children[1].parents, (call_ids{4, 5, 6}));
  for (const auto& x : b.e.children) {
    EXPECT_EQ(x.target, child_call::below);
    EXPECT_EQ(x.permits, 1u);
    EXPECT_EQ(x.deadline, never);
  }
}

TEST(batcher, does_not_count_launched_items_as_waiting) {
  batcher_rig b{three_items()};
  for (int i = 0; i < 11; ++i)
    b.arrive();
  EXPECT_EQ(b.launched.size(), 2u);
  EXPECT_EQ(b.count("waiting"), 5);
  EXPECT_EQ(b.where(b.arrive()), place::rejected);
}

TEST(batcher, leaves_out_items_that_were_abandoned_after_the_launch) {
  batcher_rig b{three_items()};
  for (int i = 0; i < 3; ++i)
    b.arrive();
  b.abandon(2);
  EXPECT_EQ(b.take(), (call_ids{1, 3}));
  EXPECT_EQ(b.count("abandoned"), 1);
  EXPECT_EQ(b.count("emptied"), 0);
}

TEST(batcher, is_done_with_a_batch_all_of_whose_items_were_abandoned) {
  batcher_rig b{three_items()};
  for (int i = 0; i < 3; ++i)
    b.arrive();
  for (call_id id = 1; id <= 3; ++id)
    b.abandon(id);
  EXPECT_EQ(b.count("outstanding"), 1);
  EXPECT_TRUE(b.take().empty());
  EXPECT_EQ(b.count("emptied"), 1);
  EXPECT_EQ(b.count("outstanding"), 0);
}

TEST(batcher, fills_the_place_of_an_emptied_batch) {
  auto c = three_items();
  c.max_items = 2;
  c.max_outstanding = 1;
  batcher_rig b{c};
  for (int i = 0; i < 4; ++i)
    b.arrive();
  b.abandon(1);
  b.abandon(2);
  EXPECT_EQ(b.launched, (std::vector<std::uint64_t>{1}));
  EXPECT_TRUE(b.take().empty());
  EXPECT_EQ(b.take(), (call_ids{3, 4}));
}

TEST(batcher, ignores_the_end_of_a_batch_that_is_not_in_flight) {
  auto c = three_items();
  c.max_items = 1;
  c.max_outstanding = 1;
  batcher_rig b{c};
  b.arrive();
  b.take();
  b.done(0);
  b.done(2);
  EXPECT_EQ(b.count("outstanding"), 1);
  b.done(1);
  b.arrive();
  b.take();
  b.done(1); // For the second time: not the end of batch 2.
  EXPECT_EQ(b.count("outstanding"), 1);
}

TEST(batcher, counts_each_item_by_its_own_outcome) {
  batcher_rig b{three_items()};
  for (int i = 0; i < 3; ++i)
    b.arrive();
  b.take();
  b.finish(1);
  b.fail(2, errc::batch_failed);
  EXPECT_EQ(b.count("outstanding"), 1);
  b.abandon(3); // Its deadline passed.
  EXPECT_EQ(b.count("items_succeeded"), 1);
  EXPECT_EQ(b.count("items_failed"), 1);
  EXPECT_EQ(b.count("abandoned_in_flight"), 1);
  EXPECT_EQ(b.count("abandoned"), 0);
  EXPECT_EQ(b.count("outstanding"), 1) << "the batch itself is not done";
  b.done(1);
  EXPECT_EQ(b.count("outstanding"), 0);
}

TEST(batcher, does_not_change_the_outcome_of_an_item) {
  batcher_rig b{three_items()};
  for (int i = 0; i < 3; ++i)
    b.arrive();
  b.take();
  b.fail(1, errc::batch_failed);
  EXPECT_EQ(b.where(1), place::passed);
  EXPECT_TRUE(b.calls.at(1).result.is(errc::batch_failed));
}

// -- drain --------------------------------------------------------------------

TEST(batcher, sends_what_it_has_when_drained) {
  batcher_rig b{three_items()};
  b.arrive();
  b.arrive();
  b.drain();
  EXPECT_EQ(b.take(), (call_ids{1, 2}));
  EXPECT_EQ(b.count("flushed_by_drain"), 1);
  EXPECT_EQ(b.policy.state(), "draining");
}

TEST(batcher, does_nothing_when_it_is_drained_again) {
  batcher_rig b{three_items()};
  b.drain();
  b.arrive();
  b.arrive();
  auto sent = b.launched.size();
  auto reports = b.e.reports.size();
  b.drain();
  b.drain();
  EXPECT_EQ(b.launched.size(), sent);
  EXPECT_EQ(b.e.reports.size(), reports);
  EXPECT_EQ(b.count("flushed_by_drain"), 2);
  EXPECT_EQ(b.policy.state(), "draining");
}

TEST(batcher, sends_the_rest_as_soon_as_it_may_while_draining) {
  auto c = three_items();
  c.max_outstanding = 1;
  batcher_rig b{c};
  for (int i = 0; i < 3; ++i)
    b.arrive();
  b.take();
  for (int i = 0; i < 4; ++i)
    b.arrive();
  b.drain();
  EXPECT_TRUE(b.launched.empty());
  b.done(1);
  EXPECT_EQ(b.take(), (call_ids{4, 5, 6}));
  b.done(2);
  EXPECT_EQ(b.take(), call_ids{7});
  EXPECT_EQ(b.count("flushed_by_count"), 2);
  EXPECT_EQ(b.count("flushed_by_drain"), 1);
  EXPECT_EQ(b.policy.wakeup(), never);
}

// -- operators and time -------------------------------------------------------

TEST(batcher, follows_new_settings_with_the_items_that_wait) {
  batcher_rig b{three_items()};
  b.arrive_with(20ms);
  auto c = three_items();
  c.max_delay = 50ms;
  b.reconfigure(c);
  EXPECT_EQ(b.policy.wakeup(), b.start() + 15ms) << "the deadline";
  c.deadline_margin = 8ms;
  b.reconfigure(c);
  EXPECT_EQ(b.policy.wakeup(), b.start() + 12ms);
  c.max_delay = 6ms;
  b.reconfigure(c);
  EXPECT_EQ(b.policy.wakeup(), b.start() + 6ms);
  c.max_items = 1;
  b.reconfigure(c);
  EXPECT_EQ(b.take(), call_ids{1});
}

TEST(batcher, sends_batches_that_a_higher_bound_allows) {
  auto c = three_items();
  c.max_outstanding = 1;
  batcher_rig b{c};
  for (int i = 0; i < 3; ++i)
    b.arrive();
  b.take();
  for (int i = 0; i < 3; ++i)
    b.arrive();
  EXPECT_TRUE(b.launched.empty());
  c.max_outstanding = 2;
  b.reconfigure(c);
  EXPECT_EQ(b.take(), (call_ids{4, 5, 6}));
}

TEST(batcher, waits_until_a_lower_bound_is_met) {
  batcher_rig b{three_items()};
  for (int i = 0; i < 6; ++i) {
    b.arrive();
    if (!b.launched.empty())
      b.take();
  }
  auto c = three_items();
  c.max_outstanding = 1;
  b.reconfigure(c);
  for (int i = 0; i < 3; ++i)
    b.arrive();
  b.done(1);
  EXPECT_TRUE(b.launched.empty()) << "one is still in flight";
  b.done(2);
  EXPECT_EQ(b.take(), (call_ids{7, 8, 9}));
}

TEST(batcher, keeps_the_items_that_exceed_a_lower_max_waiting) {
  auto c = three_items();
  c.max_outstanding = 1;
  batcher_rig b{c};
  for (int i = 0; i < 3; ++i)
    b.arrive();
  b.take();
  for (int i = 0; i < 5; ++i)
    b.arrive();
  c.max_waiting = 3;
  b.reconfigure(c);
  EXPECT_EQ(b.count("waiting"), 5);
  EXPECT_EQ(b.where(b.arrive()), place::rejected);
  b.done(1);
  EXPECT_EQ(b.take(), (call_ids{4, 5, 6}));
}

TEST(batcher, knows_the_commands_that_concern_it) {
  batcher_rig b{three_items()};
  b.arrive();
  b.policy.note_prefiltered();
  using oc = operator_command;
  EXPECT_FALSE(b.command(oc::force_open));
  EXPECT_FALSE(b.command(oc::force_closed));
  EXPECT_FALSE(b.command(oc::off));
  EXPECT_FALSE(b.command(oc::observe));
  EXPECT_TRUE(b.command(oc::enable));
  EXPECT_EQ(b.count("items"), 1);
  EXPECT_EQ(b.count("prefiltered"), 1);
  EXPECT_TRUE(b.command(oc::reset));
  EXPECT_EQ(b.count("items"), 0);
  EXPECT_EQ(b.count("prefiltered"), 0);
  EXPECT_EQ(b.count("waiting"), 1) << "held calls stay";
  b.advance(10ms);
  EXPECT_EQ(b.take(), call_ids{1});
}

TEST(batcher, survives_a_clock_that_steps_back) {
  batcher_rig b{three_items()};
  b.advance_to(100ms);
  b.arrive();
  b.set_clock(20ms);
  b.policy.wake(b.e);
  EXPECT_TRUE(b.e.actions.empty());
  EXPECT_EQ(b.policy.wakeup(), b.start() + 110ms);
  b.arrive();
  b.arrive();
  EXPECT_EQ(b.take().size(), 3u) << "the count needs no clock";
}

TEST(batcher, names_its_state) {
  auto c = three_items();
  c.max_items = 1;
  c.max_outstanding = 1;
  batcher_rig b{c};
  EXPECT_EQ(b.policy.state(), "idle");
  b.arrive();
  EXPECT_EQ(b.policy.state(), "idle") << "nothing waits";
  b.arrive();
  EXPECT_EQ(b.policy.state(), "blocked");
  batcher_rig other{three_items()};
  other.arrive();
  EXPECT_EQ(other.policy.state(), "collecting");
}

TEST(batcher, lists_every_counter_and_gauge_by_name) {
  batcher_rig b{three_items()};
  std::vector<metric> ms;
  b.policy.list_metrics(ms);
  std::string names;
  for (const auto& m : ms)
    names += std::string{m.name} + (m.gauge ? "* " : " ");
  EXPECT_EQ(names, "items equal_items flushed_by_count flushed_by_weight "
                   "flushed_by_delay flushed_by_deadline flushed_by_drain "
                   "flushed_by_split flushed_by_shards emptied batches_split "
                   "rejected_full rejected_blocked rejected_shards prefiltered "
                   "abandoned abandoned_in_flight items_succeeded items_failed "
                   "waiting* outstanding* shards* halves* target_items* "
                   "target_delay_us* ");
}

TEST(batcher, leaves_nothing_behind_where_it_only_observes) {
  auto c = three_items();
  c.max_items = 1;
  batcher_rig b{c};
  for (call_id id = 1; id <= 10; ++id) {
    b.arrive();
    b.abandon(id); // What the host does with a call that would be held.
    EXPECT_TRUE(b.take().empty());
  }
  EXPECT_EQ(b.count("waiting"), 0);
  EXPECT_EQ(b.count("outstanding"), 0);
  EXPECT_EQ(b.count("abandoned"), 10);
}

TEST(batcher, reports_why_it_sent_a_batch) {
  batcher_rig b{three_items()};
  auto send = [&] {
    b.take();
    b.succeed(b.last_taken);
  };
  b.arrive_together(3);
  send();
  b.arrive();
  b.advance(10ms);
  send();
  b.arrive_with(0ns);
  send();
  b.arrive();
  b.drain();
  EXPECT_EQ(b.e.details,
            (std::vector<std::string>{"count", "delay", "deadline", "drain"}));
}

} // namespace
} // namespace caisson::test
