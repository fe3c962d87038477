// Draws the arms over time with characters.
#pragma once

#include <simulator/report/report.hpp>
#include <simulator/report/wrapping.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace caisson::sim {

/// Lines without line breaks: one per fault, that marks when it holds, one per
/// arm, that shows which share of its load succeeds in time, and a time axis.
/// Of the first seed. Nothing for runs that are too short to be worth it. With
/// `ascii`, digits stand for tenths; otherwise blocks for eighths. Coarser if
/// it would be wider than `width`.
[[nodiscard]] std::vector<std::string> timeline(const report& r, bool ascii,
                                                std::size_t width = any_width);

} // namespace caisson::sim
