// Tables of the arms in a run of one seed, for a terminal.
#pragma once

#include <simulator/report/report.hpp>

#include <cstddef>
#include <iosfwd>
#include <vector>

namespace caisson::sim {

// All of them write lines of at most `width` characters, as far as that goes;
// `any_width` is no limit. What begins with an empty line writes nothing if
// there is nothing to say.

/// A table with a row for each arm.
void write_arms(std::ostream& out, const std::vector<arm_result>& arms,
                std::size_t width);

/// An empty line and a table with a row for each load, if there are several.
void write_loads(std::ostream& out, const std::vector<arm_result>& arms,
                 std::size_t width);

/// An empty line, and why each arm that is not healthy at the end is not. `r`
/// has a run.
void write_reasons(std::ostream& out, const report& r, std::size_t width);

/// An empty line and the titles of arms.
void write_titles(std::ostream& out, const report& r, std::size_t width);

/// An empty line, and what calls have met that found all connections in use.
void write_connections(std::ostream& out, const std::vector<arm_result>& arms,
                       std::size_t width);

/// An empty line, and how many of the calls between services in zones went to
/// another one.
void write_zones(std::ostream& out, const std::vector<arm_result>& arms,
                 std::size_t width);

} // namespace caisson::sim
