// Writes which faults a system survives.
#pragma once

#include <simulator/explore/survival.hpp>

#include <iosfwd>

namespace caisson::sim {

/// A table for each arm: places down, kinds across.
void write_survival(std::ostream& out, const explore_plan& p,
                    const survival_map& m);

void write_survival_json(std::ostream& out, const explore_plan& p,
                         const survival_map& m);

} // namespace caisson::sim
