// Plan of a sweep: each combination of values, with each arm and seed.
#pragma once

#include <simulator/scenario/scenario.hpp>
#include <simulator/scenario/sweep_config.hpp>

#include <caisson/settings/setting.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// How many combinations of values there may be, and how many runs.
inline constexpr std::size_t most_sweep_points = 10'000;
inline constexpr std::size_t most_sweep_runs = 200'000;

/// One run of a sweep.
struct sweep_run {
  std::size_t point = 0;
  std::size_t seed = 0;
  std::size_t arm = 0;
};

struct sweep_plan {
  /// As it was given on the command line.
  std::string file;
  std::string title;
  /// The whole file, and where it is.
  settings root;
  std::filesystem::path base;
  std::vector<sweep_parameter> parameters;
  /// Full names.
  std::vector<std::string> metrics;
  /// Names of those that are run.
  std::vector<std::string> arms;
  /// The first seed; the others follow one by one.
  std::uint64_t seed = 1;
  std::uint32_t seeds = 1;

  /// Combinations of values; the last parameter changes fastest.
  [[nodiscard]] std::size_t points() const;
  [[nodiscard]] std::size_t runs() const {
    return points() * seeds * arms.size();
  }
  /// Point by point, seed by seed, arm by arm.
  [[nodiscard]] sweep_run run_at(std::size_t i) const;
  [[nodiscard]] std::size_t index_of(const sweep_run& c) const {
    return (c.point * seeds + c.seed) * arms.size() + c.arm;
  }
  /// Which value each parameter has there.
  [[nodiscard]] std::vector<std::size_t> indexes(std::size_t point) const;
  [[nodiscard]] const sweep_value& value(std::size_t point,
                                         std::size_t parameter) const;
  /// `workers=5 rate=100`
  [[nodiscard]] std::string label(std::size_t point) const;

  /// The file with the values of a point, but for those that another excludes.
  [[nodiscard]] settings root_at(std::size_t point) const;
  /// Its arms, in the order of `arms`. Throws `config_error`.
  [[nodiscard]] std::vector<arm_config> arms_at(std::size_t point) const;
};

/// What a parameter is called where there is little room: the last part of its
/// path, or more of it if that would not be clear.
[[nodiscard]] std::vector<std::string>
short_names(const std::vector<sweep_parameter>& parameters);

} // namespace caisson::sim
