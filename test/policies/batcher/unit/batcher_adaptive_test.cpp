#include <policies/batcher/model/batcher_rig.hpp>

#include <caisson/policies/batcher/batch_target.hpp>

#include <support/problem_texts.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using detail::batch_target;
using detail::target_of;

// Ten items in the longest wait at 100 items per second.
batcher_config adapting_batches() {
  batcher_config c;
  c.max_items = 50;
  c.max_delay = 100ms;
  c.max_outstanding = 1000;
  c.max_waiting = 1000;
  c.adaptive = true;
  c.rate_window = 1s;
  return c;
}

class adaptive_rig : public batcher_rig {
public:
  using batcher_rig::batcher_rig;

  call_id arrive_as(batch_item x) {
    policy.describe_next(std::move(x));
    return arrive();
  }

  // Items with that distance, all of which are sent and done.
  void send_many(int n, duration distance) {
    for (int i = 0; i < n; ++i) {
      arrive();
      advance(distance);
      finish_batches();
    }
  }

  void finish_batches() {
    while (!launched.empty()) {
      take();
      succeed(last_taken);
    }
  }

  // How long after its only item the batch is due.
  duration delay() const { return policy.wakeup() - e.now; }
};

// -- configuration ------------------------------------------------------------

TEST(batcher_adaptive, has_no_minimum_above_its_maximum) {
  batcher_config c;
  c.max_items = 10;
  c.min_items = 11;
  c.min_delay = c.max_delay + 1ns;
  EXPECT_EQ(kinds_and_keys(problems_of(c, "db")),
            (std::vector<std::string>{"relation db.min_items",
                                      "relation db.min_delay"}));
  c.min_items = 10;
  c.min_delay = c.max_delay;
  EXPECT_EQ(problems_of(c), problems{});
  c.rate_window = 10ms - 1ns;
  EXPECT_EQ(kinds_and_keys(problems_of(c, "db")),
            std::vector<std::string>{"range db.rate_window"});
}

TEST(batcher_adaptive, is_not_unless_it_is_asked_to) {
  auto c = adapting_batches();
  c.adaptive = false;
  c.min_items = 1;
  adaptive_rig b{c};
  b.send_many(3, 1s);
  b.arrive();
  EXPECT_EQ(b.delay(), 100ms);
  EXPECT_EQ(b.count("target_items"), 50);
  EXPECT_EQ(b.count("target_delay_us"), 100'000);
}

// -- the target ---------------------------------------------------------------

TEST(batch_target, follows_the_formula) {
  auto c = adapting_batches();
  c.min_items = 2;
  c.max_items = 20;
  c.min_delay = 10ms;
  struct row {
    double rate;
    batch_target target;
  };
  for (const auto& x : std::vector<row>{{0, {2, 10ms}},
                                        {5, {2, 10ms}},
                                        {10, {2, 10ms}},
                                        {20, {2, 55ms}},
                                        {30, {3, 70ms}},
                                        {100, {10, 91ms}},
                                        {104, {10, 91'346'153ns}},
                                        {106, {11, 91'509'433ns}},
                                        {1'000, {20, 99'100us}},
                                        {1e30, {20, 100ms}}}) {
    auto found = target_of(c, x.rate);
    EXPECT_EQ(found.items, x.target.items) << x.rate;
    EXPECT_NEAR(to_seconds(found.delay), to_seconds(x.target.delay), 2e-9)
      << x.rate;
  }
  EXPECT_EQ(target_of(c, std::nullopt), (batch_target{20, 100ms}));
  c.adaptive = false;
  EXPECT_EQ(target_of(c, 0.0), (batch_target{20, 100ms}));
}

TEST(batch_target, never_leaves_the_limits) {
  batcher_config c;
  c.adaptive = true;
  c.max_items = c.max_waiting = 100'000;
  for (auto max : {0ns, 1ns, duration{1h}})
    for (auto min : {0ns, max}) {
      c.max_delay = max;
      c.min_delay = min;
      for (auto rate : {0.0, 1e-300, 1.0, 1e9, 1e300}) {
        auto x = target_of(c, rate);
        EXPECT_GE(x.delay, min);
        EXPECT_LE(x.delay, max);
        EXPECT_GE(x.items, 1u);
        EXPECT_LE(x.items, 100'000u);
      }
    }
}

TEST(batch_target, is_not_one_item_that_should_wait_for_others) {
  auto c = adapting_batches();
  EXPECT_EQ(target_of(c, 0.0).items, 1u);
  c.min_delay = 1ns;
  EXPECT_EQ(target_of(c, 0.0).items, 2u);
  c.max_items = 1;
  EXPECT_EQ(target_of(c, 0.0).items, 1u);
}

// -- batches ------------------------------------------------------------------

TEST(batcher_adaptive, waits_longest_for_the_first_item) {
  adaptive_rig b{adapting_batches()};
  b.arrive();
  EXPECT_EQ(b.delay(), 100ms);
  EXPECT_EQ(b.count("target_items"), 50);
}

TEST(batcher_adaptive, sends_a_rare_item_at_once) {
  adaptive_rig b{adapting_batches()};
  b.send_many(5, 1s);
  auto id = b.arrive();
  EXPECT_EQ(b.take(), call_ids{id});
  EXPECT_EQ(b.count("target_items"), 1);
  EXPECT_EQ(b.count("target_delay_us"), 0);
}

TEST(batcher_adaptive, sends_a_rare_item_after_the_shortest_wait) {
  auto c = adapting_batches();
  c.min_delay = 7ms;
  adaptive_rig b{c};
  b.send_many(5, 1s);
  auto by_delay = b.count("flushed_by_delay");
  auto id = b.arrive();
  EXPECT_TRUE(b.launched.empty());
  EXPECT_EQ(b.delay(), 7ms);
  EXPECT_EQ(b.count("target_delay_us"), 7'000);
  b.advance(7ms);
  EXPECT_EQ(b.take(), call_ids{id});
  EXPECT_EQ(b.count("flushed_by_delay"), by_delay + 1);
}

TEST(batcher_adaptive, sends_by_the_number_that_is_to_be_expected) {
  adaptive_rig b{adapting_batches()};
  b.send_many(1'000, 10ms);
  b.advance(100ms);
  b.finish_batches();
  b.send_many(100, 10ms);
  EXPECT_EQ(b.count("target_items"), 10);
  while (b.count("waiting") > 0) {
    b.arrive();
    b.advance(10ms);
  }
  b.finish_batches();
  for (int i = 0; i < 9; ++i) {
    b.arrive();
    b.advance(1ms);
  }
  EXPECT_TRUE(b.launched.empty());
  b.arrive();
  EXPECT_GE(b.take().size(), 10u);
}

TEST(batcher_adaptive, fills_batches_at_a_high_rate) {
  adaptive_rig b{adapting_batches()};
  b.send_many(1'000, 100us);
  EXPECT_EQ(b.count("target_items"), 50);
  EXPECT_GT(b.count("target_delay_us"), 98'000);
  EXPECT_EQ(b.count("flushed_by_count"), 1'000 / 50);
}

TEST(batcher_adaptive, moves_the_end_of_the_wait_with_the_rate) {
  auto c = adapting_batches();
  c.min_delay = 5ms;
  c.min_items = 50;
  adaptive_rig b{c};
  b.send_many(50, 400ms); // n is about 0.25.
  b.arrive();
  auto first = b.e.now;
  EXPECT_EQ(b.policy.wakeup(), first + 5ms);
  for (int i = 0; i < 10; ++i)
    b.arrive();
  EXPECT_GT(b.policy.wakeup(), first + 20ms) << "later: many have come";
  auto later = b.policy.wakeup();
  b.set_clock(b.now() + 15ms);
  b.arrive();
  EXPECT_NE(b.policy.wakeup(), later);
  EXPECT_GT(b.policy.wakeup(), b.e.now);
  auto due = b.policy.wakeup();
  b.advance_to(due - b.start() - 1ns);
  EXPECT_TRUE(b.launched.empty());
  b.advance(1ns);
  EXPECT_EQ(b.take().size(), 12u);
  EXPECT_EQ(b.policy.wakeup(), never);
}

TEST(batcher_adaptive, sends_at_once_if_the_wait_has_become_too_long) {
  auto c = adapting_batches();
  c.max_delay = 1s;
  c.min_delay = 100ms;
  c.min_items = 50;
  c.rate_window = 10ms;
  adaptive_rig b{c};
  b.send_many(100, 10ms);
  b.advance(1s);
  b.finish_batches();
  for (int i = 0; i < 5; ++i)
    b.arrive();
  EXPECT_GT(b.policy.wakeup(), b.e.now + 500ms);
  // Nothing came for many windows, so nothing more is to be expected.
  b.advance(400ms);
  EXPECT_TRUE(b.launched.empty());
  b.arrive();
  EXPECT_EQ(b.take().size(), 6u);
  EXPECT_EQ(b.count("target_delay_us"), 100'000);
}

TEST(batcher_adaptive, counts_what_it_rejects) {
  auto c = adapting_batches();
  c.max_outstanding = 1;
  c.max_items = 10;
  c.max_waiting = 10;
  adaptive_rig b{c};
  for (int i = 0; i < 2'000; ++i) {
    b.arrive();
    b.advance(1ms);
  }
  EXPECT_GT(b.count("rejected_full"), 1'000);
  EXPECT_EQ(b.count("target_items"), 10);
  EXPECT_GT(b.count("target_delay_us"), 98'000);
}

TEST(batcher_adaptive, does_not_count_equal_items) {
  adaptive_rig b{adapting_batches()};
  b.send_many(2, 1s);
  auto c = adapting_batches();
  c.min_delay = 50ms;
  b.reconfigure(c);
  b.arrive_as({.identity = "a"});
  auto due = b.policy.wakeup();
  EXPECT_EQ(due, b.e.now + 50ms);
  for (int i = 0; i < 100; ++i) {
    b.advance(100us);
    b.arrive_as({.identity = "a"});
  }
  EXPECT_EQ(b.policy.wakeup(), due);
  b.arrive_as({.identity = "b"});
  EXPECT_EQ(b.take().size(), 102u) << "two items";
}

TEST(batcher_adaptive, sends_more_than_expected_if_more_wait) {
  auto c = adapting_batches();
  c.max_outstanding = 1;
  c.max_items = 20;
  adaptive_rig b{c};
  b.send_many(5, 1s);
  b.arrive();
  b.take();
  for (int i = 0; i < 30; ++i)
    b.arrive();
  b.set_clock(b.now() + 10s);
  b.arrive();
  EXPECT_EQ(b.count("target_items"), 1);
  b.succeed(b.last_taken);
  EXPECT_EQ(b.take().size(), 20u);
  auto full = b.count("flushed_by_count");
  b.succeed(b.last_taken);
  EXPECT_EQ(b.take().size(), 11u) << "as many as there are";
  EXPECT_EQ(b.count("flushed_by_count"), full + 1);
  EXPECT_EQ(b.count("flushed_by_weight"), 0);
}

TEST(batcher_adaptive, minds_weights_as_well) {
  auto c = adapting_batches();
  c.max_outstanding = 1;
  c.max_weight = 5;
  adaptive_rig b{c};
  b.arrive(heavy(5));
  b.take();
  for (int i = 0; i < 4; ++i)
    b.arrive(heavy(2));
  b.succeed(b.last_taken);
  EXPECT_EQ(b.take().size(), 2u);
  EXPECT_EQ(b.count("flushed_by_weight"), 2);
}

TEST(batcher_adaptive, knows_the_rate_of_each_shard) {
  auto c = adapting_batches();
  c.min_delay = 3ms;
  adaptive_rig b{c};
  for (int i = 0; i < 2'000; ++i) {
    b.arrive_as({.shard = "busy"});
    if (i % 1'000 == 0)
      b.arrive_as({.shard = "quiet"});
    b.advance(1ms);
    b.finish_batches();
  }
  b.advance(100ms);
  b.finish_batches();
  EXPECT_EQ(b.count("shards"), 0);
  b.arrive_as({.shard = "quiet"});
  EXPECT_LT(b.delay(), 4ms);
  b.advance(10ms);
  b.finish_batches();
  b.arrive_as({.shard = "busy"});
  EXPECT_GT(b.delay(), 90ms) << "its batches are gone, its rate is not";
  b.arrive_as({.shard = "new"});
  EXPECT_EQ(b.count("target_delay_us"), 100'000);
}

// -- operators ----------------------------------------------------------------

TEST(batcher_adaptive, begins_anew_after_a_reset) {
  auto c = adapting_batches();
  c.min_delay = 5ms;
  adaptive_rig b{c};
  b.send_many(5, 1s);
  b.arrive();
  EXPECT_EQ(b.delay(), 5ms);
  EXPECT_TRUE(b.command(operator_command::reset));
  EXPECT_EQ(b.delay(), 100ms);
  EXPECT_EQ(b.count("target_items"), 50);
  b.advance(100ms - 1ns);
  EXPECT_TRUE(b.launched.empty());
  b.advance(1ns);
  b.finish_batches();
  b.arrive();
  EXPECT_EQ(b.delay(), 100ms) << "the first one of the new history";
}

TEST(batcher_adaptive, follows_new_settings) {
  auto c = adapting_batches();
  c.min_delay = 5ms;
  adaptive_rig b{c};
  b.send_many(5, 1s);
  b.arrive();
  c.min_delay = 8ms;
  b.reconfigure(c);
  EXPECT_EQ(b.delay(), 8ms);
  c.adaptive = false;
  b.reconfigure(c);
  EXPECT_EQ(b.delay(), 100ms);
  EXPECT_EQ(b.count("target_delay_us"), 100'000);
  c.adaptive = true;
  b.reconfigure(c);
  EXPECT_EQ(b.delay(), 100ms) << "what was known is old";
  c.max_delay = 20ms;
  b.reconfigure(c);
  EXPECT_EQ(b.delay(), 20ms);
  b.advance(20ms);
  EXPECT_EQ(b.take().size(), 1u);
}

TEST(batcher_adaptive, sends_what_new_settings_make_due) {
  auto c = adapting_batches();
  c.min_delay = 50ms;
  adaptive_rig b{c};
  b.send_many(5, 1s);
  b.arrive();
  EXPECT_TRUE(b.launched.empty());
  c.min_delay = 0ns;
  b.reconfigure(c);
  EXPECT_EQ(b.take().size(), 1u);
}

TEST(batcher_adaptive, sends_all_when_it_drains) {
  adaptive_rig b{adapting_batches()};
  b.send_many(100, 1ms);
  b.advance(100ms);
  b.finish_batches();
  b.arrive();
  EXPECT_TRUE(b.launched.empty());
  b.drain();
  EXPECT_EQ(b.take().size(), 1u);
  EXPECT_EQ(b.count("flushed_by_drain"), 1);
}

} // namespace
} // namespace caisson::test
