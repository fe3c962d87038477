// The settings that were found, for the scenario.
#pragma once

#include <simulator/tune/tune_plan.hpp>

#include <string>
#include <vector>

namespace caisson::sim {

struct tune_overlay {
  /// Arms to add to the scenario: one that is like the tuned one but for the
  /// settings, and one without a change if the file has no arm. Empty if an arm
  /// cannot say it all.
  std::string arms;
  /// The `arm` that the file's `[tune]` needs then, as it names none; or empty.
  std::string tune_arm;
  /// What has to be changed in the file otherwise: `PATH = VALUE` each.
  std::vector<std::string> lines;
};

[[nodiscard]] tune_overlay overlay_of(const tune_plan& p,
                                      const tune_candidate& c);

} // namespace caisson::sim
