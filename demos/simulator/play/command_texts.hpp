// Reads arms, metrics and files that options name, and refuses bad ones.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <string>
#include <vector>

namespace caisson::sim {

/// Leaves only the arms with these names, in the order of the file; all if
/// there are no names. Throws `config_error` if there is no arm of a name.
void choose_arms(scenario& s, const std::vector<std::string>& names,
                 const std::string& file);

/// The whole file as settings. Throws `config_error` with all that is wrong
/// with it, if it is no TOML.
[[nodiscard]] settings read_scenario_settings(const std::string& file);

/// Throws `config_error` with a problem of an option.
[[noreturn]] void refuse_option(problem_kind kind, const std::string& option,
                                std::string message);

/// Full names of metrics that are separated by commas. Throws `config_error` if
/// one is empty.
[[nodiscard]] std::vector<std::string>
metric_names_in(const std::string& option,
                const std::vector<std::string>& texts);

/// As a shell takes it for one word.
[[nodiscard]] std::string quoted_for_shell(const std::string& word);

/// What the file says; nothing of what can be read only once.
[[nodiscard]] std::string text_of_file(const std::string& path);

} // namespace caisson::sim
