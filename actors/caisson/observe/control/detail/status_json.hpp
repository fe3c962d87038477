// Converts the status of gates to JSON.
#pragma once

#include <caisson/caf/messages.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace caisson::detail {

/// Keeps the order of its members.
using json = nlohmann::ordered_json;

/// Everything; docs/control.md lists the members.
[[nodiscard]] json json_of(const status& x);

/// What stands in a list of gates: without settings, counters of layers, and
/// durations.
[[nodiscard]] json summary_of(const status& x);

[[nodiscard]] json json_of(const reload_report& x);

/// As text in UTF-8, whatever the names contain.
[[nodiscard]] std::string text_of(const json& x);

} // namespace caisson::detail
