// The calls that are sent as one batch.
#pragma once

#include <caisson/policy/call_info.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace caisson::detail {

/// In which launch each call was sent that has not left since. A call that has
/// left and come back under its old ID, for another attempt, is not in it, or
/// is in that of another launch.
using launched_calls = std::unordered_map<call_id, std::uint64_t>;

/// The calls that are, or will be, sent as one batch, item by item.
struct sent_batch {
  std::vector<call_id> calls;

  /// The number of its launch, which its halves keep.
  std::uint64_t launch = 0;

  /// The number of each call's item, from 0 on; empty: each call is an item of
  /// its own.
  std::vector<std::uint32_t> numbers;

  /// How many times in a row it may still be split.
  std::uint32_t levels = 0;

  /// Adds a call that is a further item.
  void add(call_id call) {
    if (!numbers.empty())
      numbers.push_back(numbers.back() + 1);
    calls.push_back(call);
  }

  /// Adds a call that is equal to the last one.
  void add_equal(call_id call);

  [[nodiscard]] std::size_t items() const noexcept {
    return numbers.empty() ? calls.size() : numbers.back() + std::size_t{1};
  }

  /// Leaves out the calls that have left since its launch.
  void keep_present(const launched_calls& all);

  /// Takes the second half of the items out; with one item, none.
  sent_batch split_off();

private:
  void ensure_numbers() const;
};

} // namespace caisson::detail
