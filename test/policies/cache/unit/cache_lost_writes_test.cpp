// Acknowledged writes that are given up, and those that are sent again.
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

TEST(cache_lost_writes, what_the_worker_rejects_is_given_up_and_reported) {
  cache_config c{.flush_after = 0s};
  c.writes.deny = {"app:3"};
  cache_rig h{c};
  h.write("k", "1");
  h.reply(1, "!bad");
  EXPECT_EQ(h.count("lost"), 1);
  EXPECT_EQ(h.e.reports, strings{"write_lost:>"});
  EXPECT_EQ(h.e.keys.back(), "k");
  EXPECT_EQ(h.e.details.back(), "the worker's error 3");
  EXPECT_FALSE(h.e.held_open);
  // Reads see what the worker has.
  EXPECT_EQ(h.get("k"), "...");
}

TEST(cache_lost_writes,
     one_that_is_given_up_does_not_take_a_newer_one_with_it) {
  cache_config c{.flush_after = 0s};
  c.writes.deny = {"app:3"};
  cache_rig h{c};
  h.write("k", "1");
  h.write("k", "2");
  h.reply(1, "!bad");
  h.pass(0s);
  EXPECT_EQ(h.get("k"), "2");
  ASSERT_EQ(h.children(), 2u);
  EXPECT_EQ(h.sent(2), "k=2");
}

TEST(cache_lost_writes, what_becomes_of_a_write_after_an_error) {
  struct {
    errc code;
    bool again;
  } const rows[] = {
    {errc::worker_down, true},       {errc::breaker_open, true},
    {errc::deadline_exceeded, true}, {errc::shed, true},
    {errc::cancelled, true},         {errc::draining, true},
    {errc::budget_exhausted, true},  {errc::feature_off, true},
    {errc::callback_failed, false},  {errc::call_loop, false},
    {errc::invalid_config, false},   {errc::internal_error, true},
    {errc::throttled, true},
  };
  for (const auto& row : rows) {
    cache_rig h{{.flush_after = 0s}};
    h.write("k", "v");
    h.refuse(1, row.code, true);
    EXPECT_EQ(h.count("unwritten"), row.again ? 1 : 0) << name_of(row.code);
    EXPECT_EQ(h.count("lost"), row.again ? 0 : 1) << name_of(row.code);
  }
}

TEST(cache_lost_writes,
     what_the_worker_turns_down_again_and_again_is_given_up) {
  cache_rig h{{.flush_after = 0s,
               .flush_timeout = 1s,
               .flush_backoff = 1ms,
               .flush_attempts = 3,
               .staleness = 1s}};
  h.write("k", "bad");
  // Whether it has not executed or was too slow says nothing about the write.
  h.refuse(1, errc::deadline_exceeded, true);
  for (std::uint64_t n = 2; n <= 4; ++n) {
    h.pass(1s);
    ASSERT_EQ(h.children(), n);
    EXPECT_EQ(h.count("lost"), 0);
    h.reply(n, "!bad");
  }
  EXPECT_EQ(h.count("lost"), 1);
  EXPECT_EQ(h.count("unwritten"), 0);
  // Others are acknowledged again.
  EXPECT_EQ(h.got(h.write("l", "good")), "ok");
}

TEST(cache_lost_writes,
     calls_that_wait_for_a_bad_write_go_on_when_it_is_given_up) {
  cache_rig h{{.flush_after = 0s,
               .flush_timeout = 1s,
               .flush_backoff = 1s,
               .flush_attempts = 2,
               .staleness = 1s}};
  h.write("k", "bad");
  h.reply(1, "!bad");
  h.pass(1s);
  auto repair = h.write("k", "good");
  EXPECT_EQ(h.got(repair), "...");
  h.reply(2, "!bad");
  EXPECT_EQ(h.got(repair), "below");
}

TEST(cache_lost_writes, a_newer_write_has_all_its_attempts) {
  cache_rig h{{.flush_after = 0s,
               .flush_backoff = 1ms,
               .flush_attempts = 2,
               .staleness = 1h}};
  h.write("k", "1");
  h.reply(1, "!bad");
  h.write("k", "2"); // While nothing is in progress.
  h.pass(1s);
  ASSERT_EQ(h.sent(2), "k=2");
  h.write("k", "3"); // While 2 is.
  h.reply(2, "!bad");
  h.pass(1s);
  ASSERT_EQ(h.sent(3), "k=3");
  h.reply(3, "!bad");
  EXPECT_EQ(h.count("lost"), 0);
  h.pass(1s);
  h.reply(4, "!bad");
  EXPECT_EQ(h.count("lost"), 1);
}

TEST(cache_lost_writes, what_the_worker_takes_in_between_begins_anew) {
  cache_rig h{{.flush_after = 0s,
               .flush_backoff = 1ms,
               .flush_attempts = 2,
               .staleness = 1h}};
  h.write("k", "1");
  h.reply(1, "!bad");
  h.pass(1s);
  ASSERT_EQ(h.sent(2), "k=1");
  h.write("k", "2");
  h.reply(2, "ok");
  h.pass(1s);
  ASSERT_EQ(h.sent(3), "k=2");
  h.reply(3, "!bad");
  EXPECT_EQ(h.count("lost"), 0);
  h.pass(1s);
  h.reply(4, "!bad");
  EXPECT_EQ(h.count("lost"), 1);
}

TEST(cache_lost_writes, the_class_of_an_error_may_allow_fewer_attempts) {
  struct {
    answer_class what;
    duration retry_after;
    int attempts;
  } const rows[] = {
    {answer_class::fail, 0s, 1},
    {answer_class::conflict, 0s, 1},
    {answer_class::retry, -1ns, 1},
    {answer_class::retry, 0s, 5},
    {answer_class::unknown, 0s, 5},
    // That the worker is busy says nothing about the write.
    {answer_class::retry_after, 1ms, 20},
    {answer_class::shed, 0s, 20},
  };
  for (const auto& row : rows) {
    cache_rig h{{.flush_after = 0s,
                 .flush_backoff = 1ms,
                 .flush_attempts = 5,
                 .staleness = 1h}};
    h.write("k", "v");
    for (std::uint64_t n = 1; n <= 20 && h.count("lost") == 0; ++n) {
      h.pass(1s);
      h.answer(n, row.what, row.retry_after);
    }
    EXPECT_EQ(h.children(), static_cast<std::uint64_t>(row.attempts))
      << name_of(row.what);
  }
}

TEST(cache_lost_writes, that_no_server_has_answered_ends_none) {
  for (auto what : {answer_class::retry, answer_class::shed}) {
    cache_rig h{{.flush_after = 0s,
                 .flush_backoff = 1ms,
                 .flush_attempts = 3,
                 .staleness = 1h}};
    h.write("k", "v");
    std::uint64_t n = 1;
    for (; n <= 200; ++n) {
      h.pass(1s);
      ASSERT_EQ(h.children(), n);
      h.no_answer(n, what);
    }
    // Nor does it count for what the server says then.
    h.pass(1s);
    h.reply(n++, "!bad");
    h.pass(1s);
    h.no_answer(n++, what);
    h.pass(1s);
    h.reply(n++, "!bad");
    EXPECT_EQ(h.count("lost"), 0);
    h.pass(1s);
    h.reply(n, "ok");
    EXPECT_EQ(h.count("flushed"), 1);
  }
}

TEST(cache_lost_writes, an_answer_may_limit_the_attempts) {
  cache_rig h{{.flush_after = 0s,
               .flush_backoff = 1ms,
               .flush_attempts = 5,
               .staleness = 1h}};
  h.write("k", "v");
  for (std::uint64_t n = 1; n <= 2; ++n) {
    EXPECT_EQ(h.count("lost"), 0);
    h.pass(1s);
    h.answer(n, answer_class::retry, 0s, 2);
  }
  EXPECT_EQ(h.count("lost"), 1);
}

TEST(cache_lost_writes, an_answer_that_is_not_the_workers_has_written_nothing) {
  cache_rig h{{.flush_after = 0s, .flush_backoff = 100ms}};
  h.write("k", "v");
  h.stand_in(1, "an old value");
  EXPECT_EQ(h.count("flush_failed"), 1);
  EXPECT_EQ(h.count("unwritten"), 1);
  h.pass(100ms);
  EXPECT_EQ(h.sent(2), "k=v");
}

TEST(cache_lost_writes, a_function_may_say_that_an_error_is_none) {
  cache_config c{.flush_after = 0s};
  c.writes.by_value = [](const outcome&) { return verdict::success; };
  cache_rig h{c};
  h.write("k", "v");
  h.reply(1, "!there already");
  EXPECT_EQ(h.count("flushed"), 1);
  EXPECT_EQ(h.get("k"), "v");
}

} // namespace
} // namespace caisson::test
