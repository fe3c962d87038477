// Parts of a service, without actors: its queue, its faults, its caches.
#include <simulator/world/cache_set.hpp>
#include <simulator/world/fault_state.hpp>
#include <simulator/world/job_queue.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

// -- the queue ----------------------------------------------------------------

// A queue with the jobs that wait in it.
struct waiting_room {
  explicit waiting_room(wait_order order, std::uint32_t lifo_above = 10)
    : queue(order, {.lifo_above = lifo_above, .aging = unlimited}) {}

  void push_new(job_key key) { queue.push_new(key, jobs[key], time_point{1h}); }

  std::vector<job_key> serve_all() {
    std::vector<job_key> out;
    while (!queue.empty()) {
      out.push_back(queue.next());
      queue.take_next(jobs[out.back()], true);
    }
    return out;
  }

  job_queue queue;
  std::map<job_key, job> jobs;
};

using keys = std::vector<job_key>;

TEST(job_queue, serves_those_first_that_had_a_server) {
  waiting_room x{wait_order::fifo};
  x.push_new(1);
  x.queue.push_resumed(2, x.jobs[2]);
  x.push_new(3);
  x.queue.push_resumed(4, x.jobs[4]);
  EXPECT_EQ(x.queue.size(), 2u);
  EXPECT_EQ(x.serve_all(), (keys{2, 4, 1, 3}));
}

TEST(job_queue, serves_only_new_ones_last_in_first_out) {
  waiting_room x{wait_order::lifo};
  x.push_new(1);
  x.push_new(2);
  x.queue.push_resumed(3, x.jobs[3]);
  x.queue.push_resumed(4, x.jobs[4]);
  EXPECT_EQ(x.serve_all(), (keys{3, 4, 2, 1}));
}

TEST(job_queue, serves_the_newest_while_more_wait_than_it_may) {
  waiting_room x{wait_order::adaptive_lifo, 2};
  for (job_key key : {1, 2, 3, 4})
    x.push_new(key);
  x.queue.push_resumed(5, x.jobs[5]);
  x.queue.push_resumed(6, x.jobs[6]);
  EXPECT_EQ(x.serve_all(), (keys{5, 6, 4, 3, 1, 2}));
}

TEST(job_queue, serves_by_deadline_and_those_without_one_last) {
  waiting_room x{wait_order::deadline_first};
  const time_point ends[] = {never, time_point{3s}, time_point{1s},
                             never, time_point{3s}, time_point{2s}};
  for (job_key key = 1; key <= 6; ++key) {
    x.jobs[key].order = key;
    x.jobs[key].deadline = ends[key - 1];
    x.push_new(key);
  }
  x.queue.push_resumed(7, x.jobs[7]);
  EXPECT_EQ(x.serve_all(), (keys{7, 3, 6, 2, 5, 1, 4}));
}

TEST(job_queue, serves_by_priority_and_then_by_age) {
  waiting_room x{wait_order::priority};
  constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();
  const std::int32_t priorities[] = {0, -1, 7, least, 0, 7};
  for (job_key key = 1; key <= 6; ++key) {
    x.jobs[key].order = key;
    x.jobs[key].priority = priorities[key - 1];
    x.push_new(key);
  }
  EXPECT_EQ(x.queue.size(), 6u);
  EXPECT_TRUE(x.queue.remove(x.jobs[6]));
  EXPECT_FALSE(x.queue.remove(x.jobs[6]));
  EXPECT_EQ(x.serve_all(), (keys{3, 1, 5, 2, 4}));
}

// Would take hours if an operation took time in proportion to what waits.
TEST(job_queue, supports_a_million_that_wait) {
  constexpr std::uint64_t n = 1'000'000;
  std::vector<job> jobs(n);
  for (auto order :
       {wait_order::fifo, wait_order::lifo, wait_order::adaptive_lifo,
        wait_order::codel, wait_order::deadline_first, wait_order::priority,
        wait_order::fair}) {
    job_queue x{order};
    for (std::uint64_t i = 0; i < n; ++i) {
      auto& j = jobs[i];
      j.order = i;
      // In another order than they came: 7919 is a prime.
      auto mixed = i * 7919 % n;
      j.priority = static_cast<std::int32_t>(mixed);
      j.deadline = time_point{1s + duration{mixed}};
      j.call_key = std::to_string(mixed % 1'000);
      x.push_new(i, j, time_point{1h});
    }
    // Every third one leaves from where it is.
    for (std::uint64_t i = 0; i < n; i += 3)
      ASSERT_TRUE(x.remove(jobs[i]));
    std::uint64_t served = 0;
    for (; !x.empty(); ++served)
      x.take_next(jobs[x.next()], true);
    EXPECT_EQ(served, n - (n + 2) / 3);
  }
}

TEST(job_queue, lets_a_job_leave_from_the_middle) {
  waiting_room x{wait_order::fifo};
  for (job_key key : {1, 2, 3})
    x.push_new(key);
  x.queue.push_resumed(4, x.jobs[4]);
  EXPECT_TRUE(x.queue.remove(x.jobs[2]));
  EXPECT_TRUE(x.queue.remove(x.jobs[4]));
  EXPECT_EQ(x.serve_all(), (keys{1, 3}));
}

TEST(job_queue, does_not_remove_what_does_not_wait) {
  waiting_room x{wait_order::fifo};
  x.push_new(1);
  EXPECT_FALSE(x.queue.remove(x.jobs[2]));
  EXPECT_TRUE(x.queue.remove(x.jobs[1]));
  EXPECT_FALSE(x.queue.remove(x.jobs[1]));
  EXPECT_TRUE(x.queue.empty());
}

// -- faults -------------------------------------------------------------------

fault_config fault(fault_kind kind) {
  fault_config f;
  f.kind = kind;
  return f;
}

TEST(fault_state, multiplies_slow_faults) {
  auto one = fault(fault_kind::slow);
  one.factor = 3;
  auto other = fault(fault_kind::slow);
  other.factor = 5;
  fault_state x{4};
  EXPECT_EQ(x.factor(), 1);
  x.begin(one);
  x.begin(other);
  EXPECT_EQ(x.factor(), 15);
  x.end(one);
  EXPECT_EQ(x.factor(), 5);
  x.end(other);
  EXPECT_EQ(x.factor(), 1);
}

TEST(fault_state, adds_error_rates_as_independent_chances) {
  auto one = fault(fault_kind::errors);
  one.rate = 0.5;
  auto other = fault(fault_kind::errors);
  other.rate = 0.25;
  fault_state x{4};
  x.begin(one);
  EXPECT_EQ(x.error_rate(), 0.5);
  x.begin(other);
  EXPECT_EQ(x.error_rate(), 0.625);
  x.end(one);
  EXPECT_EQ(x.error_rate(), 0.25);
  x.end(other);
  EXPECT_EQ(x.error_rate(), 0);
}

TEST(fault_state, has_the_smallest_capacity) {
  auto one = fault(fault_kind::capacity);
  one.servers = 2;
  auto other = fault(fault_kind::capacity);
  other.servers = 3;
  auto more = fault(fault_kind::capacity);
  more.servers = 9;
  fault_state x{4};
  x.begin(more);
  EXPECT_EQ(x.servers(), 4u);
  x.begin(one);
  x.begin(other);
  EXPECT_EQ(x.servers(), 2u);
  x.end(one);
  EXPECT_EQ(x.servers(), 3u);
  x.end(other);
  EXPECT_EQ(x.servers(), 4u);
}

TEST(fault_state, lasts_until_the_last_stall_and_the_last_crash_are_over) {
  auto stall = fault(fault_kind::stall);
  auto crash = fault(fault_kind::crash);
  fault_state x{4};
  x.begin(stall);
  x.begin(stall);
  x.begin(crash);
  x.begin(crash);
  x.end(stall);
  x.end(crash);
  EXPECT_TRUE(x.stalled());
  EXPECT_TRUE(x.crashed());
  x.end(stall);
  EXPECT_FALSE(x.stalled());
  EXPECT_TRUE(x.crashed());
  x.end(crash);
  EXPECT_FALSE(x.crashed());
}

// -- caches -------------------------------------------------------------------

const time_point start{1h};

// How many of the first `all` keys of the first cache are there.
int kept_at(const cache_set& x, std::uint32_t all, time_point t) {
  int n = 0;
  for (std::uint32_t key = 0; key < all; ++key)
    n += x.contains(0, key, t);
  return n;
}

TEST(cache_set, begins_with_keys_of_every_age) {
  cache_set x;
  x.fill({{1000, 10s}}, draw_key{1}, start);
  EXPECT_NEAR(kept_at(x, 1000, start + 2500ms), 750, 50);
  EXPECT_NEAR(kept_at(x, 1000, start + 5s), 500, 50);
  EXPECT_EQ(kept_at(x, 1000, start + 10s), 0);
}

TEST(cache_set, keeps_keys_without_an_end_until_it_is_flushed) {
  cache_set x;
  x.fill({{10, unlimited}}, draw_key{1}, start);
  EXPECT_EQ(kept_at(x, 10, start + 100h), 10);
  x.flush();
  EXPECT_EQ(kept_at(x, 10, start), 0);
}

TEST(cache_set, keeps_a_key_up_to_its_end_and_others_as_they_were) {
  cache_set x;
  x.fill({{3, 10s}, {3, 10s}}, draw_key{1}, start);
  x.flush();
  x.put(0, 1, start + 5s);
  EXPECT_TRUE(x.contains(0, 1, start + 5s - 1ns));
  EXPECT_FALSE(x.contains(0, 1, start + 5s));
  EXPECT_FALSE(x.contains(0, 2, start));
  EXPECT_FALSE(x.contains(1, 1, start));
}

} // namespace
} // namespace caisson::sim
