// Rows as columns, in coarser steps if there are many.
#pragma once

#include <simulator/report/report.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace caisson::sim {

/// Seconds per step, a multiple of those of a row: so many that all arms of
/// `run` have at most 800,000 numbers, and none more than a few thousand steps.
[[nodiscard]] std::uint32_t step_for(const seed_run& run);

/// The columns of an arm. A column is a list with a value per step, or a single
/// value if all are the same.
class html_columns {
public:
  /// `r` must outlive this. `step`: as of `step_for`.
  html_columns(const arm_result& r, std::uint32_t step)
    : r_(r), rows_per_step_(step / r.step) {}

  /// How many steps there are.
  [[nodiscard]] std::size_t rows() const noexcept {
    return (r_.rows.size() + rows_per_step_ - 1) / rows_per_step_;
  }

  /// Counts of requests are sums, latencies the largest of their rows, in
  /// microseconds, and null where nothing was answered.
  [[nodiscard]] nlohmann::ordered_json requests() const;

  /// The sums of a load of the arm.
  [[nodiscard]] nlohmann::ordered_json load(std::size_t i) const;

  /// Counts and times are sums, `queue_max` the largest; `queue` and
  /// `busy` are those at the end of the step.
  [[nodiscard]] nlohmann::ordered_json service(std::size_t i) const;

  /// The calls of a route of the plan; zeros if they were not recorded.
  [[nodiscard]] nlohmann::ordered_json edge(std::size_t i) const;

  /// The connections of an edge, by index among those that are limited. `used`
  /// and `waiting` are those at the end of the step.
  [[nodiscard]] nlohmann::ordered_json connections(std::size_t i) const;

  /// Pairs of a step and the state from then on, for a breaker that is closed
  /// at first. A step has the worst state of its seconds.
  [[nodiscard]] nlohmann::ordered_json breaker(std::size_t i) const;

private:
  template <class F>
  nlohmann::ordered_json column(F of_step) const;
  template <class F>
  nlohmann::ordered_json sums(F of_row) const;
  [[nodiscard]] nlohmann::ordered_json
  latencies(duration latency_summary::*d) const;
  template <const auto& Table, class Whole, class F>
  nlohmann::ordered_json table(const Whole& of, F record_in) const;

  const arm_result& r_;
  std::uint32_t rows_per_step_;
};

} // namespace caisson::sim
