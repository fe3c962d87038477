// The options of `caisson sweep`.
#pragma once

#include <simulator/command/sweep_command.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace caisson::sim {

/// The options as they were given.
struct sweep_texts {
  sweep_arguments args;
  std::string seed;
  std::string seeds;
  std::string jobs;
  std::vector<std::string> workers;
  std::string timeout;
  std::string wait;
};

/// Adds the subcommand; what is parsed goes to `texts`.
void add_sweep(CLI::App& app, sweep_texts& texts);

/// What the options mean. Throws `CLI::ValidationError`.
[[nodiscard]] sweep_arguments sweep_arguments_of(const sweep_texts& texts);

} // namespace caisson::sim
