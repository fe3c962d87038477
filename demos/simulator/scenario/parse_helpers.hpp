// Errors about names, shared by readers of scenarios and of results.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

/// `a service`, `an operation`
[[nodiscard]] std::string with_article(std::string_view noun);

/// `"dv" is not a service, did you mean "db"? known services: web, db`
[[nodiscard]] std::string no_such(std::string_view what, std::string_view name,
                                  const std::vector<std::string>& known);

} // namespace caisson::sim
