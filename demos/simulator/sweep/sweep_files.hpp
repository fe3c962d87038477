// Writes the results of a sweep for programs.
#pragma once

#include <simulator/sweep/sweep_report.hpp>

#include <iosfwd>

namespace caisson::sim {

/// A row per run that was executed. Infinite numbers are `inf`, missing ones
/// empty.
void write_sweep_csv(std::ostream& out, const sweep_report& r);

/// All runs, and the summaries.
void write_sweep_json(std::ostream& out, const sweep_report& r);

} // namespace caisson::sim
