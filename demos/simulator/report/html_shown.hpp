// Columns that the page of a run shows, and its numbers of arms and loads.
#pragma once

#include <simulator/world/result.hpp>

#include <nlohmann/json.hpp>

namespace caisson::sim {

/// By where they stand on the page. docs/simulator-output.md describes them.
[[nodiscard]] nlohmann::ordered_json shown_columns();

/// The numbers on the card of an arm, by key, without those that there are not.
[[nodiscard]] nlohmann::ordered_json card_values(const arm_result& r);

/// The same of each of its loads.
[[nodiscard]] nlohmann::ordered_json load_card_values(const arm_result& r);

} // namespace caisson::sim
