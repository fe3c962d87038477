// Faults as entries of a scenario, and as sentences for reports.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <caisson/settings/setting.hpp>

#include <string>
#include <vector>

namespace caisson::sim {

/// An entry of `[[fault]]` that reads back to the same.
[[nodiscard]] setting fault_setting(const fault_config& f);

/// `db slow by a factor of 10, from 30s on for 5s`
[[nodiscard]] std::string to_sentence(const fault_config& f);

/// The same of what was added to the faults `own` of the file: `no further
/// fault; those of the file: db crashes, ...`. At most three are listed.
[[nodiscard]] std::string
added_faults_sentence(const std::vector<fault_config>& more,
                      const std::vector<fault_config>& own);

/// All of them, separated by semicolons; `no fault`.
[[nodiscard]] std::string to_sentence(const std::vector<fault_config>& faults);

} // namespace caisson::sim
