// Writes which faults a system survives.
#pragma once

#include <simulator/explore/survival.hpp>
#include <simulator/report/wrapping.hpp>

#include <iosfwd>

namespace caisson::sim {

/// A table for each arm: places down, kinds across; in lines of at most
/// `width`, as far as that goes.
void write_survival(std::ostream& out, const explore_plan& p,
                    const survival_map& m, std::size_t width = any_width);

void write_survival_json(std::ostream& out, const explore_plan& p,
                         const survival_map& m);

} // namespace caisson::sim
