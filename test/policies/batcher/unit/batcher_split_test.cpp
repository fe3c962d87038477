#include <policies/batcher/model/batcher_rig.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

batcher_config splitting(std::uint32_t levels) {
  batcher_config c;
  c.max_items = 8;
  c.max_delay = 10ms;
  c.max_outstanding = 1;
  c.max_waiting = 1000;
  c.split_failed = levels;
  return c;
}

// An error of the worker's own, of which nothing else is known.
outcome batch_error() {
  outcome o;
  o.ok = false;
  o.from_worker = true;
  o.code = 3;
  o.category = category_hash("app");
  return o;
}

outcome error_of_class(answer_class kind) {
  auto o = batch_error();
  o.kind = kind;
  return o;
}

// Lets `n` items come and fails their batch; returns whether it is split.
bool splits(batcher_rig& b, int n, outcome o,
            idempotence mark = idempotence::unmarked) {
  for (int i = 0; i < n; ++i) {
    call_info call;
    call.idempotent = mark;
    b.arrive(call);
  }
  b.drain();
  b.take();
  return b.fail_batch(b.last_taken, o);
}

// Plays the worker, which fails every batch with one of `poison`, until all is
// done. Returns the batches that it got.
std::vector<call_ids> play_worker(batcher_rig& b,
                                  const std::set<call_id>& poison) {
  std::vector<call_ids> seen;
  while (!b.launched.empty()) {
    auto items = b.take();
    auto batch = b.last_taken;
    EXPECT_LE(b.count("outstanding"), b.policy.config().max_outstanding);
    seen.push_back(items);
    auto bad = std::any_of(items.begin(), items.end(),
                           [&](call_id x) { return poison.contains(x); });
    if (bad) {
      b.fail_batch(batch, batch_error());
      continue;
    }
    b.succeed(batch);
  }
  return seen;
}

call_ids failed_of(const batcher_rig& b) {
  call_ids out;
  for (const auto& [id, x] : b.calls)
    if (x.where == place::passed && !x.result.ok)
      out.push_back(id);
  return out;
}

// -- which answers ------------------------------------------------------------

TEST(batcher_split, depends_on_what_the_worker_answers) {
  struct row {
    const char* what;
    outcome answer;
    bool split;
  };
  auto later = batch_error();
  later.retry_after = 1s;
  auto final = batch_error();
  final.retry_after = -1ns;
  auto silent = batch_error();
  silent.unanswered = true;
  auto slow = batch_error();
  slow.out_of_time = true;
  auto unknown_message = batch_error();
  unknown_message.category = category_hash("system_error");
  unknown_message.code = 1;
  auto nothing_done = batch_error();
  nothing_done.may_have_executed = false;
  using kind = answer_class;
  for (const auto& x : std::vector<row>{
         {"a value", outcome::success(), false},
         {"an error", batch_error(), true},
         {"an error that says that nothing was done", nothing_done, true},
         {"the request is at fault", error_of_class(kind::fail), true},
         {"a conflict", error_of_class(kind::conflict), true},
         {"the server failed", error_of_class(kind::retry), false},
         {"the server asks for time", error_of_class(kind::retry_after), false},
         {"the server is busy", error_of_class(kind::shed), false},
         {"an error with a time", later, false},
         {"an error that forbids retries", final, false},
         {"no answer", silent, false},
         {"not enough time", slow, false},
         {"no handler", unknown_message, false},
         {"dead", outcome::failure(errc::worker_down, true), false},
         {"a breaker", outcome::failure(errc::breaker_open, false), false},
         {"too late", outcome::failure(errc::deadline_exceeded, true), false},
         {"cancelled", outcome::failure(errc::cancelled, false), false},
         {"a function", outcome::failure(errc::callback_failed, false), false},
       }) {
    SCOPED_TRACE(x.what);
    batcher_rig b{splitting(5)};
    EXPECT_EQ(splits(b, 2, x.answer), x.split);
    EXPECT_EQ(b.count("batches_split"), x.split ? 1 : 0);
    EXPECT_EQ(b.launched.size(), x.split ? 1u : 0u);
    EXPECT_EQ(b.count("halves"), x.split ? 1 : 0);
  }
}

TEST(batcher_split, is_off_without_the_setting) {
  batcher_rig b{splitting(0)};
  EXPECT_FALSE(b.policy.resends());
  EXPECT_FALSE(splits(b, 2, batch_error()));
  EXPECT_TRUE(batcher_rig{splitting(1)}.policy.resends());
}

TEST(batcher_split, does_not_split_a_single_item) {
  batcher_rig b{splitting(5)};
  EXPECT_FALSE(splits(b, 1, batch_error()));
}

TEST(batcher_split, repeats_nothing_that_is_marked) {
  auto nothing_done = batch_error();
  nothing_done.may_have_executed = false;
  for (auto mark : {idempotence::yes, idempotence::unmarked, idempotence::no}) {
    batcher_rig a{splitting(5)};
    EXPECT_EQ(splits(a, 3, batch_error(), mark), mark != idempotence::no);
    batcher_rig b{splitting(5)};
    EXPECT_TRUE(splits(b, 3, nothing_done, mark));
  }
}

// -- how ----------------------------------------------------------------------

TEST(batcher_split, finds_the_item_at_fault) {
  batcher_rig b{splitting(20)};
  for (int i = 0; i < 8; ++i)
    b.arrive();
  auto seen = play_worker(b, {6});
  EXPECT_EQ(seen, (std::vector<call_ids>{{1, 2, 3, 4, 5, 6, 7, 8},
                                         {1, 2, 3, 4},
                                         {5, 6, 7, 8},
                                         {5, 6},
                                         {5},
                                         {6},
                                         {7, 8}}));
  EXPECT_EQ(failed_of(b), call_ids{6});
  EXPECT_EQ(b.count("batches_split"), 3);
  EXPECT_EQ(b.count("flushed_by_split"), 6);
  EXPECT_EQ(b.count("flushed_by_count"), 1);
  EXPECT_EQ(b.count("items_succeeded"), 7);
  EXPECT_EQ(b.count("items_failed"), 1);
  EXPECT_EQ(b.e.details.back(), "split");
}

TEST(batcher_split, ends_at_its_depth) {
  struct row {
    std::uint32_t levels;
    call_ids failed;
    std::size_t sent;
  };
  for (const auto& x : std::vector<row>{{0, {1, 2, 3, 4, 5, 6, 7, 8}, 1},
                                        {1, {5, 6, 7, 8}, 3},
                                        {2, {5, 6}, 5},
                                        {3, {6}, 7},
                                        {20, {6}, 7}}) {
    batcher_rig b{splitting(x.levels)};
    for (int i = 0; i < 8; ++i)
      b.arrive();
    EXPECT_EQ(play_worker(b, {6}).size(), x.sent) << x.levels;
    EXPECT_EQ(failed_of(b), x.failed) << x.levels;
  }
}

TEST(batcher_split, sends_halves_before_what_waits) {
  batcher_rig b{splitting(5)};
  for (int i = 0; i < 16; ++i)
    b.arrive();
  b.take();
  b.fail_batch(1, batch_error());
  EXPECT_EQ(b.count("waiting"), 8);
  EXPECT_EQ(b.take(), (call_ids{1, 2, 3, 4}));
  b.done(b.last_taken);
  EXPECT_EQ(b.take(), (call_ids{5, 6, 7, 8}));
  b.done(b.last_taken);
  EXPECT_EQ(b.take().front(), 9u);
}

TEST(batcher_split, says_that_halves_wait) {
  batcher_rig b{splitting(5)};
  splits(b, 4, batch_error());
  EXPECT_EQ(b.policy.wakeup(), never);
  batcher_rig other{splitting(5)};
  for (int i = 0; i < 8; ++i)
    other.arrive();
  other.take();
  other.fail_batch(1, batch_error());
  EXPECT_EQ(other.policy.state(), "blocked");
  other.take();
  other.done(other.last_taken);
  EXPECT_EQ(other.policy.state(), "idle");
}

// -- items that leave ---------------------------------------------------------

TEST(batcher_split, leaves_out_items_that_have_left) {
  batcher_rig b{splitting(5)};
  for (int i = 0; i < 8; ++i)
    b.arrive();
  b.take();
  b.abandon(1);
  b.fail_batch(1, batch_error());
  EXPECT_EQ(b.take(), (call_ids{2, 3, 4, 5}));
  b.abandon(6); // While its half waits.
  b.done(b.last_taken);
  EXPECT_EQ(b.take(), (call_ids{7, 8}));
  EXPECT_EQ(b.count("abandoned_in_flight"), 1);
  EXPECT_EQ(b.count("abandoned"), 1);
}

TEST(batcher_split, drops_a_half_whose_items_have_left) {
  batcher_rig b{splitting(5)};
  for (int i = 0; i < 8; ++i)
    b.arrive();
  b.take();
  b.fail_batch(1, batch_error());
  b.take();
  for (call_id id = 5; id <= 8; ++id)
    b.abandon(id);
  b.arrive();
  b.advance(10ms);
  EXPECT_TRUE(b.launched.empty());
  b.done(b.last_taken);
  EXPECT_EQ(b.take(), call_ids{9});
  EXPECT_EQ(b.count("halves"), 0);
}

TEST(batcher_split, tries_the_only_one_that_is_left_alone) {
  batcher_rig b{splitting(5)};
  b.arrive();
  b.arrive();
  b.drain();
  b.take();
  b.abandon(1);
  EXPECT_TRUE(b.fail_batch(1, batch_error()));
  EXPECT_EQ(b.take(), call_ids{2});
  EXPECT_FALSE(b.fail_batch(2, batch_error()));
}

TEST(batcher_split, has_nothing_to_split_if_all_have_left) {
  batcher_rig b{splitting(5)};
  b.arrive();
  b.arrive();
  b.drain();
  b.take();
  b.abandon(1);
  b.abandon(2);
  EXPECT_FALSE(b.fail_batch(1, batch_error()));
  EXPECT_EQ(b.count("outstanding"), 0);
}

// -- settings that change -----------------------------------------------------

TEST(batcher_split, does_not_split_what_was_sent_before_it_was_on) {
  batcher_rig b{splitting(0)};
  for (int i = 0; i < 8; ++i)
    b.arrive();
  b.take();
  b.reconfigure(splitting(5));
  EXPECT_FALSE(b.fail_batch(1, batch_error()));
}

TEST(batcher_split, does_not_split_what_was_not_kept) {
  batcher_rig b{splitting(5)};
  for (int i = 0; i < 8; ++i)
    b.arrive();
  b.take();
  b.fail_batch(1, batch_error());
  b.take();
  b.reconfigure(splitting(0));
  b.done(b.last_taken);
  EXPECT_EQ(b.take(), (call_ids{5, 6, 7, 8})) << "it was kept until now";
  b.reconfigure(splitting(5));
  EXPECT_FALSE(b.fail_batch(b.last_taken, batch_error()));
}

TEST(batcher_split, follows_a_lower_depth) {
  batcher_rig b{splitting(5)};
  for (int i = 0; i < 8; ++i)
    b.arrive();
  b.take();
  b.reconfigure(splitting(1));
  b.fail_batch(1, batch_error());
  b.take();
  EXPECT_FALSE(b.fail_batch(b.last_taken, batch_error()));
}

TEST(batcher_split, gets_through_a_large_batch) {
  auto c = splitting(20);
  c.max_items = c.max_waiting = 100'000;
  batcher_rig b{c};
  for (int i = 0; i < 100'000; ++i)
    b.arrive();
  EXPECT_EQ(play_worker(b, {77'777}).size(), 35u);
  EXPECT_EQ(failed_of(b), call_ids{77'777});
}

} // namespace
} // namespace caisson::test
