// The supervision groups of a set of gates.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/caf/status.hpp>
#include <caisson/config/gate_file.hpp>
#include <caisson/gate/supervision_group.hpp>

#include <string>
#include <vector>

namespace caisson::detail {

/// Spawns the groups in `file` that `running` does not have.
[[nodiscard]] group_handles spawn_missing_groups(caf::actor_system& sys,
                                                 const gate_file& file,
                                                 const group_handles& running);

/// All settings, as a group takes them.
[[nodiscard]] reconfigure message_of(const supervision_group_config& c);

/// The names of the gates in `file`, so that those with workers of a lower rank
/// come first.
[[nodiscard]] std::vector<std::string> by_rank(const gate_file& file);

/// What differs between the settings that a group reports and those of its
/// file.
[[nodiscard]] std::string changes_of(const status& now,
                                     const supervision_group_config& next);

/// What a report says of a group.
[[nodiscard]] gate_change group_change(const std::string& group,
                                       const std::string& what);

} // namespace caisson::detail
