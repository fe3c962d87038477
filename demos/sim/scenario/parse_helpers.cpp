#include <sim/scenario/parse_helpers.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace caisson::sim {

namespace {

constexpr bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
         || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// Cuts `:number` off the end.
std::uint64_t take_number(std::string_view& text) {
  auto colon = text.rfind(':');
  std::uint64_t x = 0;
  if (colon == std::string_view::npos
      || detail::read_number(text.substr(colon + 1), x)
           != detail::reading::good)
    return 0;
  text = text.substr(0, colon);
  return x;
}

// Where the first value begins that belongs to `s`. The place of a table is
// that of its header, which may come after that of a table within it.
file_position first_position(const setting& s) {
  auto first = position_of(s.place);
  if (auto table = std::get_if<settings>(&s.value))
    for (const auto& [key, value] : *table)
      first = std::min(first, first_position(value));
  return first;
}

} // namespace

const std::vector<setting>* list_in(const setting& s, const std::string& path,
                                    std::string_view what, problems& out) {
  auto list = std::get_if<std::vector<setting>>(&s.value);
  if (!list)
    out.push_back({s.place, path,
                   fmt::format("{} is not a list, allowed: a list of {}",
                               to_text(s), what)});
  return list;
}

std::optional<std::string_view> text_in(const setting& s) {
  if (auto text = std::get_if<std::string>(&s.value))
    return *text;
  if (auto raw = std::get_if<setting::raw>(&s.value))
    return detail::trimmed(raw->text);
  return std::nullopt;
}

void require(const section& at, std::string_view key, std::string_view allowed,
             problems& out) {
  if (at.table.contains(key))
    return;
  auto hint = fmt::format("unknown key, did you mean \"{}\"?", key);
  auto inside = at.path.empty() ? std::string{} : at.path + ".";
  // Those of one table come one after another.
  for (auto p = out.rbegin(); p != out.rend() && p->key.starts_with(inside);
       ++p)
    if (p->message.starts_with(hint))
      return;
  out.push_back({std::string{at.place}, joined(at.path, key),
                 fmt::format("is missing, allowed: {}", allowed)});
}

void check_name(std::string_view name, std::string_view place,
                const std::string& path, problems& out) {
  if (name.empty() || !std::all_of(name.begin(), name.end(), in_name))
    out.push_back({std::string{place}, path,
                   detail::quoted(name)
                     + " is not a name, allowed: letters, digits, \"_\" and "
                       "\"-\""});
}

std::string no_such(std::string_view what, std::string_view name,
                    const std::vector<std::string>& known) {
  if (known.empty())
    return fmt::format("{} is no {}, there are none", detail::quoted(name),
                       what);
  return fmt::format("{} is no {}{} known {}s: {}", detail::quoted(name), what,
                     detail::hint(name, known), what,
                     detail::listed_names(known));
}

file_position position_of(std::string_view place) {
  file_position at;
  at.column = take_number(place);
  at.line = take_number(place);
  return at;
}

std::vector<std::pair<std::string_view, const setting*>>
in_file_order(const settings& table) {
  std::vector<std::pair<file_position, std::string_view>> order;
  for (const auto& [name, value] : table)
    order.emplace_back(first_position(value), name);
  std::sort(order.begin(), order.end());
  std::vector<std::pair<std::string_view, const setting*>> out;
  for (const auto& [at, name] : order)
    out.emplace_back(name, &table.find(name)->second);
  return out;
}

} // namespace caisson::sim
