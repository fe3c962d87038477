// The options of `caisson explore`.
#pragma once

#include <simulator/command/cli_faults.hpp>
#include <simulator/command/explore_command.hpp>

#include <CLI/CLI.hpp>

#include <string>

namespace caisson::sim {

/// The options as they were given.
struct explore_texts {
  explore_arguments args;
  std::string seed;
  std::string runs;
  std::string jobs;
  fault_texts faults;
  std::string findings;
  std::string shrink;
};

/// Adds the subcommand; what is parsed goes to `texts`.
void add_explore(CLI::App& app, explore_texts& texts);

/// What the options mean. Throws `CLI::ValidationError`.
[[nodiscard]] explore_arguments
explore_arguments_of(const explore_texts& texts);

} // namespace caisson::sim
