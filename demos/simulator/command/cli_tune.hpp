// The options of `caisson tune`.
#pragma once

#include <simulator/command/cli_faults.hpp>
#include <simulator/command/tune_command.hpp>

#include <CLI/CLI.hpp>

#include <string>

namespace caisson::sim {

/// The options as they were given.
struct tune_texts {
  tune_arguments args;
  std::string seed;
  std::string seeds;
  std::string unseen;
  std::string budget;
  std::string time;
  std::string jobs;
  std::string schedules;
  fault_texts faults;
};

/// Adds the subcommand; what is parsed goes to `texts`.
void add_tune(CLI::App& app, tune_texts& texts);

/// What the options mean. Throws `CLI::ValidationError`.
[[nodiscard]] tune_arguments tune_arguments_of(const tune_texts& texts);

} // namespace caisson::sim
