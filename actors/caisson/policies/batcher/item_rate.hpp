// Measures how many items come per second.
#pragma once

#include <caisson/base/time.hpp>

#include <optional>

namespace caisson::detail {

/// How many items came per second, of late. What is older counts less, by
/// `exp(-age / window)`: items as well as the time in which they came,
///
///     items   = sum of exp(-(now - t) / window) over the items, came at t
///     seconds = integral of exp(-(now - t) / window) dt since the first item
///             = window * (1 - exp(-(now - first) / window))
///     rate    = items / seconds
///
/// At a constant rate r the expectation of `items` is r * `seconds` at any
/// time, not only after many windows: the quotient has no bias from the start.
/// The first item is where time begins, and does not count. Nor does the item
/// that comes just now: at low rates it would be most of what is seen.
///
/// The sums are carried on from item to item, so the window may change between
/// two of them. Nothing is drawn: equal items give equal rates.
class item_rate {
public:
  /// An item comes. Returns the rate of those before, per second; nothing as
  /// long as no time has passed since the first one. If the clock has stepped
  /// back, no time has passed since the last one.
  std::optional<double> next(time_point now, duration window) noexcept;

private:
  std::optional<time_point> last_;
  double items_ = 0;
  double seconds_ = 0;
};

} // namespace caisson::detail
