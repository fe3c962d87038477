// All that one `caisson run` has executed, for those that print it.
#pragma once

#include <simulator/report/shown_numbers.hpp>
#include <simulator/results/verdict_kind.hpp>
#include <simulator/scenario/scenario.hpp>
#include <simulator/world/result.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// The arms that were run with one seed, in the order of the file.
struct seed_run {
  std::uint64_t seed = 0;
  std::vector<arm_result> arms;
};

/// What running one arm took, over all seeds.
struct arm_speed {
  double wall_seconds = 0;
  double simulated_seconds = 0;
  /// Those of the warm-up, too.
  std::uint64_t requests = 0;
  std::uint64_t messages = 0;

  void add(const arm_result& r);
};

struct report {
  std::string title;
  /// As it was given on the command line.
  std::string file;
  /// The first seed; the others follow one by one.
  std::uint64_t seed = 1;
  std::uint32_t seeds = 1;
  /// Seconds per row; `one_row` if there are none to be seen.
  std::uint32_t step = 1;
  /// The arms that were asked for. An interrupted run has results of fewer.
  std::vector<arm_config> arms;
  std::vector<seed_run> runs;
  /// In the order of `arms`.
  std::vector<arm_speed> speeds;
  bool interrupted = false;
  /// Expectations and checks that failed, one line each.
  std::vector<std::string> failures;
};

/// Smallest, middle and largest of some numbers. The middle of an even number
/// of them is the mean of two. All NaN if there are none.
struct spread {
  double min = std::numeric_limits<double>::quiet_NaN();
  double median = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
};

[[nodiscard]] spread spread_of(std::vector<double> xs);

/// A number over all seeds.
struct column_spread {
  shown_column column;
  spread values;
};

/// One arm over all seeds. Interrupted runs are left out.
struct arm_summary {
  std::string name;
  std::uint64_t runs = 0;
  /// By `verdict_kind`.
  std::array<std::uint64_t, all_verdicts.size()> verdicts = {};
  /// Runs with at least one relapse, whatever their verdict.
  std::uint64_t relapsed = 0;
  /// By the columns that are for all seeds, in their order. Runs without such a
  /// number are left out.
  std::vector<column_spread> numbers;

  [[nodiscard]] std::uint64_t count(verdict_kind v) const {
    return verdicts[static_cast<std::size_t>(v)];
  }
};

/// In the order of `report::arms`.
[[nodiscard]] std::vector<arm_summary> summaries(const report& r);

/// All results of the arm with this name, one per seed that got to it.
[[nodiscard]] std::vector<const arm_result*> results_of(const report& r,
                                                        std::string_view arm);

} // namespace caisson::sim
