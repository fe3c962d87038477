// Sample requests of a page.
#pragma once

#include <simulator/world/run_details.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>

namespace caisson::sim {

/// Which samples to keep for a page of so many arms that last so long, so that
/// all of them take a few megabytes at most.
[[nodiscard]] sample_settings samples_for(std::size_t arms, duration longest);

/// All times in microseconds.
[[nodiscard]] nlohmann::ordered_json sample_values(const run_details& details);

} // namespace caisson::sim
