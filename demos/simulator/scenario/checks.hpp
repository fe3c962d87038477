// Checks that concern a scenario as a whole.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <caisson/settings/settings.hpp>

namespace caisson::sim {

/// Reports what can only be known of a world as a whole: names that there are
/// not, circles of calls, times after the end.
void check(const arm_config& c, const setting_path& path, problems& out);

} // namespace caisson::sim
