// Instants from 128-bit arithmetic.
#pragma once

#include <caisson/base/time.hpp>

#include <cstdint>

namespace caisson::detail {

__extension__ using wide = __int128;

[[nodiscard]] constexpr wide wide_ns(time_point t) noexcept {
  return t.time_since_epoch().count();
}

/// The instant of that many nanoseconds; `never` if that is beyond the clock.
[[nodiscard]] constexpr time_point instant_of(wide ns) noexcept {
  return ns >= wide_ns(never)
           ? never
           : time_point{duration{static_cast<std::int64_t>(ns)}};
}

/// For positive `b`, rounded up.
[[nodiscard]] constexpr wide divided_up(wide a, wide b) noexcept {
  return a / b + (a % b > 0 ? 1 : 0);
}

} // namespace caisson::detail
