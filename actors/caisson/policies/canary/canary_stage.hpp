// The stages of a canary, each with its share and with settings of its own.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/settings/field.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

/// What a stage of a canary may have of its own. What is not set is as in
/// `canary_config`, with the ranges that it has there.
struct canary_limits {
  /// See `canary_config::dwell`.
  std::optional<duration> dwell = {};
  /// See `canary_config::min_calls`.
  std::optional<std::int64_t> min_calls = {};
  /// See `canary_config::max_error_excess`.
  std::optional<double> max_error_excess = {};
  /// See `canary_config::max_latency_ratio`.
  std::optional<double> max_latency_ratio = {};
  /// See `canary_config::min_latency_excess`.
  std::optional<duration> min_latency_excess = {};
  /// See `canary_config::significance_level`.
  std::optional<double> significance_level = {};
  /// See `canary_config::max_p99`.
  std::optional<duration> max_p99 = {};
  /// See `canary_config::max_failures_in_a_row`.
  std::optional<std::int64_t> max_failures_in_a_row = {};
  /// See `canary_config::max_difference_rate`.
  std::optional<double> max_difference_rate = {};

  friend bool operator==(const canary_limits&, const canary_limits&) = default;
};

/// A stage: a share, or a share with limits of its own.
///
///     {.stages = {0.01, {0.3, {.dwell = 1h, .max_p99 = 800ms}}, 1.0}}
struct canary_stage {
  /// At most this many stages.
  static constexpr std::size_t most = 20;

  /// The share of the calls that the canary gets: 0.000001 to 1.
  double share = 1;

  /// The limits that differ from those of the canary.
  canary_limits own = {};

  canary_stage() = default;

  /// The share `part`, and the limits that differ. Implicit, so that a list of
  /// shares is a list of stages.
  // NOLINTNEXTLINE(google-explicit-constructor)
  canary_stage(double part, const canary_limits& limits = {})
    : share(part), own(limits) {}

  friend bool operator==(const canary_stage&, const canary_stage&) = default;
};

void describe(field_visitor& v, canary_stage& x);

/// A list of stages as a setting: shares, tables, or both. Text, as in
/// `reconfigure`, is `0.01, 0.3` or a list as in TOML.
class canary_stage_list final : public field_value {
public:
  /// Reads into `x` and lists it; `x` must outlive this.
  explicit canary_stage_list(std::vector<canary_stage>& x) : x_(x) {}

  [[nodiscard]] std::string type() const override { return "list"; }
  [[nodiscard]] std::string allowed() const override;
  [[nodiscard]] std::string text() const override;
  void read(const setting& from, const setting_path& path,
            problems& out) override;
  void check(const setting_path& path, problems& out) const override;

  /// Checks how many there are, and that their shares grow.
  void relate(const setting_path& path, problems& out) const override;

private:
  std::vector<canary_stage>& x_;
};

/// `stage_1` for number 0, and so on.
[[nodiscard]] std::string_view name_of_stage(std::size_t number) noexcept;

} // namespace caisson
