// Results as JSON, for programs.
#pragma once

#include <simulator/report/report.hpp>

#include <iosfwd>

namespace caisson::sim {

/// Writes everything but what differs between two runs of the same seed, so
/// that the same seeds give the same bytes. Durations are numbers of seconds;
/// what never happened is null.
void write_json(std::ostream& out, const report& r);

/// The same without `step` and `seconds` of the arms: without the rows.
void write_json_totals(std::ostream& out, const report& r);

} // namespace caisson::sim
