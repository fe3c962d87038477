#include <simulator/scenario/parse_helpers.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

namespace caisson::sim {

namespace {

// "load or service" has none that is easy to read.
bool has_plural(std::string_view what) {
  return what.find(" or ") == std::string_view::npos;
}

} // namespace

std::string with_article(std::string_view noun) {
  auto an = !noun.empty()
            && std::string_view{"aeiou"}.find(noun.front())
                 != std::string_view::npos;
  return fmt::format("{} {}", an ? "an" : "a", noun);
}

std::string no_such(std::string_view what, std::string_view name,
                    const std::vector<std::string>& known) {
  if (known.empty())
    return fmt::format("{} is not {}: none is defined", detail::quoted(name),
                       with_article(what));
  return fmt::format(
    "{} is not {}{} {}: {}", detail::quoted(name), with_article(what),
    detail::hint(detail::nearest(name, known)),
    has_plural(what) ? fmt::format("known {}s", what) : "known",
    detail::listed_names(known));
}

} // namespace caisson::sim
