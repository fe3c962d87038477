// Writes the results of a sweep for people.
#pragma once

#include <simulator/report/wrapping.hpp>
#include <simulator/sweep/sweep_report.hpp>

#include <cstddef>
#include <iosfwd>

namespace caisson::sim {

/// A line about what was swept, and a table: per point and arm the verdicts,
/// and the metrics; with several seeds their median, and in brackets the
/// smallest and largest.
void write_sweep_table(std::ostream& out, const sweep_report& r,
                       std::size_t width = any_width);

} // namespace caisson::sim
