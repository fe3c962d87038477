// What a recorder of a service counts, compared with a naive model.
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
  EXPECT_EQ(r.end_second().busy_max, 2u);
  EXPECT_EQ(r.end_second().busy_max, 1u);
  r.busy_changed(2100ms, -1);
  EXPECT_EQ(r.end_second().busy_max, 1u);
  EXPECT_EQ(r.end_second().busy_max, 0u);
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

} // namespace
} // namespace caisson::sim
