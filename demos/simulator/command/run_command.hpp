// `caisson run`.
#pragma once

#include <simulator/play/command_parts.hpp>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace caisson::sim {

/// What `caisson run` is asked for.
struct run_arguments {
  std::string file;
  /// All if empty.
  std::vector<std::string> arms;
  /// The file's if absent.
  std::optional<std::uint64_t> seed;
  std::uint32_t seeds = 1;
  /// Seconds per row of the results; the file's, or a usual one, if absent.
  std::optional<std::uint32_t> step;
  /// How many arms are run at a time; `command_parts::jobs` if absent.
  std::optional<std::uint32_t> jobs;
  /// Paths, `-` for standard output, empty for none.
  std::string json;
  /// Whether the rows are left out of it.
  bool no_rows = false;
  std::string csv;
  std::string html;
  std::string log;
  std::string trace;
  std::string spans;
  /// Which time is traced; a usual one if absent.
  std::optional<duration> trace_from;
  std::optional<duration> trace_to;
  bool verify = false;
  bool quiet = false;
  bool brief = false;
  bool no_progress = false;
  bool no_speed = false;
  bool ascii = false;
};

/// Runs a scenario and shows what happens. Throws `config_error` for bad
/// input.
[[nodiscard]] status run_command(const run_arguments& args, std::ostream& out,
                                 std::ostream& err, const command_parts& parts);

} // namespace caisson::sim
