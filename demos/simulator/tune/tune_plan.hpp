// Plan of `caisson tune`: the settings that it varies, and its goals.
#pragma once

#include <simulator/explore/fault_menu.hpp>
#include <simulator/scenario/scenario.hpp>
#include <simulator/sweep/sweep_report.hpp>
#include <simulator/tune/tune_search.hpp>

#include <caisson/settings/setting.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace caisson::sim {

/// A number of each trial.
struct tune_column {
  /// Of a metric in full, or of a setting.
  std::string name;
  metric_unit unit = metric_unit::none;
  /// The setting whose value it is; otherwise it is a metric.
  std::optional<std::size_t> parameter = {};
};

/// One run of a candidate: a seed, and random faults if there are any. The
/// first `tune_plan::trials` choose the best; those after them test it.
struct tune_trial {
  std::uint64_t seed = 1;
  std::vector<fault_config> faults = {};
};

struct tune_plan {
  /// As it was given on the command line.
  std::string file;
  std::string title;
  /// The whole file, and where it is.
  settings root;
  std::filesystem::path base;
  /// The arm that is tuned, as it is in the file.
  arm_config arm;
  /// Whether the file names it.
  bool arm_is_named = false;
  /// Values that have an order ascend.
  std::vector<sweep_parameter> parameters;
  /// What they are in the file; nothing of what has its default there.
  std::vector<std::optional<sweep_value>> present;
  std::vector<tune_column> columns;
  tune_targets targets;
  /// The first seed; the others follow one by one, and then the unseen ones.
  std::uint64_t seed = 1;
  std::uint32_t seeds = 16;
  std::uint32_t unseen = 16;
  /// Random faults of each seed; 0: only those of the file.
  std::uint32_t schedules = 0;
  fault_bounds bounds;
  std::uint32_t budget = 500;
  /// How long to look for candidates; then `budget` is not what ends it.
  std::optional<duration> time;

  [[nodiscard]] std::size_t per_seed() const {
    return schedules == 0 ? 1 : schedules;
  }
  [[nodiscard]] std::size_t trials() const { return seeds * per_seed(); }
  [[nodiscard]] std::size_t unseen_trials() const {
    return unseen * per_seed();
  }
  /// All randomness that is not of a run.
  [[nodiscard]] draw_key key() const { return draw_key{seed}.with("tune"); }

  [[nodiscard]] tune_space space() const;
  /// The settings of the file, as a candidate.
  [[nodiscard]] tune_candidate present_candidate() const;

  /// The values of a candidate; null where the file has none.
  [[nodiscard]] std::vector<const sweep_value*>
  values_of(const tune_candidate& c) const;
  /// The text of a value: `default` if it is null.
  [[nodiscard]] static std::string text_of(const sweep_value* value);
  /// `workers=5 timeout=100ms`
  [[nodiscard]] std::string label(const tune_candidate& c) const;
  /// The file with the values of a candidate. Throws `config_error` if they
  /// exclude each other.
  [[nodiscard]] settings root_of(const tune_candidate& c) const;
  /// The arm in it. Throws `config_error` if it cannot have these values.
  [[nodiscard]] arm_config arm_of(const settings& changed) const;

  [[nodiscard]] tune_trial trial(std::size_t i) const;
};

/// The same fault of a world that has fewer replicas, or fewer servers, than
/// the one that it was drawn for.
[[nodiscard]] fault_config fitted(fault_config f, const arm_config& arm);

} // namespace caisson::sim
