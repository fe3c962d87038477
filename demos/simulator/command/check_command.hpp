// `caisson check`.
#pragma once

#include <simulator/play/command_parts.hpp>

#include <iosfwd>
#include <string>
#include <vector>

namespace caisson::sim {

/// Looks at all files, whatever is wrong with one.
[[nodiscard]] status check_command(const std::vector<std::string>& files,
                                   std::ostream& out, std::ostream& err,
                                   const command_parts& parts);

/// Loads a scenario and looks at what it expects, too. Throws `config_error`.
[[nodiscard]] scenario load_checked(const std::string& file,
                                    const command_parts& parts);

} // namespace caisson::sim
