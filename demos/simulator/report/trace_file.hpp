// A trace for a viewer.
#pragma once

#include <simulator/report/report.hpp>
#include <simulator/world/run_details.hpp>

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// Which time to trace. Without `from`: from 200 ms before the first fault of
/// any arm on, or from the end of the warm-up; without `to`: one second. `most`
/// is `trace_settings::most` of all arms together. Throws `config_error` if the
/// load is over by then, or nothing lies between them.
[[nodiscard]] trace_settings
trace_time(const std::vector<arm_config>& arms, std::optional<duration> from,
           std::optional<duration> to,
           std::size_t most = trace_settings{}.most);

/// Writes what was traced of the first seed, as one JSON object in the Trace
/// Event Format. The same report gives the same bytes.
/// docs/simulator-output.md describes it.
void write_trace(std::ostream& out, const report& r, std::string_view version);

/// Warnings for those who asked for more than a trace can hold: a line per arm
/// of which requests were left out.
[[nodiscard]] std::vector<std::string> trace_warnings(const report& r);

} // namespace caisson::sim
