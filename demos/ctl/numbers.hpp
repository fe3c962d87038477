// Numbers of gates and layers with their units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace caisson::ctl {

/// What a number counts, by a part of its name.
struct number_unit {
  std::string_view part;
  /// Of times: nanoseconds; 0: a share.
  std::int64_t ns;
  /// Of shares: how many are one per cent.
  double percent;
};

/// Takes the unit out of the name: `longest_wait` of `longest_wait_us`,
/// `waited_granted` of `waited_us_granted`. Null if there is none.
[[nodiscard]] const number_unit* take_unit(std::string& name);

/// `48.9ms`, `12.5 %`, or the number if it has no unit.
[[nodiscard]] std::string with_unit(const number_unit* u, std::int64_t x);

/// Whether a number of that name is a level, that goes up and down, and no
/// counter.
[[nodiscard]] bool is_gauge(std::string_view name);

/// The place of a number among others, the most important ones first.
[[nodiscard]] std::size_t rank_of(std::string_view name);

} // namespace caisson::ctl
