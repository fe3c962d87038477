// The values that a sweep gives to one setting.
#pragma once

#include <caisson/settings/problem.hpp>
#include <caisson/settings/setting.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// How many values one setting gets, at most.
inline constexpr std::size_t most_sweep_values = 10'000;

/// How an axis of such values reads.
enum class sweep_unit : std::uint8_t { none, seconds };

struct sweep_value {
  /// As in results: without the quotes of a string.
  std::string text;
  setting value;
  /// A number, or a duration in seconds; NaN of anything else.
  double number = std::numeric_limits<double>::quiet_NaN();
  sweep_unit unit = sweep_unit::none;
};

/// The value, read as one.
[[nodiscard]] sweep_value sweep_value_of(setting s);

/// What a range gives that is written without a step.
enum class range_steps : std::uint8_t {
  /// Integers by one; of anything else the step must be written.
  written,
  /// Integers by one if they are not more than 1000; otherwise some hundred
  /// round numbers, with two significant digits if the range is wide.
  round,
};

/// Reads `5..20/5`, `10ms..50ms/10ms`, `1..4` (integers, by one), `fifo,lifo`,
/// and lists of all of them. Items are values as in TOML; what is none is a
/// string. A comma or two dots within quotes, brackets or braces separate
/// nothing. Values get the place `place`. Problems are about `path`; with one,
/// the result is empty.
[[nodiscard]] std::vector<sweep_value>
read_sweep_values(std::string_view text, const setting_path& path,
                  std::string_view place, problems& out,
                  range_steps steps = range_steps::written);

/// Compact TOML, in which equal values have equal texts and others not.
[[nodiscard]] std::string canonical_text(const setting& s);
[[nodiscard]] std::string canonical_text(const settings& table);

/// The same for people, with tables in the order in which they are written.
[[nodiscard]] std::string written_text(const setting& s);

} // namespace caisson::sim
