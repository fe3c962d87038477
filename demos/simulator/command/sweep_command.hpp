// `caisson sweep`.
#pragma once

#include <simulator/play/command_parts.hpp>
#include <simulator/remote/remote_workers.hpp>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace caisson::sim {

/// What `caisson sweep` is asked for.
struct sweep_arguments {
  std::string file;
  /// `PATH=VALUES`; they replace those of the file with the same path.
  std::vector<std::string> sets;
  /// Names, several of them separated by commas; the file's if empty.
  std::vector<std::string> metrics;
  /// All if empty.
  std::vector<std::string> arms;
  /// The file's if absent.
  std::optional<std::uint64_t> seed;
  std::optional<std::uint32_t> seeds;
  /// How many runs at a time; `command_parts::jobs` if absent.
  std::optional<std::uint32_t> jobs;
  /// Where results are kept; beside the first output if empty.
  std::string state;
  /// Paths, `-` for standard output, empty for none.
  std::string json;
  std::string csv;
  std::string html;
  bool quiet = false;
  bool no_progress = false;
  /// Workers on other machines; with some of them, `jobs` may be 0.
  remote_options remote_workers = {};
};

/// Runs a scenario with all combinations of some settings. Throws
/// `config_error` for bad input, before anything is run.
[[nodiscard]] status sweep_command(const sweep_arguments& args,
                                   std::ostream& out, std::ostream& err,
                                   const command_parts& parts);

} // namespace caisson::sim
