// `caisson import`.
#pragma once

#include <simulator/import/fit.hpp>
#include <simulator/import/span_reader.hpp>
#include <simulator/play/command_parts.hpp>

#include <iosfwd>
#include <string>
#include <vector>

namespace caisson::sim {

/// What `caisson import` is asked for.
struct import_arguments {
  std::vector<std::string> files;
  /// A path, `-` for standard output.
  std::string out = "-";
  span_format format = span_format::any;
  times_kind times = times_kind::best;
  /// The share of the requests that have traces.
  double sampling = 1;
  /// Of the files of `caisson run --spans` only this arm; empty: all that there
  /// is, which must be one.
  std::string arm = {};
  bool no_progress = false;
};

/// Makes a scenario of traces. Throws `config_error` for bad input.
[[nodiscard]] status import_command(const import_arguments& args,
                                    std::ostream& out, std::ostream& err,
                                    const command_parts& parts);

} // namespace caisson::sim
