#include <simulator/scenario/parse_helpers.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

namespace caisson::sim {

std::string no_such(std::string_view what, std::string_view name,
                    const std::vector<std::string>& known) {
  if (known.empty())
    return fmt::format("{} is no {}, there are none", detail::quoted(name),
                       what);
  return fmt::format("{} is no {}{} known {}s: {}", detail::quoted(name), what,
                     detail::hint(detail::nearest(name, known)), what,
                     detail::listed_names(known));
}

} // namespace caisson::sim
