// The calls that are sent as one batch.
#pragma once

#include <caisson/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace caisson::detail {

/// The calls that are, or will be, sent as one batch, item by item.
struct sent_batch {
  std::vector<call_id> calls;

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

  /// Leaves out the calls that the policy does not have any more.
  void keep_present(const env& e);

  /// Takes the second half of the items out; with one item, none.
  sent_batch split_off();
};

} // namespace caisson::detail
