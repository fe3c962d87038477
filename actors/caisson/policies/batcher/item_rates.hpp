// Measures how many items come per second in each shard.
#pragma once

#include <caisson/base/pooled_list.hpp>
#include <caisson/base/time.hpp>
#include <caisson/policies/batcher/content_map.hpp>
#include <caisson/policies/batcher/item_rate.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace caisson::detail {

/// The rate of each shard, also of those that have no items at present: a shard
/// is gone with each of its batches, and would know nothing when it returns.
/// Only so many are known; those whose last item is oldest are forgotten.
class item_rates {
public:
  /// An item of that shard comes: see `item_rate`. At most `most` shards with a
  /// name are known then. @pre most > 0
  std::optional<double> next(const std::string& shard, time_point now,
                             duration window, std::size_t most);

  /// How many shards with a name are known.
  [[nodiscard]] std::size_t size() const noexcept { return known_.size(); }

  /// Forgets all of them.
  void clear() { *this = {}; }

private:
  using handle = std::uint32_t;

  struct entry {
    item_rate rate;
    /// The key of `known_`.
    const std::string* shard = nullptr;
  };

  item_rate unnamed_;
  // By their last items, the oldest one first.
  pooled_list<entry> recent_;
  content_map<handle> known_;
};

} // namespace caisson::detail
