#include <policies/batcher/model/batcher_split_model.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

outcome poisoned() {
  outcome o;
  o.ok = false;
  o.code = 7;
  o.category = category_hash("app");
  return o;
}

batcher_config splitter(std::uint32_t outstanding) {
  batcher_config c;
  c.max_items = *rc::gen::inRange<std::uint32_t>(1, 40);
  c.max_delay = 1h;
  c.max_outstanding = outstanding;
  c.max_waiting = 1'000;
  c.split_failed = *rc::gen::element<std::uint32_t>(0, 1, 2, 3, 6, 20);
  return c;
}

std::set<call_id> some_poison(int n) {
  std::set<call_id> out;
  auto k = *rc::gen::element(0, 1, 1, 2, 5);
  for (int i = 0; i < k; ++i)
    out.insert(static_cast<call_id>(*rc::gen::inRange(1, n + 1)));
  return out;
}

// Takes one of the batches that were started, and ends one of those that the
// worker has, in any order.
class split_driver {
public:
  split_driver(batcher_rig& b, const std::set<call_id>& poison)
    : b_(b), poison_(poison) {}

  std::size_t sent = 0;
  // What is in flight at most, whatever the setting is by now.
  std::int64_t most = 1'000;

  // Returns whether there was something to do.
  bool step() {
    RC_ASSERT(b_.count("outstanding") <= most);
    while (!b_.launched.empty())
      if (auto items = b_.take(); !items.empty()) {
        ++sent;
        running_.emplace_back(b_.last_taken, items);
      }
    if (running_.empty())
      return false;
    auto n = static_cast<int>(running_.size());
    auto i = running_.begin() + *rc::gen::inRange(0, n);
    auto [batch, items] = *i;
    running_.erase(i);
    if (std::any_of(items.begin(), items.end(),
                    [&](call_id x) { return poison_.contains(x); }))
      b_.fail_batch(batch, poisoned());
    else
      b_.succeed(batch);
    return true;
  }

private:
  batcher_rig& b_;
  const std::set<call_id>& poison_;
  std::vector<std::pair<std::uint64_t, call_ids>> running_;
};

RC_GTEST_PROP(batcher_split_model, ends_each_item_as_halving_does, ()) {
  auto c = splitter(*rc::gen::element<std::uint32_t>(1, 2, 5, 1000));
  batcher_rig b{c};
  auto n = *rc::gen::inRange(1, 100);
  batcher_split_model model;
  model.poison = some_poison(n);
  for (int i = 0; i < n; ++i)
    b.arrive();
  b.drain();
  split_driver d{b, model.poison};
  d.most = c.max_outstanding;
  while (d.step()) {
  }
  for (call_id first = 1; first <= static_cast<call_id>(n);
       first += c.max_items) {
    call_ids items;
    for (auto id = first;
         id < first + c.max_items && id <= static_cast<call_id>(n); ++id)
      items.push_back(id);
    model.run(items, c.split_failed);
  }
  RC_ASSERT(d.sent == model.sent);
  for (const auto& [id, ok] : model.ends) {
    RC_ASSERT(b.where(id) == place::passed);
    RC_ASSERT(b.calls.at(id).result.ok == ok);
  }
  RC_ASSERT(model.ends.size() == b.calls.size());
  RC_ASSERT(b.count("halves") == 0);
  RC_ASSERT(b.count("outstanding") == 0);
}

RC_GTEST_PROP(batcher_split_model, loses_no_item_whatever_happens, ()) {
  batcher_rig b{splitter(3)};
  auto poison = some_poison(60);
  split_driver d{b, poison};
  d.most = 3;
  call_id last = 0;
  for (int i = 0; i < 200; ++i)
    switch (*rc::gen::inRange(0, 8)) {
      case 0:
        if (last > 0) {
          auto id = *rc::gen::inRange<call_id>(1, last + 1);
          if (b.where(id) == place::held || b.where(id) == place::below)
            b.abandon(id);
        }
        break;
      case 1:
        b.reconfigure(splitter(*rc::gen::element<std::uint32_t>(1, 3)));
        break;
      case 2:
      case 3:
        d.step();
        break;
      default:
        last = b.arrive();
    }
  // A lower bound does not take back what is in flight.
  auto c = b.policy.config();
  c.max_outstanding = 1000;
  b.reconfigure(c);
  d.most = c.max_outstanding;
  b.drain();
  while (d.step()) {
  }
  for (const auto& [id, x] : b.calls)
    RC_ASSERT(x.where == place::passed || x.where == place::abandoned);
  RC_ASSERT(b.count("waiting") == 0);
  RC_ASSERT(b.count("halves") == 0);
  RC_ASSERT(b.count("outstanding") == 0);
}

} // namespace
} // namespace caisson::test
