// Times for state machines that are tested without a host.
#pragma once

#include <caisson/base/time.hpp>

#include <chrono>

namespace caisson::test {

/// Where clocks begin to count. Windows divide time from here on.
inline constexpr time_point zero{};

/// A time that has others before it.
inline constexpr time_point start = zero + std::chrono::hours(1);

/// So long after the start.
constexpr time_point at(duration t) {
  return start + t;
}

} // namespace caisson::test
