// The supervision groups of a set of gates.
#pragma once

#include <caisson/caf.hpp>
#include <caisson/gate_file.hpp>
#include <caisson/messages.hpp>
#include <caisson/supervision_group.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::detail {

/// A group that runs, and what its file says of it.
struct kept_group {
  supervision_group_config config;
  supervision_group handle;
};

using kept_groups = std::map<std::string, kept_group, std::less<>>;

/// Spawns the groups in `file` that `running` does not have.
[[nodiscard]] kept_groups spawn_missing_groups(caf::actor_system& sys,
                                               const gate_file& file,
                                               const kept_groups& running);

[[nodiscard]] group_handles handles_of(const kept_groups& groups);

/// All settings, as a group takes them.
[[nodiscard]] reconfigure message_of(const supervision_group_config& c);

/// The names of the gates in `file`, so that those with workers of a lower rank
/// come first.
[[nodiscard]] std::vector<std::string> by_rank(const gate_file& file);

/// What a report says of a group.
[[nodiscard]] gate_change group_change(const std::string& group,
                                       const std::string& what);

} // namespace caisson::detail
