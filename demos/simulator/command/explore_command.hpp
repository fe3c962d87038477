// `caisson explore`.
#pragma once

#include <simulator/explore/fault_menu.hpp>
#include <simulator/play/command_parts.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace caisson::sim {

/// What `caisson explore` is asked for.
struct explore_arguments {
  std::string file;
  /// All if empty.
  std::vector<std::string> arms;
  fault_bounds bounds;
  /// The file's if absent.
  std::optional<std::uint64_t> seed;
  /// Runs with random faults: 1 to 1000000.
  std::uint32_t runs = 100;
  /// Runs to make a finding smaller, at most: 0 to 10000.
  std::uint32_t shrink_runs = 200;
  /// It ends after so many: 1 to 100.
  std::uint32_t most_findings = 5;
  /// How many runs at a time; `command_parts::jobs` if absent.
  std::optional<std::uint32_t> jobs;
  /// Where scenarios of findings are written; a directory named after the file
  /// if empty.
  std::string directory;
  /// Path, `-` for standard output, empty for none.
  std::string json;
  bool recovery = false;
  /// The map of what is survived, instead of random faults.
  bool map = false;
  bool no_progress = false;
};

/// Where finding number `i`, from 1 on, is written.
[[nodiscard]] std::string finding_path(const explore_arguments& args,
                                       std::size_t i);

/// Looks for faults that break a rule or an expectation. Throws `config_error`
/// for bad input, before anything is run.
[[nodiscard]] status explore_command(const explore_arguments& args,
                                     std::ostream& out, std::ostream& err,
                                     const command_parts& parts);

} // namespace caisson::sim
