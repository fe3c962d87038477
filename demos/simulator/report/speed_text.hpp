// Formats the speed of the simulator for people.
#pragma once

#include <simulator/report/report.hpp>

#include <cstdint>
#include <iosfwd>

namespace caisson::sim {

/// How fast it went, which differs from run to run. `peak_memory` is in bytes.
void write_speed(std::ostream& out, const report& r, std::uint64_t peak_memory);

} // namespace caisson::sim
