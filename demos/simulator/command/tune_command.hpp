// `caisson tune`.
#pragma once

#include <simulator/command/result_files.hpp>
#include <simulator/explore/fault_menu.hpp>
#include <simulator/play/command_parts.hpp>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace caisson::sim {

/// What `caisson tune` is asked for. What is absent or empty is as in the table
/// `[tune]` of the file, or has its default.
struct tune_arguments {
  std::string file;
  std::string arm;
  /// `PATH=VALUES`; they replace those of the file with the same path.
  std::vector<std::string> vary;
  /// `success>=99.9%`
  std::vector<std::string> needs;
  /// `p99`, `min:service.db.workers`; one or two.
  std::vector<std::string> best;
  /// Further metrics to show, several of them separated by commas.
  std::vector<std::string> metrics;
  std::optional<std::uint32_t> budget;
  /// How long to search, instead of `budget`.
  std::optional<duration> time;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint32_t> seeds;
  std::optional<std::uint32_t> unseen;
  /// Random faults of each seed, within these bounds.
  std::uint32_t schedules = 0;
  fault_bounds bounds;
  std::optional<std::uint32_t> jobs;
  /// Where results are kept; beside the first output if empty.
  std::string state;
  result_paths outputs;
  bool quiet = false;
  bool no_progress = false;
};

/// Looks for the best settings of an arm. Throws `config_error` for bad input,
/// before anything is run.
[[nodiscard]] status tune_command(const tune_arguments& args, std::ostream& out,
                                  std::ostream& err,
                                  const command_parts& parts);

} // namespace caisson::sim
