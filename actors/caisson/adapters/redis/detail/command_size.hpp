// The size of a Redis command on the wire.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

namespace caisson::detail {

/// Whether hiredis can write a command whose words have these lengths. It adds
/// them up in an `int`, and writes beyond its memory if they are more.
[[nodiscard]] inline bool
fits_in_redis_command(std::span<const std::size_t> lengths) noexcept {
  // "$", a length, and the ends of two lines; the same for their number.
  constexpr std::size_t most_around = 32;
  constexpr std::size_t most = std::numeric_limits<int>::max();
  std::size_t all = most_around;
  for (auto x : lengths) {
    if (x > most - all || most - all - x < most_around)
      return false;
    all += x + most_around;
  }
  return true;
}

} // namespace caisson::detail
