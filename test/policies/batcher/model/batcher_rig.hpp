// A host for batchers, and the settings that most of their tests use.
#pragma once

#include <caisson/policies/batcher/batcher.hpp>

#include <support/rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace caisson::test {

using namespace std::chrono_literals;

using call_ids = std::vector<call_id>;

/// Plays the part of the gate for batches, too.
class batcher_rig : public rig<batcher> {
public:
  explicit batcher_rig(batcher_config c) : rig(std::move(c)) {}

  /// Starts the oldest batch: its items are below from here on. One without
  /// items is over at once.
  call_ids take() {
    EXPECT_FALSE(launched.empty());
    return launched.empty() ? call_ids{} : take(launched.front());
  }

  /// The same with that batch.
  call_ids take(std::uint64_t batch) {
    last_taken = batch;
    std::erase(launched, batch);
    call_ids result;
    for (auto id : e.children.at(last_taken - 1).parents)
      if (auto& x = calls.at(id); x.where == place::held) {
        x.where = place::below;
        result.push_back(id);
      }
    if (result.empty())
      end(last_taken, outcome::failure(errc::cancelled, false));
    return result;
  }

  void done(std::uint64_t batch) { end(batch, outcome::success()); }

  /// As above, and each of its items has succeeded.
  void succeed(std::uint64_t batch) {
    done(batch);
    for (auto id : below(batch))
      finish(id);
  }

  /// The batch comes back with `o`, which is that of its items as well unless
  /// they stay held. Returns whether they do.
  bool fail_batch(std::uint64_t batch, const outcome& o) {
    auto result = o;
    auto d = policy.child_done(batch, result, e);
    EXPECT_NE(d.what, decision::kind::reject);
    auto held = d.what == decision::kind::hold;
    for (auto id : below(batch))
      if (held)
        calls.at(id).where = place::held;
    work();
    if (!held)
      for (auto id : below(batch))
        finish(id, o);
    return held;
  }

  void drain() {
    policy.drain(e);
    work();
  }

  std::uint64_t last_taken = 0;

private:
  // The items of a batch that the worker has, and that have not left.
  call_ids below(std::uint64_t batch) const {
    call_ids out;
    for (auto id : e.children.at(batch - 1).parents)
      if (calls.at(id).where == place::below)
        out.push_back(id);
    return out;
  }

  void end(std::uint64_t batch, outcome o) {
    EXPECT_EQ(policy.child_done(batch, o, e).what, decision::kind::pass);
    work();
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
