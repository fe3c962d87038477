// Common parts of the lookup of result numbers by name.
#pragma once

#include <simulator/report/numbers.hpp>
#include <simulator/world/result.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace caisson::sim {

/// The column of rows that has the numbers of this one; null if it is only
/// known of a run as a whole.
template <class Columns, class Record>
constexpr auto* row_column(const Columns& of_rows,
                           const result_column<Record>& c) {
  return column_named(of_rows, c.name);
}

/// `a.b.c` into `a.b` and `c`.
inline std::pair<std::string_view, std::string_view>
split_last(std::string_view x) {
  auto dot = x.rfind('.');
  if (dot == std::string_view::npos)
    return {{}, x};
  return {x.substr(0, dot), x.substr(dot + 1)};
}

/// Throws `std::invalid_argument`: there is no `what` called `name`.
[[noreturn]] void throw_no_such(std::string_view what, std::string_view name,
                                std::span<const std::string_view> known);

/// Throws `std::invalid_argument`: `name` has no values per second.
[[noreturn]] void throw_not_per_second(std::string_view name);

/// Seconds [from, to), or all of the run without its warm-up.
struct span_of_time {
  bool whole = true;
  std::int64_t from = 0;
  std::int64_t to = 0;

  [[nodiscard]] double length(const arm_result& r) const {
    return whole ? to_seconds(r.length - r.warmup)
                 : until(r) - static_cast<double>(from);
  }

  /// If it is not the whole.
  [[nodiscard]] second_range seconds() const;

private:
  // The last second of a load may be only a part of one.
  [[nodiscard]] double until(const arm_result& r) const {
    auto end = to_seconds(r.length);
    auto last = static_cast<double>(to);
    return end > last - 1 ? std::min(end, last) : last;
  }
};

/// For a load that lasts for `length`. Throws `std::invalid_argument` unless
/// both are whole seconds, and `from` is before `to` and before the end of the
/// load.
[[nodiscard]] span_of_time
span_between(duration length, std::optional<duration> from, duration to);

} // namespace caisson::sim
