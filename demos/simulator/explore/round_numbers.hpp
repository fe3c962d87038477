// Numbers that are easy to read, from small to large.
#pragma once

#include <cstdint>
#include <vector>

namespace caisson::sim {

/// 10, 15, 20, 30, 50, 70, 100, 150, … up to 10^18: those in [lo, hi],
/// ascending.
[[nodiscard]] std::vector<std::int64_t> round_numbers(std::int64_t lo,
                                                      std::int64_t hi);

/// The largest of 1, 2, 5, 10, 20, 50, … that is at most `x`; 1 if `x` is less.
[[nodiscard]] std::int64_t round_unit(std::int64_t x);

} // namespace caisson::sim
