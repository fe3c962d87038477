// Draws faults for a run of an exploration.
#pragma once

#include <simulator/explore/fault_menu.hpp>

#include <cstdint>
#include <vector>

namespace caisson::sim {

/// One to `menu.bounds.most` faults, drawn from `key`; all of them are right
/// for the arm of the menu.
[[nodiscard]] std::vector<fault_config> drawn_faults(const fault_menu& menu,
                                                     std::uint64_t key);

} // namespace caisson::sim
