#include <policies/batcher/model/batcher_shards_model.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

class shards_driver {
public:
  shards_driver() : b_(draw_settings()) { model_.config = b_.policy.config(); }

  void step() {
    switch (*rc::gen::inRange(0, 16)) {
      case 0:
        model_.config = draw_settings();
        b_.reconfigure(model_.config);
        break;
      case 1:
        if (!held_.empty())
          drop();
        break;
      case 2:
      case 3:
        if (!running_.empty()) {
          b_.succeed(running_.front());
          running_.erase(running_.begin());
        }
        break;
      case 4:
      case 5:
      case 6:
        b_.advance(*rc::gen::element<duration>(0ns, 1ns, 1ms, 5ms, 10ms, 1h));
        break;
      default:
        arrive();
    }
    check();
  }

  void finish() {
    model_.draining = true;
    b_.drain();
    check();
    while (!running_.empty()) {
      b_.succeed(running_.front());
      running_.erase(running_.begin());
      check();
    }
    RC_ASSERT(model_.waiting.empty());
    RC_ASSERT(held_.empty());
    RC_ASSERT(b_.count("outstanding") == 0);
  }

private:
  static batcher_config draw_settings() {
    batcher_config c;
    c.max_items = *rc::gen::element<std::uint32_t>(1, 2, 3, 50);
    c.max_delay = *rc::gen::element<duration>(0ns, 1ns, 10ms, 1h);
    c.max_outstanding = *rc::gen::element<std::uint32_t>(1, 2, 1000);
    c.max_waiting = *rc::gen::element<std::uint32_t>(50, 60, 1000);
    c.deadline_margin = *rc::gen::element<duration>(0ns, 5ms);
    c.max_shards = *rc::gen::element<std::uint32_t>(1, 2, 4, 1000);
    return c;
  }

  void arrive() {
    auto shard = *rc::gen::element<std::string>("", "a", "b", "c", "d", "e");
    call_info call;
    auto left = *rc::gen::element<duration>(1ms, 5ms, 8ms, 2h, unlimited);
    if (left != unlimited)
      call.deadline = b_.e.now + left;
    auto is_new = !model_.waiting.contains(shard);
    auto full = model_.items() >= model_.config.max_waiting;
    auto many = is_new && model_.waiting.size() >= model_.config.max_shards;
    auto blocked = running_.size() >= model_.config.max_outstanding;
    b_.policy.describe_next({.shard = shard});
    auto id = b_.arrive(call);
    auto admitted = b_.where(id) == place::held;
    RC_ASSERT(admitted == !full || (many && !full));
    if (!admitted) {
      RC_ASSERT(b_.calls.at(id).code == errc::queue_full);
      // Also if further batches could only be sent until it was blocked.
      RC_ASSERT(full || blocked || !b_.launched.empty());
      evicting_ = !b_.launched.empty();
      return;
    }
    evicting_ = many;
    model_.waiting[shard].push_back({id, b_.e.now, call.deadline});
    held_.insert(id);
  }

  void drop() {
    auto n = static_cast<int>(held_.size());
    auto i = std::next(held_.begin(), *rc::gen::inRange(0, n));
    b_.abandon(*i);
    model_.remove(*i);
    held_.erase(i);
  }

  // Every batch has the oldest items of one shard, was due, and was not one too
  // many; nothing that is due waits without a reason.
  void check() {
    while (!b_.launched.empty()) {
      auto items = b_.take();
      RC_ASSERT(!items.empty());
      auto shard = model_.shard_of(items);
      RC_ASSERT(shard.has_value());
      auto& xs = model_.waiting.at(*shard);
      RC_ASSERT(items.size()
                == std::min<std::size_t>(xs.size(), model_.config.max_items));
      RC_ASSERT(model_.due(xs) <= b_.e.now || evicting_);
      model_.take(*shard, items.size());
      for (auto id : items)
        held_.erase(id);
      running_.push_back(b_.last_taken);
    }
    evicting_ = false;
    auto blocked = running_.size() >= model_.config.max_outstanding;
    RC_ASSERT(b_.count("outstanding")
              == static_cast<std::int64_t>(running_.size()));
    RC_ASSERT(b_.count("waiting") == static_cast<std::int64_t>(model_.items()));
    RC_ASSERT(b_.count("shards")
              == static_cast<std::int64_t>(model_.waiting.size()));
    if (!blocked)
      RC_ASSERT(model_.next_due() > b_.e.now);
    RC_ASSERT(b_.policy.wakeup() == (blocked ? never : model_.next_due()));
  }

  batcher_rig b_;
  batcher_shards_model model_;
  std::set<call_id> held_;
  std::vector<std::uint64_t> running_;
  // Batches may have been sent early.
  bool evicting_ = false;
};

RC_GTEST_PROP(batcher_shards_model, agrees_with_its_model, ()) {
  shards_driver d;
  auto steps = *rc::gen::inRange(1, 400);
  for (int i = 0; i < steps; ++i)
    d.step();
  d.finish();
}

} // namespace
} // namespace caisson::test
