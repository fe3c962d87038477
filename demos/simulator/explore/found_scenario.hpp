// A scenario of its own for what was found.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <caisson/settings/setting.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace caisson::sim {

/// The world of one arm of the file `root`, with `faults` after those that it
/// has, and with `seed`, as a TOML document. Load recordings, which `root`
/// names relative to `base`, are named relative to `directory`, where the
/// document is to be. With `recovery`, it is expected to recover.
[[nodiscard]] std::string
found_scenario(const settings& root, const std::filesystem::path& base,
               const arm_config& arm, const std::vector<fault_config>& faults,
               std::uint64_t seed, const std::filesystem::path& directory,
               bool recovery = false);

} // namespace caisson::sim
