// A host for batchers, and the settings that most of their tests use.
#pragma once

#include <caisson/batcher.hpp>

#include <support/solo.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace caisson::test {

using namespace std::chrono_literals;

using ids = std::vector<call_id>;

/// Plays the part of the gate for batches, too.
class batch_host : public solo<batcher> {
public:
  explicit batch_host(batcher_config c) : solo(std::move(c)) {}

  call_id arrive_with_deadline(duration d) {
    flight call;
    call.deadline = after(e.now, d);
    return arrive(call);
  }

  /// Carries out the oldest launch: its items are below from here on.
  ids take() {
    EXPECT_FALSE(launched.empty());
    if (launched.empty())
      return {};
    last_taken = launched.front();
    launched.erase(launched.begin());
    auto result = policy.take_batch(last_taken);
    for (auto id : result)
      calls.at(id).where = place::below;
    return result;
  }

  void done(std::uint64_t batch) {
    policy.batch_done(batch, e);
    collect();
  }

  void drain() {
    policy.drain(e);
    collect();
  }

  void reconfigure(batcher_config c) {
    policy.reconfigure(std::move(c), e);
    collect();
  }

  void drop(call_id id) { abandon(id); }

  std::uint64_t last_taken = 0;

private:
  void collect() {
    for (auto& a : std::exchange(e.actions, {}))
      launched.push_back(a.index);
  }
};

inline batcher_config three_items() {
  batcher_config c;
  c.max_items = 3;
  c.max_delay = 10ms;
  c.max_outstanding = 2;
  c.max_waiting = 5;
  c.deadline_margin = 5ms;
  return c;
}

} // namespace caisson::test
