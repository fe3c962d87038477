// One number for all that the result of a run depends on, but the seed.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <caisson/settings/setting.hpp>

#include <cstdint>
#include <string_view>

namespace caisson::sim {

/// `root` is the whole file, of which `arm` is one of the arms. `version` is
/// that of the command.
[[nodiscard]] std::uint64_t world_hash(const settings& root,
                                       const arm_config& arm,
                                       std::string_view version);

} // namespace caisson::sim
