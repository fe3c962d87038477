// Writes the results of `caisson tune` for people.
#pragma once

#include <simulator/report/wrapping.hpp>
#include <simulator/tune/tune_outcome.hpp>

#include <iosfwd>

namespace caisson::sim {

/// The best settings beside the present ones, what they do on the seeds that
/// they were chosen for and on others, how sure that is, what is traded, and
/// what to put into the scenario. In lines of at most `width`, as far as that
/// goes; what is to be copied is not broken.
void write_tune_text(std::ostream& out, const tune_outcome& x,
                     std::size_t width = any_width);

} // namespace caisson::sim
