// Actors in settings, such as the alternatives of a fallback.
#pragma once

#include <caisson/stack/layers/fallback_layer.hpp>
#include <caisson/stack/policy_kinds.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace caisson::detail {

/// The actor registered as `name` with `sys`; none, and a problem under `key`,
/// if there is none.
[[nodiscard]] caf::actor
find_actor(const std::string& name, caf::actor_system* sys,
           const setting_path& key, std::string_view place, problems& out);

/// Reads the list under the key `alternatives`. Those that are actors are
/// looked up in the registry of the reader's system, now.
[[nodiscard]] std::vector<alternative> read_alternatives(layer_reader& from);

} // namespace caisson::detail
