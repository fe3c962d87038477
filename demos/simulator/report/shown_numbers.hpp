// Numbers of an arm or a load for readers, by the columns of an output.
#pragma once

#include <simulator/results/column.hpp>
#include <simulator/world/result.hpp>

#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace caisson::sim {

/// A column, whatever its record.
struct shown_column {
  std::string_view name;
  std::string_view heading;
  std::string_view page_heading;
  metric_unit unit = metric_unit::none;
  column_kind kind = column_kind::sum;
  /// Behind the point, of what has no unit.
  int digits = 0;
  /// Whether it is a latency, which only good answers have.
  bool of_good = false;
};

constexpr int digits_of(column_kind kind) {
  switch (kind) {
    case column_kind::sum:
    case column_kind::largest:
    case column_kind::level:
      return 0;
    case column_kind::rate:
      return 1;
    default:
      return 2;
  }
}

template <class Record, class Whole>
constexpr shown_column to_shown(const result_column<Record, Whole>& c) {
  return {.name = c.name,
          .heading = c.heading(),
          .page_heading = c.page_heading(),
          .unit = c.traits.unit,
          .kind = c.kind,
          .digits = digits_of(c.kind),
          .of_good = std::is_same_v<Record, latency_summary>};
}

struct shown_number {
  shown_column column;
  /// Nothing if there is no such number: a share of no requests, a latency of
  /// no answer, the recovery from no fault.
  std::optional<double> value;
};

/// Of an arm: of the run, its requests and its latencies.
[[nodiscard]] std::vector<shown_number> numbers_of(const arm_result& r,
                                                   output o);

/// Of a load: of its requests and its latencies. `seconds`: of the whole run
/// without its warm-up.
[[nodiscard]] std::vector<shown_number> numbers_of(const load_summary& x,
                                                   double seconds, output o);

} // namespace caisson::sim
