#include <simulator/import/scenario_names.hpp>

namespace caisson::sim {

std::string scenario_name(std::string_view text) {
  constexpr std::string_view plain
    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  std::string out;
  auto gap = false;
  for (auto c : text) {
    if (plain.find(c) == plain.npos) {
      gap = true;
      continue;
    }
    if (out.size() >= longest_scenario_name)
      break;
    if (gap && !out.empty() && out.back() != '-' && c != '-')
      out += '-';
    gap = false;
    out += c;
  }
  return out.empty() ? "unnamed" : out;
}

std::string scenario_names::take(std::string_view text) {
  auto name = scenario_name(text);
  if (taken_.insert(name).second)
    return name;
  auto& number = numbers_.try_emplace(name, 1).first->second;
  for (;;)
    if (auto next = name + "-" + std::to_string(++number);
        taken_.insert(next).second)
      return next;
}

} // namespace caisson::sim
