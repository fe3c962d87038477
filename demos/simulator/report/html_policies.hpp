// Lists the policies of each arm, and other differences between arms.
#pragma once

#include <simulator/report/report.hpp>

#include <nlohmann/json.hpp>

namespace caisson::sim {

/// `stacks`: by arm, the layers of each stack with those settings that are not
/// the default. `places`: groups of gates with the same stacks, in the order of
/// arms; empty where a gate has none. `differences`: other settings that are
/// not the same in all arms, as texts; null where an arm has no such thing.
[[nodiscard]] nlohmann::ordered_json policy_values(const report& r);

} // namespace caisson::sim
