#include <caisson/gate/deduplicator.hpp>

#include <support/times.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using book = deduplicator<std::string, int>;
using waiting_ones = std::vector<int>;

TEST(deduplicator, the_first_is_carried_out_and_duplicates_wait) {
  book seen;
  EXPECT_EQ(seen.receive("a", 1, start).what, book::first);
  EXPECT_EQ(seen.receive("a", 2, start).what, book::waiting);
  EXPECT_EQ(seen.receive("a", 3, start).what, book::waiting);
  EXPECT_EQ(seen.receive("b", 4, start).what, book::first);
  EXPECT_EQ(seen.in_flight(), 2u);
  EXPECT_EQ(seen.finish("a", "done", start), (waiting_ones{2, 3}));
  auto late = seen.receive("a", 5, start);
  EXPECT_EQ(late.what, book::known);
  EXPECT_EQ(*late.answer, "done");
  EXPECT_EQ(seen.in_flight(), 1u);
  EXPECT_EQ(seen.size(), 2u);
}

TEST(deduplicator, without_a_key_every_attempt_is_the_first) {
  book seen;
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(seen.receive("", i, start).what, book::first);
  EXPECT_EQ(seen.finish("", "done", start), waiting_ones{});
  EXPECT_EQ(seen.size(), 0u);
}

TEST(deduplicator, a_request_without_effect_may_be_carried_out_again) {
  book seen;
  EXPECT_EQ(seen.receive("a", 1, start).what, book::first);
  EXPECT_EQ(seen.receive("a", 2, start).what, book::waiting);
  EXPECT_EQ(seen.forget("a"), waiting_ones{2});
  EXPECT_EQ(seen.size(), 0u);
  EXPECT_EQ(seen.receive("a", 3, start).what, book::first);
  EXPECT_EQ(seen.finish("a", "done", start), waiting_ones{});
  // It is known now, whoever reports what.
  EXPECT_EQ(seen.forget("a"), waiting_ones{});
  EXPECT_EQ(seen.finish("a", "other", start), waiting_ones{});
  EXPECT_EQ(*seen.receive("a", 4, start).answer, "done");
}

TEST(deduplicator, an_unknown_key_has_no_waiters) {
  book seen;
  EXPECT_EQ(seen.finish("a", "done", start), waiting_ones{});
  EXPECT_EQ(seen.forget("a"), waiting_ones{});
  EXPECT_EQ(seen.receive("a", 1, start).what, book::first);
}

TEST(deduplicator, an_answer_is_known_until_its_time_is_over) {
  book seen{{.ttl = 10s}};
  for (std::string key : {"a", "b"}) {
    EXPECT_EQ(seen.receive(key, 1, start).what, book::first);
    EXPECT_EQ(seen.finish(key, "done", start), waiting_ones{});
  }
  // Use does not prolong it.
  EXPECT_EQ(seen.receive("a", 2, start + 10s - 1ns).what, book::known);
  EXPECT_EQ(seen.receive("a", 3, start + 10s).what, book::first);
  EXPECT_EQ(seen.size(), 1u) << "b went, too";
}

TEST(deduplicator, an_old_answer_in_use_is_not_given_once_more) {
  book seen{{.ttl = 10s}};
  EXPECT_EQ(seen.receive("a", 1, start).what, book::first);
  EXPECT_EQ(seen.finish("a", "done", start), waiting_ones{});
  EXPECT_EQ(seen.receive("b", 1, start).what, book::first);
  EXPECT_EQ(seen.finish("b", "done", start + 5s), waiting_ones{});
  // Used last, so that b would make room before it.
  EXPECT_EQ(seen.receive("a", 2, start + 6s).what, book::known);
  EXPECT_EQ(seen.receive("a", 3, start + 10s).what, book::first);
  EXPECT_EQ(seen.size(), 2u);
}

TEST(deduplicator, a_slow_request_is_not_forgotten) {
  book seen{{.capacity = 1, .ttl = 10s}};
  EXPECT_EQ(seen.receive("a", 1, start).what, book::first);
  EXPECT_EQ(seen.receive("a", 2, start + 1h).what, book::waiting);
  EXPECT_EQ(seen.receive("b", 3, start + 1h).what, book::full);
}

TEST(deduplicator, the_answer_used_least_recently_makes_room) {
  book seen{{.capacity = 2}};
  for (std::string key : {"a", "b"}) {
    EXPECT_EQ(seen.receive(key, 1, start).what, book::first);
    EXPECT_EQ(seen.finish(key, key, start), waiting_ones{});
  }
  EXPECT_EQ(seen.receive("a", 1, start).what, book::known);
  EXPECT_EQ(seen.receive("c", 1, start).what, book::first);
  EXPECT_EQ(seen.receive("a", 1, start).what, book::known);
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen.receive("b", 1, start).what, book::first);
  EXPECT_EQ(seen.size(), 2u);
  // Now both are in progress.
  EXPECT_EQ(seen.receive("a", 1, start).what, book::full);
}

TEST(deduplicator, so_many_wait_and_no_more) {
  book seen{{.max_waiting = 2}};
  EXPECT_EQ(seen.receive("a", 1, start).what, book::first);
  EXPECT_EQ(seen.receive("a", 2, start).what, book::waiting);
  EXPECT_EQ(seen.receive("a", 3, start).what, book::waiting);
  EXPECT_EQ(seen.receive("a", 4, start).what, book::full);
  EXPECT_EQ(seen.finish("a", "done", start), (waiting_ones{2, 3}));
}

TEST(deduplicator, never_exceeds_its_capacity) {
  book seen{{.capacity = 100}};
  for (int i = 0; i < 10'000; ++i) {
    auto key = std::to_string(i);
    EXPECT_EQ(seen.receive(key, i, start).what, book::first);
    EXPECT_EQ(seen.finish(key, key, start), waiting_ones{});
    EXPECT_LE(seen.size(), 100u);
  }
  EXPECT_EQ(seen.receive("9900", 1, start).what, book::known);
  EXPECT_EQ(seen.receive("9899", 1, start).what, book::first);
}

TEST(deduplicator, needs_waiters_only_to_be_movable) {
  deduplicator<int, std::unique_ptr<int>> seen;
  EXPECT_EQ(seen.receive("a", nullptr, start).what, seen.first);
  EXPECT_EQ(seen.receive("a", std::make_unique<int>(2), start).what,
            seen.waiting);
  EXPECT_EQ(*seen.finish("a", 1, start).at(0), 2);
}

} // namespace
} // namespace caisson::test
