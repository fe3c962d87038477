// Writes the results of `caisson tune` for programs.
#pragma once

#include <simulator/tune/tune_outcome.hpp>

#include <iosfwd>

namespace caisson::sim {

/// Everything, for programs.
void write_tune_json(std::ostream& out, const tune_outcome& x);

/// A row per candidate that was evaluated: its settings, how many trials it
/// had, the means, and what it is.
void write_tune_csv(std::ostream& out, const tune_outcome& x);

} // namespace caisson::sim
