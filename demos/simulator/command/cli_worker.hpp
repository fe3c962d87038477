// The options of `caisson worker`.
#pragma once

#include <simulator/command/worker_command.hpp>

#include <CLI/CLI.hpp>

#include <string>

namespace caisson::sim {

/// The options as they were given.
struct worker_texts {
  worker_arguments args;
  std::string listen = "127.0.0.1:0";
  std::string jobs;
};

/// Adds the subcommand; what is parsed goes to `texts`.
void add_worker(CLI::App& app, worker_texts& texts);

/// What the options mean. Throws `CLI::ValidationError`.
[[nodiscard]] worker_arguments worker_arguments_of(const worker_texts& texts);

} // namespace caisson::sim
