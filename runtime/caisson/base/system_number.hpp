// Distinguishes actor systems, without including CAF: caf/system_number.cpp
// does.
#pragma once

#include <cstdint>

namespace caf {
class actor_system;
} // namespace caf

namespace caisson::detail {

/// A number that belongs to this system and to no other one of this process,
/// before or after it, even at the same address. Not 0. Safe to use from any
/// thread.
std::uint64_t number_of(caf::actor_system& sys);

} // namespace caisson::detail
