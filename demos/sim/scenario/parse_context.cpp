#include <sim/scenario/parse_context.hpp>

#include <caisson/settings_text.hpp>

#include <fmt/format.h>

#include <variant>

namespace caisson::sim {

const settings* parse_context::table(std::string_view key) {
  auto found = root.find(key);
  return found != root.end() ? std::get_if<settings>(&found->second.value)
                             : nullptr;
}

const std::vector<setting>* parse_context::list(std::string_view key) {
  auto found = root.find(key);
  return found != root.end()
           ? std::get_if<std::vector<setting>>(&found->second.value)
           : nullptr;
}

bool parse_context::detailed() const {
  return known_problems + out.size() < most_listed_problems;
}

std::string
parse_context::no_such(std::string_view what, std::string_view name,
                       const std::vector<std::string>& known) const {
  return detailed() ? sim::no_such(what, name, known)
                    : fmt::format("{} is no {}", detail::quoted(name), what);
}

void parse_context::use_stack(const section& from, const std::string& name) {
  auto found = from.table.find("stack");
  if (found != from.table.end() && !name.empty())
    stacks.push_back({name, joined(from.path, "stack"), found->second.place});
}

} // namespace caisson::sim
