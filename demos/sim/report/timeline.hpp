// How the arms fare over time, drawn with characters.
#pragma once

#include <sim/report/report.hpp>

#include <string>
#include <vector>

namespace caisson::sim {

/// Lines without line breaks: one per fault, that marks when it holds, one per
/// arm, that shows which share of its load is answered well, and a time axis.
/// Of the first seed. Nothing for runs that are too short to be worth it. With
/// `ascii`, digits stand for tenths; otherwise blocks for eighths.
[[nodiscard]] std::vector<std::string> timeline(const report& r, bool ascii);

} // namespace caisson::sim
