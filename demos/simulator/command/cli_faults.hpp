// The options of random faults.
#pragma once

#include <simulator/explore/fault_menu.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace caisson::sim {

/// The options as they were given.
struct fault_texts {
  std::string most;
  std::vector<std::string> kinds;
  std::vector<std::string> targets;
  std::string from;
  std::string to;
  std::string longest;
  std::string factor;
  std::string rate;
  std::string delay;

  /// Whether one was given.
  [[nodiscard]] bool any() const;
};

/// Adds `--faults`, `--kind` and so on.
void add_fault_bounds(CLI::App& to, fault_texts& texts);

/// What the options mean. Throws `CLI::ValidationError`.
[[nodiscard]] fault_bounds fault_bounds_of(const fault_texts& texts);

} // namespace caisson::sim
