// Gates as text.
#pragma once

#include <caisson/base/time.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <set>
#include <string>

namespace caisson::ctl {

/// A row for each gate.
[[nodiscard]] std::string list_view(const nlohmann::ordered_json& answer);

/// The gate, a row for each layer from the outside in with its numbers, and how
/// long things took. Numbers that are zero or not defined are left out; shares
/// are per cent, times have three digits, and states their names. Those that an
/// operator looks at first come first. What has changed since `before`, unless
/// that is null, stands behind a number, and of counters how much that is per
/// second, if `elapsed` is the time between the two. At most `columns` wide, as
/// far as names permit.
[[nodiscard]] std::string gate_view(const nlohmann::ordered_json& answer,
                                    const nlohmann::ordered_json& before,
                                    std::size_t columns,
                                    duration elapsed = duration::zero());

/// The mode and the state of that layer; of an empty name: of all.
[[nodiscard]] std::string states_view(const nlohmann::ordered_json& answer,
                                      const std::string& layer);

/// The settings of that layer; of an empty name: of all. Only those with these
/// keys, if there are any.
[[nodiscard]] std::string settings_view(const nlohmann::ordered_json& answer,
                                        const std::string& layer,
                                        const std::set<std::string>& keys = {});

/// What a reload has changed, or why it has not.
[[nodiscard]] std::string reload_view(const nlohmann::ordered_json& answer);

} // namespace caisson::ctl
