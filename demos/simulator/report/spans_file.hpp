// Traced requests as spans of OpenTelemetry.
#pragma once

#include <simulator/report/report.hpp>

#include <cstddef>
#include <iosfwd>
#include <string_view>

namespace caisson::sim {

/// How much `trace_settings::most` allows where only spans are written, which
/// no viewer has to show.
inline constexpr std::size_t most_in_spans = 2'000'000;

/// Writes what was traced of the first seed in OTLP's JSON form, as one
/// document. The same report gives the same bytes. docs/simulator-output.md
/// describes it.
void write_spans(std::ostream& out, const report& r, std::string_view version);

} // namespace caisson::sim
