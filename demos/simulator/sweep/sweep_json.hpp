// Values in the results of many runs.
#pragma once

#include <caisson/settings/setting.hpp>

#include <nlohmann/json.hpp>

namespace caisson::sim {

/// Null if it is infinite or not there.
[[nodiscard]] nlohmann::ordered_json number_value(double x);

/// The value of a setting; tables and lists as text.
[[nodiscard]] nlohmann::ordered_json setting_value(const setting& s);

} // namespace caisson::sim
