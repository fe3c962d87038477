// Results for people, on a terminal.
#pragma once

#include <simulator/report/report.hpp>
#include <simulator/report/wrapping.hpp>

#include <cstddef>
#include <iosfwd>
#include <string>

namespace caisson::sim {

/// `recovered after 12 s, at 43 s`, `degraded`, `stuck`, or how far the arm got
/// when it was interrupted.
[[nodiscard]] std::string verdict_text(const arm_result& r);

/// A head line, a table with a row per arm, over time, what was checked, and
/// the digests of the event logs. With several seeds: the share of runs per
/// verdict instead of the single ones. `brief`: without what was checked and
/// the digests. Lines are at most `width` long, as far as that goes.
void write_text(std::ostream& out, const report& r, bool ascii,
                std::size_t width = any_width, bool brief = false);

/// A line with the verdict of each arm, and with several seeds of each seed.
void write_verdicts(std::ostream& out, const report& r);

/// What failed, a line each.
void write_failures(std::ostream& out, const report& r);

/// What of it all an interrupted run has done. Nothing for others.
void write_interruption(std::ostream& out, const report& r);

} // namespace caisson::sim
