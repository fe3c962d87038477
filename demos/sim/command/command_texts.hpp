// What subcommands do with the scenario that they are given.
#pragma once

#include <sim/scenario/scenario.hpp>

#include <string>
#include <vector>

namespace caisson::sim {

/// Leaves only the arms with these names, in the order of the file; all if
/// there are no names. Throws `config_error` if there is no arm of a name.
void choose_arms(scenario& s, const std::vector<std::string>& names,
                 const std::string& file);

/// As a shell takes it for one word.
[[nodiscard]] std::string quoted_for_shell(const std::string& word);

/// What the file says; nothing of what can be read only once.
[[nodiscard]] std::string text_of_file(const std::string& path);

} // namespace caisson::sim
