// Plan and result of `caisson explore`.
#pragma once

#include <simulator/explore/fault_menu.hpp>
#include <simulator/explore/shrinker.hpp>
#include <simulator/report/wrapping.hpp>
#include <simulator/scenario/scenario.hpp>
#include <simulator/world/result.hpp>

#include <caisson/settings/setting.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

struct explore_plan {
  /// As it was given on the command line.
  std::string file;
  std::string title;
  /// The whole file, and where it is.
  settings root;
  std::filesystem::path base;
  /// Where the files of what is found go.
  std::filesystem::path directory;
  std::vector<arm_config> arms;
  fault_bounds bounds;
  /// Run `i` has the seed `seed + i`. Run 0 has only the faults of the file.
  std::uint64_t seed = 1;
  std::uint32_t runs = 100;
  /// To make one finding smaller, at most.
  std::uint32_t shrink_runs = 200;
  /// It ends after so many findings.
  std::uint32_t most_findings = 5;
  /// Whether a run that does not recover is a finding.
  bool recovery = false;

  /// Runs of all arms.
  [[nodiscard]] std::size_t total_runs() const {
    return (std::size_t{runs} + 1) * arms.size();
  }
};

/// A rule of an arm that was broken.
struct finding {
  std::size_t arm = 0;
  std::uint64_t run = 0;
  std::uint64_t seed = 0;
  std::vector<fault_config> found;
  shrinker::result shrunk;
  /// With the shrunk faults.
  violation broken;
  /// What they break besides; no findings of their own.
  std::vector<violation> also;
  /// In how many of the completed runs of the arm.
  std::uint64_t times = 0;
  /// Of the run with the shrunk faults.
  std::uint64_t digest = 0;
  /// The scenario that repeats it, without a comment; whether it does, and its
  /// path.
  std::string scenario;
  bool repeats = false;
  std::string file;
};

struct exploration {
  std::vector<finding> findings;
  /// How many runs were executed to their end, and how many broke a rule.
  std::uint64_t played = 0;
  std::uint64_t broken = 0;
  bool interrupted = false;
};

/// The rule of `explore_plan::recovery`.
inline constexpr std::string_view recovery_rule = "recovery";

/// All that a run of `arm` has broken.
[[nodiscard]] std::vector<violation>
broken_rules(const arm_config& arm, const arm_result& r, bool recovery);

/// What was found, in a few lines each. Sentences are broken at `width`, and
/// not what is to be copied.
void write_exploration(std::ostream& out, const explore_plan& p,
                       const exploration& x, std::size_t width = any_width);

/// The scenario of a finding with a comment that says what it is.
[[nodiscard]] std::string found_file(const explore_plan& p, const finding& f);

/// Everything, for programs.
void write_exploration_json(std::ostream& out, const explore_plan& p,
                            const exploration& x);

} // namespace caisson::sim
