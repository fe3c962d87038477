// Writes that are acknowledged before the worker has them.
#include <caisson/policies/cache/cache.hpp>

#include <policies/cache/model/cache_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using strings = std::vector<std::string>;

TEST(cache_writes, a_write_is_acknowledged_at_once_and_sent_later) {
  cache_rig h{{.flush_after = 1s}};
  auto a = h.write("k", "v");
  EXPECT_EQ(h.got(a), "ok");
  EXPECT_EQ(h.get("k"), "v");
  EXPECT_TRUE(h.e.held_open);
  h.pass(1s - 1ns);
  EXPECT_EQ(h.children(), 0u);
  h.pass(1ns);
  ASSERT_EQ(h.children(), 1u);
  EXPECT_EQ(h.sent(1), "k=v");
  const auto& flush = h.e.children[0];
  EXPECT_TRUE(flush.parents.empty());
  EXPECT_EQ(flush.key, "k");
  EXPECT_EQ(flush.idempotent, idempotence::yes);
  EXPECT_EQ(flush.deadline, h.e.now + 2s);
  EXPECT_EQ(h.get("k"), "v");
  h.reply(1, "done");
  EXPECT_FALSE(h.e.held_open);
  EXPECT_EQ(h.get("k"), "v");
  EXPECT_EQ(h.count("written"), 1);
  EXPECT_EQ(h.count("flushed"), 1);
  EXPECT_EQ(h.count("unwritten"), 0);
  EXPECT_EQ(h.count("hits"), 3);
}

TEST(cache_writes, what_the_worker_has_is_an_answer_like_others) {
  cache_rig h{{.ttl = 10s, .flush_after = 0s}};
  h.write("k", "v");
  h.pass(5s);
  h.reply(1, "done");
  h.pass(10s - 1ns);
  EXPECT_EQ(h.get("k"), "v");
  h.pass(1ns);
  EXPECT_EQ(h.get("k"), "...");
}

TEST(cache_writes, a_value_may_say_that_it_must_not_be_kept) {
  for (const auto* value : {"for 0", "boom"}) {
    cache_rig h{{.flush_after = 0s}};
    h.write("k", value);
    EXPECT_EQ(h.get("k"), value);
    h.reply(1, "done");
    EXPECT_EQ(h.get("k"), "...") << value;
    EXPECT_EQ(h.count("not_stored"), 1);
  }
}

TEST(cache_writes, the_last_write_of_a_key_is_sent_alone) {
  cache_rig h{{.flush_after = 1s}};
  h.write("k", "1");
  h.pass(900ms);
  h.write("k", "2");
  h.write("l", "3");
  h.pass(100ms);
  // A key is due after its first write, however often it is written.
  ASSERT_EQ(h.children(), 1u);
  EXPECT_EQ(h.sent(1), "k=2");
  EXPECT_EQ(h.count("merged"), 1);
  h.pass(900ms);
  EXPECT_EQ(h.sent(2), "l=3");
}

TEST(cache_writes, a_write_during_a_flush_is_sent_after_it) {
  cache_rig h{{.flush_after = 1s}};
  h.write("k", "1");
  h.pass(1s);
  h.write("k", "2");
  h.pass(100ms);
  h.write("k", "3");
  EXPECT_EQ(h.count("merged"), 1);
  EXPECT_EQ(h.get("k"), "3");
  h.pass(10s);
  ASSERT_EQ(h.children(), 1u) << "two flushes of a key at a time";
  h.reply(1, "done");
  EXPECT_EQ(h.get("k"), "3");
  EXPECT_TRUE(h.e.held_open);
  h.pass(0s);
  ASSERT_EQ(h.children(), 2u);
  EXPECT_EQ(h.sent(2), "k=3");
  h.reply(2, "done");
  EXPECT_FALSE(h.e.held_open);
}

TEST(cache_writes, an_answer_to_a_read_from_before_is_not_kept) {
  cache_rig h{{.flush_after = 0s}};
  auto r = h.read("k");
  h.write("k", "new");
  h.reply(2, "done");
  h.reply(1, "old");
  EXPECT_EQ(h.got(r), "old");
  EXPECT_EQ(h.get("k"), "new");
}

// -- failures -----------------------------------------------------------------

TEST(cache_writes, a_flush_that_failed_is_sent_again_later_and_later) {
  cache_rig h{{.flush_after = 0s, .flush_backoff = 100ms}};
  h.write("k", "v");
  for (std::uint64_t n = 1; n <= 8; ++n) {
    ASSERT_EQ(h.children(), n);
    EXPECT_EQ(h.sent(n), "k=v");
    h.refuse(n, errc::worker_down);
    auto wait = 100ms * (1 << std::min<std::uint64_t>(n - 1, 5));
    h.pass(wait - 1ns);
    ASSERT_EQ(h.children(), n) << "too early";
    h.pass(1ns);
  }
  EXPECT_EQ(h.get("k"), "v");
  h.reply(9, "done");
  EXPECT_EQ(h.count("flush_failed"), 8);
  EXPECT_FALSE(h.e.held_open);
  // The next one of the key begins anew.
  h.write("k", "w");
  h.refuse(10, errc::worker_down);
  h.pass(100ms);
  EXPECT_EQ(h.children(), 11u);
}

TEST(cache_writes, other_keys_pause_after_a_failure) {
  cache_rig h{{.flush_after = 0s, .flush_backoff = 100ms, .flushes = 1}};
  h.write("a", "1");
  h.write("b", "1");
  h.refuse(1, errc::worker_down);
  h.pass(100ms - 1ns);
  EXPECT_EQ(h.children(), 1u);
  h.pass(1ns);
  EXPECT_EQ(h.children(), 2u);
}

TEST(cache_writes, a_success_ends_the_long_pauses_of_a_key) {
  cache_rig h{{.flush_after = 0s, .flush_backoff = 100ms}};
  h.write("k", "1");
  for (std::uint64_t n = 1; n <= 3; ++n) {
    h.refuse(n, errc::worker_down);
    h.pass(1s);
    ASSERT_EQ(h.children(), n + 1);
  }
  h.write("k", "2");
  h.reply(4, "done");
  h.pass(0s);
  h.refuse(5, errc::worker_down);
  h.pass(100ms);
  EXPECT_EQ(h.children(), 6u);
}

TEST(cache_writes, a_newer_write_replaces_one_that_failed) {
  cache_rig h{{.flush_after = 0s, .flush_backoff = 100ms}};
  h.write("k", "1");
  h.write("k", "2");
  h.refuse(1, errc::deadline_exceeded, true);
  h.pass(100ms);
  ASSERT_EQ(h.children(), 2u);
  EXPECT_EQ(h.sent(2), "k=2");
}

TEST(cache_writes, many_keys_are_no_storm_for_a_worker_that_is_down) {
  cache_rig h{{.flush_after = 0s,
               .flush_backoff = 100ms,
               .flushes = 4,
               .staleness = unlimited}};
  for (int i = 0; i < 100; ++i)
    h.write(std::to_string(i), "v");
  ASSERT_EQ(h.children(), 4u);
  for (std::uint64_t n = 1; n <= 4; ++n)
    h.refuse(n, errc::worker_down);
  // One at a time from here on.
  for (std::uint64_t n = 5; n <= 50; ++n) {
    ASSERT_EQ(h.children(), n - 1);
    h.pass(100ms);
    ASSERT_EQ(h.children(), n);
    h.refuse(n, errc::worker_down);
  }
  h.pass(100ms);
  h.reply(51, "done");
  h.pass(0s);
  EXPECT_EQ(h.count("flushing"), 4);
  for (std::uint64_t n = 52; h.count("unwritten") > 0; ++n) {
    ASSERT_LT(n, 1000u);
    if (h.children() < n)
      h.pass(100ms);
    h.reply(n, "done");
    h.pass(0s);
  }
}

// -- bounds -------------------------------------------------------------------

TEST(cache_writes, nothing_is_acknowledged_while_an_old_write_is_stuck) {
  cache_rig h{{.flush_after = 0s, .flush_timeout = 1s, .staleness = 5s}};
  h.write("k", "v");
  h.pass(5s - 1ns);
  EXPECT_EQ(h.got(h.write("l", "v")), "ok");
  h.pass(1ns);
  auto direct = h.write("m", "v");
  EXPECT_EQ(h.got(direct), "below");
  auto after = h.write("k", "w");
  EXPECT_EQ(h.got(after), "...");
  EXPECT_EQ(h.count("not_acknowledged"), 2);
  // The older write comes first.
  h.reply(1, "done");
  EXPECT_EQ(h.got(after), "below");
  h.reply_to(after, "set");
  EXPECT_EQ(h.got(after), "set");
  EXPECT_EQ(h.get("k"), "...") << "what it has set is not known";
}

TEST(cache_writes, the_age_of_a_write_goes_on_when_it_is_replaced) {
  cache_rig h{{.flush_after = 0s, .flush_timeout = 1s, .staleness = 5s}};
  h.write("k", "1");
  h.pass(3s);
  h.write("k", "2");
  h.pass(1s);
  h.reply(1, "done");
  // Now the second one is the oldest.
  h.pass(4s - 1ns);
  EXPECT_EQ(h.got(h.write("l", "v")), "ok");
  h.pass(1ns);
  EXPECT_EQ(h.got(h.write("m", "v")), "below");
}

TEST(cache_writes, further_keys_than_there_is_room_for_go_to_the_worker) {
  cache_rig h{{.max_unwritten = 2}};
  h.write("a", "1");
  h.write("b", "1");
  EXPECT_EQ(h.got(h.write("c", "1")), "below");
  EXPECT_EQ(h.got(h.write("b", "2")), "ok");
  EXPECT_EQ(h.count("unwritten"), 2);
}

TEST(cache_writes, unwritten_values_are_not_evicted) {
  cache_rig h{{.max_entries = 1}};
  h.write("a", "1");
  h.write("b", "2");
  h.read("c");
  h.reply(1, "3");
  EXPECT_EQ(h.get("a"), "1");
  EXPECT_EQ(h.get("b"), "2");
  EXPECT_EQ(h.get("c"), "3");
}

// -- order --------------------------------------------------------------------

TEST(cache_writes, a_change_waits_for_what_is_to_be_written_which_hurries) {
  cache_rig h{{.flush_after = 1s}};
  h.write("k", "v");
  auto a = h.change("k");
  auto b = h.change("k");
  EXPECT_EQ(h.got(a), "...");
  ASSERT_EQ(h.children(), 1u) << "it waits for flush_after";
  // Nobody overtakes those that wait.
  auto c = h.write("k", "w");
  EXPECT_EQ(h.got(c), "...");
  EXPECT_EQ(h.get("k"), "v");
  h.reply(1, "done");
  for (auto id : {a, b, c})
    EXPECT_EQ(h.got(id), "below");
  // While a change is below, nobody knows what comes after what.
  auto d = h.write("k", "x");
  EXPECT_EQ(h.got(d), "below");
  for (auto id : {a, b, c, d})
    h.reply_to(id, "done");
  EXPECT_EQ(h.got(h.write("k", "y")), "ok");
}

TEST(cache_writes, one_that_leaves_while_it_waits_leaves_nothing) {
  cache_rig h;
  h.write("k", "v");
  auto a = h.change("k");
  auto b = h.change("k");
  h.drop(a);
  h.reply(1, "done");
  EXPECT_EQ(h.got(b), "below");
  h.drop(b);
  EXPECT_EQ(h.count("keys"), 0);
  EXPECT_EQ(h.got(h.write("k", "w")), "ok");
}

TEST(cache_writes, a_drain_writes_everything_at_once) {
  cache_rig h{{.flush_after = 1h, .flushes = 3, .staleness = unlimited}};
  for (const auto* key : {"a", "b", "c", "d", "e"})
    h.write(key, "v");
  h.drain();
  ASSERT_EQ(h.children(), 3u);
  h.reply(2, "done");
  h.pass(0s);
  h.refuse(1, errc::worker_down);
  EXPECT_TRUE(h.e.held_open);
  for (std::uint64_t n = 3; h.e.held_open; ++n) {
    ASSERT_LE(n, h.children());
    h.reply(n, "done");
    h.pass(200ms);
  }
  EXPECT_EQ(h.count("flushed"), 5);
}

TEST(cache_writes, a_drain_does_not_wait_for_what_came_during_a_flush) {
  cache_rig h{{.flush_after = 1h, .staleness = unlimited}};
  h.write("k", "1");
  h.pass(1h);
  h.write("k", "2");
  h.drain();
  h.reply(1, "done");
  h.pass(0s);
  ASSERT_EQ(h.children(), 2u);
  EXPECT_EQ(h.sent(2), "k=2");
}

TEST(cache_writes, a_change_hurries_what_came_during_a_flush) {
  cache_rig h{{.flush_after = 1s}};
  h.write("k", "1");
  h.pass(1s);
  h.write("k", "2");
  auto a = h.change("k");
  h.reply(1, "done");
  h.pass(0s);
  ASSERT_EQ(h.children(), 2u);
  EXPECT_EQ(h.got(a), "...");
  h.reply(2, "done");
  EXPECT_EQ(h.got(a), "below");
}

TEST(cache_writes, a_key_whose_change_is_done_is_acknowledged_again) {
  cache_rig h;
  auto a = h.change("k");
  h.read("k");
  EXPECT_EQ(h.got(h.write("k", "1")), "below");
  h.drop(a);
  EXPECT_EQ(h.got(h.write("k", "2")), "below") << "one is still there";
  h.reply_to(3, "done");
  h.reply_to(4, "done");
  EXPECT_EQ(h.got(h.write("k", "3")), "ok");
}

TEST(cache_writes, reset_keeps_what_is_to_be_written) {
  cache_rig h{{.flush_after = 1s}};
  h.write("k", "v");
  h.reset();
  EXPECT_EQ(h.get("k"), "v");
  h.pass(1s);
  EXPECT_EQ(h.sent(1), "k=v");
  h.reset();
  h.reply(1, "done");
  EXPECT_FALSE(h.e.held_open);
}

TEST(cache_writes, an_observer_acknowledges_nothing) {
  cache_rig h;
  std::string content = "k=v";
  h.policy.set_next({.use = cache_use::write,
                     .key = "k",
                     .content = &content,
                     .acts = mode::observe});
  EXPECT_EQ(h.got(h.arrive()), "below");
  EXPECT_EQ(h.count("unwritten"), 0);
}

TEST(cache_writes, staleness_leaves_time_for_a_flush) {
  cache_config c{.flush_after = 4s, .flush_timeout = 2s, .staleness = 5s};
  try {
    cache x{c};
    FAIL() << "accepted";
  } catch (const config_error& e) {
    ASSERT_EQ(e.all().size(), 1u) << e.what();
    EXPECT_EQ(to_text(e.all()[0].key), "staleness");
    EXPECT_EQ(e.all()[0].kind, problem_kind::relation);
  }
}

} // namespace
} // namespace caisson::test
