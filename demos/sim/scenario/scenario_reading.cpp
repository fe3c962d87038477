#include <sim/scenario/scenario_reading.hpp>

#include <caisson/settings_text.hpp>

#include <fmt/format.h>

#include <variant>

namespace caisson::sim {

const settings* world_reading::table(std::string_view key) {
  auto found = root.find(key);
  return found != root.end() ? std::get_if<settings>(&found->second.value)
                             : nullptr;
}

const std::vector<setting>* world_reading::list(std::string_view key) {
  auto found = root.find(key);
  return found != root.end()
           ? std::get_if<std::vector<setting>>(&found->second.value)
           : nullptr;
}

bool world_reading::detailed() const {
  return known_problems + out.size() < most_listed_problems;
}

std::string
world_reading::no_such(std::string_view what, std::string_view name,
                       const std::vector<std::string>& known) const {
  return detailed() ? sim::no_such(what, name, known)
                    : fmt::format("{} is no {}", detail::quoted(name), what);
}

void world_reading::use_stack(const section& from, const std::string& name) {
  auto found = from.table.find("stack");
  if (found != from.table.end() && !name.empty())
    stacks.push_back({name, joined(from.path, "stack"), found->second.place});
}

} // namespace caisson::sim
