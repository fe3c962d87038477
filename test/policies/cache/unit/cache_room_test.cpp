// Thousands of answers: what drops all of them takes many turns, in each of
// which few are dropped.
#include <policies/cache/model/cache_rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kept_answers = 5'000;

class cache_room : public testing::Test {
protected:
  static cache_config config(std::uint32_t most) {
    return {.ttl = 1h, .max_entries = most, .stale_if_error = 1h};
  }

  cache_room() {
    for (std::int64_t i = 0; i < kept_answers; ++i)
      EXPECT_TRUE(h.preheat(std::to_string(i), "old"));
  }

  cache_rig h{config(kept_answers)};
};

TEST_F(cache_room, is_made_little_by_little) {
  h.reconfigure(config(10));
  EXPECT_EQ(h.count("entries"), kept_answers - 1'000);
  EXPECT_EQ(h.get("4999"), "old");
  h.pass(1ms);
  EXPECT_EQ(h.count("entries"), kept_answers - 2'000);
  h.pass(10ms);
  EXPECT_EQ(h.count("entries"), 10);
  EXPECT_EQ(h.count("keys"), 10);
  EXPECT_EQ(h.count("evicted"), kept_answers - 10);
  EXPECT_EQ(h.policy.wakeup(), never);
}

TEST_F(cache_room, of_what_is_forgotten_is_freed_later) {
  h.reset();
  EXPECT_EQ(h.count("entries"), 0);
  EXPECT_EQ(h.count("keys"), 0);
  // One whose record waits to be freed, the oldest, and one of a new key.
  for (const auto* key : {"0", "new"}) {
    auto a = h.read(key);
    EXPECT_EQ(h.got(a), "...");
    h.reply(h.children(), "fresh");
    EXPECT_EQ(h.got(a), "fresh");
    EXPECT_EQ(h.get(key), "fresh");
  }
  EXPECT_EQ(h.count("entries"), 2);
  EXPECT_EQ(h.count("keys"), 2);
  EXPECT_EQ(h.count("evicted"), 0);
  h.pass(10ms);
  EXPECT_EQ(h.count("entries"), 2);
  EXPECT_EQ(h.count("keys"), 2);
  EXPECT_EQ(h.get("0"), "fresh");
  EXPECT_EQ(h.policy.wakeup(), never);
}

// Of calls in progress, whose records stay.
TEST_F(cache_room, loads_from_before_a_reset_are_not_kept) {
  auto a = h.read("loading");
  h.reset();
  auto b = h.read("loading");
  ASSERT_EQ(h.children(), 2u);
  h.reply(1, "from before");
  EXPECT_EQ(h.got(a), "from before");
  EXPECT_EQ(h.count("entries"), 0);
  h.reply(2, "from after");
  EXPECT_EQ(h.got(b), "from after");
  EXPECT_EQ(h.get("loading"), "from after");
}

TEST_F(cache_room, what_is_forgotten_stands_in_for_no_error) {
  h.pass(1h);
  auto a = h.read("0");
  h.reset();
  h.reply(1, "!");
  EXPECT_EQ(h.got(a), "!");
  EXPECT_EQ(h.count("stale_on_error"), 0);
  h.pass(10ms);
  EXPECT_EQ(h.count("keys"), 0);
}

} // namespace
} // namespace caisson::test
