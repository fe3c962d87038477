// Faults as they are written, and as they are told.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <caisson/settings/setting.hpp>

#include <string>
#include <vector>

namespace caisson::sim {

/// An entry of `[[fault]]` that reads back to the same.
[[nodiscard]] setting fault_setting(const fault_config& f);

/// `db slow by a factor of 10, from 30s on for 5s`
[[nodiscard]] std::string told(const fault_config& f);

/// The same of what was added to the faults `own` of the file: `no further
/// fault; those of the file: db crashes, ...`. At most three of them are told.
[[nodiscard]] std::string told_beside(const std::vector<fault_config>& more,
                                      const std::vector<fault_config>& own);

/// All of them, separated by semicolons; `no fault`.
[[nodiscard]] std::string told(const std::vector<fault_config>& faults);

} // namespace caisson::sim
