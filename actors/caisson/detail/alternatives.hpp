// The alternatives of a fallback, read from settings.
#pragma once

#include <caisson/fallback_layer.hpp>
#include <caisson/policy_kinds.hpp>

#include <vector>

namespace caisson::detail {

/// Reads the list under the key `alternatives`. Those that are actors are
/// looked up in the registry of the reader's system, now.
[[nodiscard]] std::vector<alternative> read_alternatives(layer_reader& from);

} // namespace caisson::detail
