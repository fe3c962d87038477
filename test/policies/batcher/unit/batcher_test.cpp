#include <policies/batcher/model/batcher_rig.hpp>

#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace caisson::test {
namespace {

// -- configuration ------------------------------------------------------------

TEST(batcher_config, needs_room_for_a_whole_batch) {
  batcher_config c;
  c.max_items = 50;
  c.max_waiting = 49;
  EXPECT_EQ(kinds_and_keys(problems_of(c, "db")),
            std::vector<std::string>{"relation db.max_waiting"});
  EXPECT_THROW(batcher{c}, config_error);
  c.max_waiting = 50;
  EXPECT_EQ(problems_of(c), problems{});
  EXPECT_EQ(batcher{c}.kind(), "batcher");
}

// -- flushing -----------------------------------------------------------------

TEST(batcher, sends_a_batch_as_soon_as_it_is_full) {
  batcher_rig b{three_items()};
  auto first = b.arrive();
  b.arrive();
  EXPECT_TRUE(b.launched.empty());
  auto last = b.arrive();
  EXPECT_EQ(b.take(), (call_ids{first, first + 1, last}));
  EXPECT_EQ(b.count("flushed_by_count"), 1);
  EXPECT_EQ(b.policy.wakeup(), never);
}

TEST(batcher, sends_each_item_at_once_if_a_batch_has_one) {
  auto c = three_items();
  c.max_items = 1;
  batcher_rig b{c};
  auto id = b.arrive();
  EXPECT_EQ(b.take(), call_ids{id});
}

TEST(batcher, sends_a_batch_when_its_first_item_has_waited_long_enough) {
  batcher_rig b{three_items()};
  b.advance_to(3ms);
  auto first = b.arrive();
  b.advance_to(12ms);
  auto second = b.arrive();
  b.advance_to(13ms - 1ns);
  EXPECT_TRUE(b.launched.empty()) << "one nanosecond early";
  b.advance_to(13ms);
  EXPECT_EQ(b.take(), (call_ids{first, second}));
  EXPECT_EQ(b.count("flushed_by_delay"), 1);
}

TEST(batcher, never_sends_an_empty_batch) {
  batcher_rig b{three_items()};
  auto id = b.arrive();
  b.abandon(id);
  EXPECT_EQ(b.policy.wakeup(), never);
  b.advance(1h);
  b.policy.wake(b.e); // Also if it is woken unasked.
  b.drain();
  EXPECT_TRUE(b.launched.empty());
  EXPECT_EQ(b.count("abandoned"), 1);
}

TEST(batcher, does_not_let_the_timer_of_a_sent_batch_flush_the_next_one) {
  batcher_rig b{three_items()};
  b.arrive(); // Would be due at 10ms,
  b.arrive();
  b.arrive(); // but is full now.
  EXPECT_EQ(b.take().size(), 3u);
  b.advance_to(8ms);
  b.arrive();
  EXPECT_EQ(b.policy.wakeup(), b.start() + 18ms);
  b.advance_to(10ms);
  b.policy.wake(b.e); // A timer that was not cancelled.
  EXPECT_TRUE(b.e.actions.empty());
  b.advance_to(18ms);
  EXPECT_EQ(b.take().size(), 1u);
}

TEST(batcher, counts_the_delay_from_the_oldest_item_that_is_left) {
  batcher_rig b{three_items()};
  auto first = b.arrive();
  b.advance_to(4ms);
  auto second = b.arrive();
  b.abandon(first);
  EXPECT_EQ(b.policy.wakeup(), b.start() + 14ms);
  b.advance_to(14ms);
  EXPECT_EQ(b.take(), call_ids{second});
}

TEST(batcher, sends_at_once_without_a_delay) {
  auto c = three_items();
  c.max_delay = 0ns;
  batcher_rig b{c};
  auto id = b.arrive();
  EXPECT_EQ(b.take(), call_ids{id});
  EXPECT_EQ(b.count("flushed_by_delay"), 1);
}

TEST(batcher, collects_without_a_delay_while_all_batches_are_in_flight) {
  auto c = three_items();
  c.max_delay = 0ns;
  c.max_outstanding = 1;
  batcher_rig b{c};
  b.arrive();
  b.take();
  b.arrive();
  b.arrive();
  EXPECT_TRUE(b.launched.empty());
  b.done(b.last_taken);
  EXPECT_EQ(b.take().size(), 2u);
}

// -- deadlines ----------------------------------------------------------------

TEST(batcher, sends_a_batch_in_time_for_its_earliest_deadline) {
  batcher_rig b{three_items()};
  b.arrive_with(13ms);
  b.arrive_with(9ms);
  EXPECT_EQ(b.policy.wakeup(), b.start() + 4ms);
  b.advance_to(4ms - 1ns);
  EXPECT_TRUE(b.launched.empty());
  b.advance_to(4ms);
  EXPECT_EQ(b.take().size(), 2u);
  EXPECT_EQ(b.count("flushed_by_deadline"), 1);
  EXPECT_EQ(b.count("flushed_by_delay"), 0);
}

TEST(batcher, sends_a_batch_at_once_for_a_deadline_within_the_margin) {
  batcher_rig b{three_items()};
  auto patient = b.arrive();
  auto urgent = b.arrive_with(5ms); // Exactly the margin.
  EXPECT_EQ(b.take(), (call_ids{patient, urgent}));
  EXPECT_EQ(b.count("flushed_by_deadline"), 1);
}

TEST(batcher, waits_for_a_deadline_just_beyond_the_margin) {
  batcher_rig b{three_items()};
  b.arrive_with(5ms + 1ns);
  EXPECT_TRUE(b.launched.empty());
  b.advance(1ns);
  EXPECT_EQ(b.launched.size(), 1u);
}

TEST(batcher, survives_the_earliest_deadline_that_there_is) {
  batcher_rig b{three_items()};
  call_info call;
  call.deadline = time_point::min();
  b.arrive(call);
  EXPECT_EQ(b.take().size(), 1u);
}

TEST(batcher, names_the_delay_if_delay_and_deadline_come_together) {
  batcher_rig b{three_items()};
  b.arrive_with(15ms);
  b.advance_to(10ms);
  EXPECT_EQ(b.count("flushed_by_delay"), 1);
  EXPECT_EQ(b.count("flushed_by_deadline"), 0);
}

TEST(batcher, forgets_the_deadline_of_an_item_that_was_abandoned) {
  batcher_rig b{three_items()};
  b.arrive_with(13ms);
  auto hasty = b.arrive_with(9ms);
  b.abandon(hasty);
  EXPECT_EQ(b.policy.wakeup(), b.start() + 8ms);
}

TEST(batcher, forgets_the_deadlines_of_items_that_were_sent) {
  auto c = three_items();
  c.max_outstanding = 1;
  batcher_rig b{c};
  for (int i = 0; i < 3; ++i)
    b.arrive(); // In flight.
  b.take();
  for (int i = 0; i < 3; ++i)
    b.arrive_with(7ms); // Full, and waits for the batch in flight.
  b.arrive_with(8ms);   // The next batch.
  b.done(b.last_taken);
  EXPECT_EQ(b.take().size(), 3u);
  b.done(b.last_taken);
  EXPECT_EQ(b.policy.wakeup(), b.start() + 3ms);
}

// -- bounds -------------------------------------------------------------------

TEST(batcher, sends_no_more_batches_than_allowed_at_once) {
  batcher_rig b{three_items()};
  int taken = 0;
  for (int i = 0; i < 20; ++i) {
    b.arrive();
    for (; !b.launched.empty(); ++taken)
      EXPECT_EQ(b.take().size(), 3u);
  }
  EXPECT_EQ(taken, 2);
  EXPECT_EQ(b.count("outstanding"), 2);
  EXPECT_EQ(b.count("waiting"), 5);
  EXPECT_EQ(b.count("rejected_full"), 20 - 2 * 3 - 5);
}

TEST(batcher, lets_items_wait_while_all_batches_are_in_flight) {
  batcher_rig b{three_items()};
  for (int i = 0; i < 6; ++i) {
    b.arrive();
    if (!b.launched.empty())
      b.take();
  }
  for (int i = 0; i < 5; ++i)
    b.arrive();
  EXPECT_EQ(b.count("waiting"), 5);
  EXPECT_EQ(b.policy.state(), "blocked");
  EXPECT_EQ(b.policy.wakeup(), never) << "time alone changes nothing";
  b.advance(1h);
  EXPECT_TRUE(b.launched.empty());
  b.done(1);
  EXPECT_EQ(b.take(), (call_ids{7, 8, 9})) << "in order of arrival";
  EXPECT_EQ(b.count("flushed_by_count"), 3);
  b.done(2);
  EXPECT_EQ(b.take(), (call_ids{10, 11})) << "overdue";
  EXPECT_EQ(b.count("flushed_by_delay"), 1);
}

TEST(batcher, rejects_what_exceeds_max_waiting) {
  auto c = three_items();
  c.max_outstanding = 1;
  batcher_rig b{c};
  for (int i = 0; i < 3; ++i)
    b.arrive();
  b.take();
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(b.where(b.arrive()), place::held);
  auto id = b.arrive();
  EXPECT_EQ(b.where(id), place::rejected);
  EXPECT_EQ(b.calls.at(id).code, errc::queue_full);
  EXPECT_EQ(b.count("rejected_full"), 1);
  EXPECT_EQ(b.e.reports.back(), "rejected:>queue_full");
  b.abandon(id - 1);
  EXPECT_EQ(b.where(b.arrive()), place::held) << "an abandoned item made room";
}

} // namespace
} // namespace caisson::test
