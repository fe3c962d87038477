// Builds a scenario from traces.
#pragma once

#include <simulator/import/span.hpp>
#include <simulator/import/traffic_model.hpp>

#include <caisson/settings/setting.hpp>

#include <string>
#include <vector>

namespace caisson::sim {

/// The settings of a scenario, and what must be said of them.
struct imported_scenario {
  settings root;
  /// What could not be expressed or had to be changed, a sentence each.
  std::vector<std::string> notes;
  /// What is called otherwise than in the traces, a line each.
  std::vector<std::string> names;
};

/// `sampling`: the share of the requests that have traces, more than 0, to 1.
/// Throws `config_error` if there is no request from outside.
[[nodiscard]] imported_scenario
scenario_of(const traffic_model& m, const name_pool& names, double sampling);

} // namespace caisson::sim
