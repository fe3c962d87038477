// Checks that the metrics that are asked for exist.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <map>
#include <string>
#include <vector>

namespace caisson::sim {

/// Looks for metrics that no world has. That one of them has it is fine: others
/// may lack its gate, or its replica.
class metric_check {
public:
  /// `option`: where they were asked for.
  metric_check(std::vector<std::string> names, std::string option)
    : missing_(std::move(names)), option_(std::move(option)) {}

  /// Looks for those that are missing yet. Throws `config_error` if the world
  /// cannot be built.
  void check_arm(const arm_config& arm);

  /// What was wrong with them where they were first looked for.
  [[nodiscard]] problems found() const;

private:
  bool has(arm_config arm, const std::string& name);

  std::vector<std::string> missing_;
  std::string option_;
  std::map<std::string, problem> first_;
};

} // namespace caisson::sim
