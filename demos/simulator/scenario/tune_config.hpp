// Settings of a tuning: ranges, needs and objectives.
#pragma once

#include <simulator/scenario/sweep_config.hpp>
#include <simulator/scenario/tune_goal.hpp>

#include <caisson/settings/problem.hpp>
#include <caisson/settings/section.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace caisson::sim {

/// Limits of what can be asked for.
inline constexpr std::int64_t most_tune_seeds = 1000;
inline constexpr std::int64_t most_tune_runs = 200'000;

struct tune_config {
  std::optional<std::string> arm;
  /// In the order of the file.
  std::vector<sweep_parameter> parameters;
  std::vector<tune_goal> needs;
  std::vector<tune_goal> objectives;
  /// Full names.
  std::vector<std::string> metrics;
  std::optional<std::uint32_t> budget;
  std::optional<std::uint32_t> seeds;
  std::optional<std::uint32_t> unseen;
};

/// Reads the table `[tune]` of a scenario:
///
///     [tune]
///     arm = "guarded"
///     need = ["success>=99.9%"]
///     best = ["p99"]
///     [tune.vary]
///     "service.db.workers" = "5..20"
///     "service.db.order" = ["fifo", "lifo"]
///
/// `root` is the whole file. `arm`, if not empty, is tuned instead of the one
/// that the table names.
[[nodiscard]] tune_config read_tune(const section& from, const settings& root,
                                    const std::string& arm, problems& out);

/// The names of the arms of a file; none if it has none.
[[nodiscard]] std::vector<std::string> arm_names(const settings& root);

/// How settings of this arm are read; it may be empty.
[[nodiscard]] parameter_reading tune_reading(const std::string& arm);

} // namespace caisson::sim
