// Converts files with traces to the text of a scenario.
#pragma once

#include <simulator/import/fit.hpp>
#include <simulator/import/span.hpp>

#include <functional>
#include <string>
#include <vector>

namespace caisson::sim {

struct import_settings {
  /// As they were given, for the text.
  std::vector<std::string> files = {};
  times_kind times = times_kind::best;
  /// The share of the requests that have traces: more than 0, to 1.
  double sampling = 1;
};

struct import_result {
  /// Has at its top, as comments, what traces do not contain, and the notes.
  std::string toml;
  /// What was left out or guessed, a sentence each.
  std::vector<std::string> notes;
  /// `1,200 spans in 100 traces, 12 s: 4 services, 9 operations`
  std::string summary;
};

/// Makes a scenario of spans, whose memory it uses. `step` is called with the
/// share that is done. Throws `config_error` if the spans do not make one.
/// n log n in the spans.
[[nodiscard]] import_result
scenario_from_spans(span_set spans, const import_settings& how,
                    const std::function<void(double)>& step = {});

} // namespace caisson::sim
