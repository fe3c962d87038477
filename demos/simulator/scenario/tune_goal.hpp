// Objective of a tuning.
#pragma once

#include <simulator/scenario/metric_names.hpp>

#include <caisson/settings/problem.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace caisson::sim {

/// A number that is to be small or large, or within a bound.
struct tune_goal {
  /// As it was written.
  std::string text;
  /// The full name of a metric, or the path of a setting that is varied.
  std::string name;
  /// Absent if it goes without saying.
  std::optional<tune_sense> sense;
  /// `less`: it is at most this; `more`: at least. In seconds, if it is a
  /// duration. Absent if the number is only to be as good as possible.
  std::optional<double> bound;
};

/// How many numbers can be as good as possible at once.
inline constexpr std::size_t most_objectives = 2;
[[nodiscard]] std::string too_many_objectives(std::size_t n);

/// Reads `success>=99.9%`, `p99<=250ms` or `errors.timeout<=5`. Nothing if
/// something is wrong, which is a problem of `key` at `place`.
[[nodiscard]] std::optional<tune_goal>
read_tune_need(std::string_view text, const setting_path& key,
               std::string_view place, problems& out);

/// Reads `p99`, `max:service.db.utilization` or `min:service.db.workers`.
[[nodiscard]] std::optional<tune_goal>
read_tune_objective(std::string_view text, const setting_path& key,
                    std::string_view place, problems& out);

} // namespace caisson::sim
