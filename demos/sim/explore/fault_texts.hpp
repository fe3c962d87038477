// Faults as they are written, and as they are told.
#pragma once

#include <sim/scenario/scenario.hpp>

#include <caisson/setting.hpp>

#include <string>
#include <vector>

namespace caisson::sim {

/// An entry of `[[fault]]` that reads back to the same.
[[nodiscard]] setting fault_setting(const fault_config& f);

/// `db slow by a factor of 10, from 30s on for 5s`
[[nodiscard]] std::string told(const fault_config& f);

/// All of them, separated by semicolons; `no fault`.
[[nodiscard]] std::string told(const std::vector<fault_config>& faults);

} // namespace caisson::sim
