// The ends of the items of a batch that is halved when it fails.
#pragma once

#include <policies/batcher/model/batcher_rig.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

namespace caisson::test {

/// It also counts how often something is sent. Batches end apart
/// from their calls, so that `check_against_model` cannot play them.
struct batcher_split_model {
  std::set<call_id> poison;
  std::map<call_id, bool> ends;
  std::size_t sent = 0;

  void run(const call_ids& items, std::uint32_t levels) {
    ++sent;
    auto bad = std::any_of(items.begin(), items.end(),
                           [&](call_id x) { return poison.contains(x); });
    if (bad && levels > 0 && items.size() > 1) {
      auto n = items.size() - items.size() / 2;
      auto middle = items.begin() + static_cast<std::ptrdiff_t>(n);
      run({items.begin(), middle}, levels - 1);
      run({middle, items.end()}, levels - 1);
      return;
    }
    for (auto x : items)
      ends[x] = !bad;
  }
};

} // namespace caisson::test
