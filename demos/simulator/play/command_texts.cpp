#include <simulator/play/command_texts.hpp>

#include <simulator/play/interruption.hpp>

#include <caisson/settings.hpp>
#include <caisson/settings/settings_text.hpp>
#include <caisson/settings/toml.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

namespace caisson::sim {

void choose_arms(scenario& s, const std::vector<std::string>& names,
                 const std::string& file) {
  std::vector<std::string_view> known;
  for (const auto& arm : s.arms)
    known.emplace_back(arm.name);
  problems found;
  for (const auto& name : names)
    if (std::ranges::find(known, name) == known.end())
      found.push_back({problem_kind::unknown, "--arm",
                       detail::not_one_of(detail::quoted(name), known), file});
  if (!found.empty())
    throw config_error{std::move(found)};
  if (!names.empty())
    std::erase_if(s.arms, [&](const arm_config& arm) {
      return std::ranges::find(names, arm.name) == names.end();
    });
}

settings read_scenario_settings(const std::string& file) {
  problems found;
  // Of a pipe, until somebody writes to it.
  ends_at_once now;
  auto root = read_toml_file(file, found);
  if (!found.empty()) {
    // With what else is wrong with it.
    if (!root.empty())
      (void)scenario_from(root, file, std::filesystem::path{file}.parent_path(),
                          found);
    throw config_error{std::move(found)};
  }
  return root;
}

void refuse_option(problem_kind kind, const std::string& option,
                   std::string message) {
  throw config_error{{{kind, setting_path{} / option, std::move(message), {}}}};
}

std::vector<std::string>
metric_names_in(const std::string& option,
                const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (std::string_view rest : texts)
    for (;;) {
      auto comma = rest.find(',');
      auto name = detail::trimmed(rest.substr(0, comma));
      if (name.empty())
        refuse_option(problem_kind::syntax, option, "a name is empty");
      out.push_back(full_metric_name(name));
      if (comma == rest.npos)
        break;
      rest.remove_prefix(comma + 1);
    }
  return out;
}

std::string quoted_for_shell(const std::string& word) {
  constexpr std::string_view plain
    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+:,=@";
  if (word.find_first_not_of(plain) == word.npos)
    return word;
  std::string out = "'";
  for (auto c : word)
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  return out + "'";
}

std::string text_of_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    return {};
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

} // namespace caisson::sim
