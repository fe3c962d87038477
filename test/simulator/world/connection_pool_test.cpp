// Connections without a network: who has one, and who waits.
#include <simulator/world/connection_pool.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;
using grant = connection_pool::grant;

constexpr time_point at(duration d) {
  return time_point{} + d;
}

connection_config limited_to(std::uint32_t most) {
  connection_config c;
  c.most = most;
  return c;
}

TEST(connection_pool, opens_as_many_as_it_may) {
  auto c = limited_to(2);
  connection_pool pool{c};
  EXPECT_EQ(pool.take(1, at(0s)), grant::fresh);
  EXPECT_EQ(pool.take(2, at(0s)), grant::fresh);
  EXPECT_EQ(pool.take(3, at(0s)), grant::waits);
  EXPECT_EQ(pool.used(), 2u);
  EXPECT_EQ(pool.waiting(), 1u);
}

TEST(connection_pool, hands_a_connection_to_the_one_that_waited_longest) {
  auto c = limited_to(1);
  connection_pool pool{c};
  (void)pool.take(1, at(0s));
  (void)pool.take(2, at(0s));
  (void)pool.take(3, at(0s));
  (void)pool.take(4, at(0s));
  pool.stop_waiting(2);
  auto next = pool.give_back(0, true, at(1s));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->call, 3u);
  EXPECT_EQ(next->how, grant::open);
  // In place of one that was closed, a new one is opened.
  next = pool.give_back(0, false, at(1s));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->call, 4u);
  EXPECT_EQ(next->how, grant::fresh);
  EXPECT_EQ(pool.used(), 1u);
  EXPECT_FALSE(pool.give_back(0, true, at(1s)));
  EXPECT_EQ(pool.used(), 0u);
}

TEST(connection_pool, refuses_when_as_many_wait_as_may) {
  auto c = limited_to(1);
  c.pending = 1;
  connection_pool pool{c};
  (void)pool.take(1, at(0s));
  EXPECT_EQ(pool.take(2, at(0s)), grant::waits);
  EXPECT_EQ(pool.take(3, at(0s)), grant::refused);
  pool.stop_waiting(2);
  EXPECT_EQ(pool.take(4, at(0s)), grant::waits);
}

TEST(connection_pool, uses_open_connections_until_they_were_idle_for_too_long) {
  auto c = limited_to(3);
  c.idle = 10s;
  connection_pool pool{c};
  for (std::uint64_t call : {1, 2})
    (void)pool.take(call, at(0s));
  (void)pool.give_back(0, true, at(1s));
  (void)pool.give_back(0, true, at(2s));
  // The one that was used last.
  EXPECT_EQ(pool.take(3, at(11500ms)), grant::open);
  EXPECT_EQ(pool.take(4, at(11500ms)), grant::fresh);
  (void)pool.give_back(0, true, at(12s));
  EXPECT_EQ(pool.take(5, at(22s)), grant::fresh);
}

TEST(connection_pool, keeps_nothing_open_over_a_crash) {
  auto c = limited_to(5);
  connection_pool pool{c};
  (void)pool.take(1, at(0s));
  (void)pool.take(2, at(0s));
  (void)pool.give_back(0, true, at(1s));
  auto age = pool.age();
  pool.reset(true);
  EXPECT_NE(pool.age(), age);
  // The idle one is closed, and the one in use when it comes back.
  EXPECT_EQ(pool.take(3, at(2s)), grant::fresh);
  (void)pool.give_back(age, true, at(2s));
  EXPECT_EQ(pool.take(4, at(2s)), grant::fresh);
  // Nothing stays open while it is down.
  (void)pool.give_back(pool.age(), true, at(2s));
  EXPECT_EQ(pool.take(5, at(2s)), grant::fresh);
  auto during = pool.age();
  pool.reset(false);
  (void)pool.give_back(during, true, at(3s));
  EXPECT_EQ(pool.take(6, at(3s)), grant::fresh);
  (void)pool.give_back(pool.age(), true, at(3s));
  EXPECT_EQ(pool.take(7, at(3s)), grant::open);
}

// Against a list that is searched from its beginning.
TEST(connection_pool, does_what_a_plain_list_does) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random{seed};
    auto c = limited_to(1 + random() % 4);
    c.pending = random() % 5;
    connection_pool pool{c};
    std::size_t used = 0;
    std::deque<std::uint64_t> waiting;
    for (std::uint64_t call = 1; call < 500; ++call) {
      switch (random() % 3) {
        case 0: {
          auto how = pool.take(call, at(0s));
          if (used < c.most) {
            ++used;
            EXPECT_TRUE(how == grant::open || how == grant::fresh);
          } else if (waiting.size() < c.pending) {
            waiting.push_back(call);
            EXPECT_EQ(how, grant::waits);
          } else {
            EXPECT_EQ(how, grant::refused);
          }
          break;
        }
        case 1:
          if (!waiting.empty()) {
            auto i = random() % waiting.size();
            pool.stop_waiting(waiting[i]);
            waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
          }
          break;
        default:
          if (used > 0) {
            auto next = pool.give_back(0, random() % 2 == 0, at(0s));
            ASSERT_EQ(next.has_value(), !waiting.empty());
            if (next) {
              EXPECT_EQ(next->call, waiting.front());
              waiting.pop_front();
            } else {
              --used;
            }
          }
      }
      ASSERT_EQ(pool.used(), used);
      ASSERT_EQ(pool.waiting(), waiting.size());
    }
  }
}

} // namespace
} // namespace caisson::sim
