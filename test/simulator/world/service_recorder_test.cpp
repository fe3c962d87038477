// Counts of a recorder of a service, compared with a naive model.
#include <simulator/scenario/scenario.hpp>
#include <simulator/world/service_recorder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace caisson::sim {
namespace {

using namespace std::chrono_literals;

// When how many more are busy; in order.
using busy_changes = std::vector<std::pair<duration, int>>;

// The warm-up lasts for 10 s, and the load until 20 s.
service_recorder recorder_of_busy(const busy_changes& changes) {
  service_recorder out{"s", no_limit, no_limit, 10s, 20s};
  for (auto [at, by] : changes)
    out.busy_changed(at, by);
  return out;
}

TEST(service_recorder, knows_the_most_servers_that_were_busy_together) {
  struct row {
    busy_changes changes;
    std::uint64_t most;
  };
  const row rows[] = {
    {{}, 0},
    // All before the warm-up ends.
    {{{1s, 1}, {2s, 1}, {3s, -1}, {4s, -1}}, 0},
    // Busy when it ends, and never as many later.
    {{{1s, 1}, {2s, 1}, {3s, 1}, {12s, -1}, {13s, -1}, {14s, 1}}, 3},
    // Nothing happens later.
    {{{1s, 1}, {2s, 1}}, 2},
    {{{9s, 1}, {10s, -1}}, 1},
    {{{9s, 1}, {9s, -1}, {12s, 1}}, 1},
    {{{11s, 1}, {12s, 1}, {12s, -1}, {12s, 1}, {13s, -1}, {14s, -1}}, 2},
    // The drain counts.
    {{{19s, 1}, {21s, 1}, {22s, -1}, {23s, -1}}, 2},
  };
  for (const auto& x : rows)
    EXPECT_EQ(recorder_of_busy(x.changes).summary(25s).busy_max, x.most)
      << "row " << &x - rows;
}

TEST(service_recorder, begins_a_second_with_what_is_busy) {
  service_recorder r{"s", no_limit, no_limit, 0s, 20s};
  r.busy_changed(100ms, 1);
  r.busy_changed(200ms, 1);
  r.busy_changed(300ms, -1);
  EXPECT_EQ(r.end_second(1s).busy_max, 2u);
  EXPECT_EQ(r.end_second(2s).busy_max, 1u);
  r.busy_changed(2100ms, -1);
  EXPECT_EQ(r.end_second(3s).busy_max, 1u);
  EXPECT_EQ(r.end_second(4s).busy_max, 0u);
}

TEST(service_recorder, adds_up_the_time_that_servers_are_busy) {
  service_recorder r{"s", no_limit, no_limit, 10s, 20s};
  r.busy_changed(250ms, 1);
  r.busy_changed(500ms, 2);
  EXPECT_EQ(r.end_second(1s).busy_time, 1'750'000u);
  EXPECT_EQ(r.end_second(2s).busy_time, 3'000'000u);
  r.busy_changed(2s + 1500ns, -3);
  EXPECT_EQ(r.end_second(3s).busy_time, 4u);
  r.busy_changed(3s + 100ns, 1);
  r.busy_changed(3s + 600ns, -1);
  EXPECT_EQ(r.end_second(4s).busy_time, 1u); // With what the last one left.
}

TEST(service_recorder, adds_up_the_time_of_cores_if_they_are_limited) {
  service_recorder r{"s", 8, 2, 0s, 20s};
  r.busy_changed(0s, 5);
  r.cores_used_changed(100ms, 2);
  r.cores_used_changed(400ms, -1);
  auto row = r.end_second(500ms);
  EXPECT_EQ(row.core_time, 700'000u);
  EXPECT_EQ(row.busy_time, 2'500'000u);
  EXPECT_EQ(row.server_time, 0u);
}

TEST(service_recorder, adds_up_the_time_of_servers_if_they_change) {
  service_recorder r{"s", 4, no_limit, 0s, 20s};
  EXPECT_EQ(r.end_second(1s).server_time, 0u);
  r.servers_changed(1250ms, -3);
  r.leaving_changed(1250ms, 1);
  r.leaving_changed(1500ms, -1);
  auto row = r.end_second(2s);
  EXPECT_EQ(row.server_time, 1'000'000u + 500'000u + 500'000u);
  EXPECT_EQ(row.core_time, 0u);
}

// Looks at each instant between two changes.
TEST(service_recorder, agrees_with_a_model_of_busy_servers) {
  std::mt19937 random{7};
  for (int run = 0; run < 300; ++run) {
    busy_changes changes;
    std::int64_t busy = 0;
    std::int64_t most = 0;
    duration at = 0s;
    while (at < 24s) {
      auto next = at + std::chrono::milliseconds{random() % 900};
      // Busy in [at, next].
      if (next >= 10s)
        most = std::max(most, busy);
      auto by = busy > 0 && random() % 2 == 0 ? -1 : 1;
      changes.emplace_back(next, by);
      busy += by;
      at = next;
    }
    most = std::max(most, busy);
    EXPECT_EQ(recorder_of_busy(changes).summary(25s).busy_max,
              static_cast<std::uint64_t>(most))
      << "run " << run;
  }
}

// By two ways: seconds in whole numbers, and the area that `utilization` is of.
TEST(service_recorder, is_as_busy_in_all_seconds_as_over_the_whole_time) {
  std::mt19937 random{8};
  for (bool cores : {false, true})
    for (int run = 0; run < 50; ++run) {
      service_recorder r{"s", 4, cores ? 4 : no_limit, 0s, 10s};
      std::uint64_t sum = 0;
      int busy = 0;
      duration at = 0s;
      for (auto second = 1s; second <= 10s; second += 1s) {
        for (; at < second;
             at += std::chrono::nanoseconds{random() % 300'000'000}) {
          auto by = busy == 4 || (busy > 0 && random() % 2 == 0) ? -1 : 1;
          busy += by;
          if (cores)
            r.cores_used_changed(at, by);
          else
            r.busy_changed(at, by);
        }
        auto row = r.end_second(second);
        sum += cores ? row.core_time : row.busy_time;
      }
      EXPECT_NEAR(static_cast<double>(sum) / 40e6, r.summary(10s).utilization,
                  1e-6)
        << "run " << run << ", cores: " << cores;
    }
}

} // namespace
} // namespace caisson::sim
