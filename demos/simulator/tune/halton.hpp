// Points that fill a cube evenly.
#pragma once

#include <simulator/scenario/random.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace caisson::sim {

/// The most dimensions that there may be.
inline constexpr std::size_t most_dimensions = 20;

/// The Halton sequence with its digits permuted at random, each position of
/// each dimension by itself (A. B. Owen, "A randomized Halton algorithm in R",
/// 2017). Any number of its first points fills the unit cube more evenly than
/// random points, also in many dimensions, where the plain sequence does not.
class halton_sequence {
public:
  /// `dimensions`: 1 to `most_dimensions`.
  halton_sequence(std::size_t dimensions, draw_key key);

  /// Point `i`, counted from 0; numbers in [0, 1).
  [[nodiscard]] std::vector<double> point(std::uint64_t i) const;

private:
  struct dimension {
    std::uint64_t base = 2;
    /// By position of a digit, the most significant one first.
    std::vector<std::vector<std::uint32_t>> digits;
  };
  std::vector<dimension> dimensions_;
};

} // namespace caisson::sim
