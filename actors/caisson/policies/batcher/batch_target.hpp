// The size and delay of a batch at a rate of items.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policies/batcher/batcher_config.hpp>

#include <cstddef>
#include <optional>

namespace caisson::detail {

/// A batch is sent when it has so many items, or after that time.
struct batch_target {
  std::size_t items = 0;
  duration delay = {};

  friend bool operator==(const batch_target&, const batch_target&) = default;
};

/// What applies at that many items per second; nothing: it is not known, and
/// the longest wait and the largest batch apply, as without `adaptive`.
///
/// The longest wait would bring n = rate * max_delay further items. A batch of
/// n items is complete after n - 1 of them, on average after max_delay *
/// (1 - 1/n). If not even one is to be expected, waiting gains nothing.
[[nodiscard]] batch_target target_of(const batcher_config& c,
                                     std::optional<double> rate) noexcept;

} // namespace caisson::detail
