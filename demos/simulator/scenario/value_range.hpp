// Ranges of values: `5..20/5`, `10ms..50ms/10ms`, `0.1..0.9`.
#pragma once

#include <simulator/scenario/sweep_values.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// From a range on, whose end is so many times its begin, its values are
/// spaced by ratios and not by differences.
inline constexpr std::int64_t wide_range = 20;

struct value_range {
  /// Ascending; empty if something is wrong.
  std::vector<sweep_value> values;
  /// What is wrong.
  std::string problem;
};

/// The values of a range as it is written, whose two dots begin at `dots`:
/// integers, decimals or durations, with a step behind a slash. Decimals are
/// exact. See `range_steps` for those without a step.
[[nodiscard]] value_range read_value_range(std::string_view text,
                                           std::size_t dots, range_steps steps);

} // namespace caisson::sim
