// The order in which an operation makes calls, and which of them overlap.
#pragma once

#include <simulator/import/visits.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace caisson::sim {

/// Calls of one kind in a step.
struct pattern_call {
  std::uint32_t operation = 0;
  std::uint32_t count = 1;
  /// Whether they are made at the same time instead of one after another.
  bool parallel = false;
  /// The share of the visits that make them.
  double probability = 1;

  friend bool operator==(const pattern_call&, const pattern_call&) = default;
};

/// What is begun at the same time.
using pattern_step = std::vector<pattern_call>;

struct call_pattern {
  std::vector<pattern_step> steps;
  /// The share of the pairs of successive calls that come in another order.
  double other_order = 0;
  /// The time in calls if they are made in steps, divided by the real one.
  double stretch = 1;
};

/// The n-th call of an operation beyond this one is not distinguished from
/// those before.
inline constexpr std::uint32_t most_same_calls = 200;

/// The pattern of some visits of one operation, which should be those that
/// succeeded: errors cut the others short. n log n in the calls.
[[nodiscard]] call_pattern find_pattern(const visit_graph& g,
                                        std::span<const std::uint32_t> visits);

} // namespace caisson::sim
