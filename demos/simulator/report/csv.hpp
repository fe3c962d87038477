// Results as CSV, a line per row, of each seed and arm.
#pragma once

#include <simulator/report/report.hpp>

#include <iosfwd>
#include <string>
#include <string_view>

namespace caisson::sim {

/// Writes a header and the rows. Columns are those of all arms; a cell that an
/// arm has no number for is empty, and so are latencies where nothing was
/// answered. Durations are seconds. Quoted as in RFC 4180, lines end with LF.
void write_csv(std::ostream& out, const report& r);

/// The text as one field, in quotes where it needs them.
[[nodiscard]] std::string csv_field(std::string_view text);

} // namespace caisson::sim
