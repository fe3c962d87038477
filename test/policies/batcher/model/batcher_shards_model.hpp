// The items that wait in a batcher with shards, in a list for each.
#pragma once

#include <policies/batcher/model/batcher_rig.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace caisson::test {

/// Looks at every item each time. It says when a shard is due, and from which
/// shard a batch is. Which of those that are due comes first is left open, so
/// that `check_against_model` cannot know where a call is to be.
struct batcher_shards_model {
  struct item {
    call_id call;
    time_point joined;
    time_point deadline;
  };

  batcher_config config;
  std::map<std::string, std::vector<item>> waiting;
  bool draining = false;

  [[nodiscard]] time_point due(const std::vector<item>& xs) const {
    if (xs.size() >= config.max_items || draining)
      return time_point::min();
    auto at = xs.front().joined + config.max_delay;
    for (const auto& x : xs)
      if (x.deadline != never)
        at = std::min(at, x.deadline - config.deadline_margin);
    return at;
  }

  [[nodiscard]] time_point next_due() const {
    auto at = never;
    for (const auto& [key, xs] : waiting)
      at = std::min(at, due(xs));
    return at;
  }

  [[nodiscard]] std::size_t items() const {
    std::size_t n = 0;
    for (const auto& [key, xs] : waiting)
      n += xs.size();
    return n;
  }

  // The shard whose oldest items these are.
  [[nodiscard]] std::optional<std::string> shard_of(const call_ids& xs) const {
    for (const auto& [key, items] : waiting)
      if (xs.size() <= items.size()
          && std::equal(xs.begin(), xs.end(), items.begin(),
                        [](call_id id, const item& x) { return id == x.call; }))
        return key;
    return std::nullopt;
  }

  void take(const std::string& key, std::size_t n) {
    auto& xs = waiting.at(key);
    xs.erase(xs.begin(), xs.begin() + static_cast<std::ptrdiff_t>(n));
    if (xs.empty())
      waiting.erase(key);
  }

  void remove(call_id id) {
    for (auto& [key, xs] : waiting)
      std::erase_if(xs, [&](const item& x) { return x.call == id; });
    std::erase_if(waiting, [](const auto& x) { return x.second.empty(); });
  }
};

} // namespace caisson::test
