// The options of `caisson import`.
#pragma once

#include <simulator/command/import_command.hpp>

#include <CLI/CLI.hpp>

#include <string>

namespace caisson::sim {

/// The options as they were given.
struct import_texts {
  import_arguments args;
  std::string format;
  std::string times;
  std::string sampling;
};

/// Adds the subcommand; what is parsed goes to `texts`.
void add_import(CLI::App& app, import_texts& texts);

/// What the options mean. Throws `CLI::ValidationError`.
[[nodiscard]] import_arguments import_arguments_of(const import_texts& texts);

} // namespace caisson::sim
