#include <caisson/settings/file_order.hpp>

#include <caisson/settings/settings_text.hpp>

#include <algorithm>
#include <tuple>

namespace caisson::detail {

namespace {

// Cuts `:number` off the end.
std::uint64_t take_number(std::string_view& text) {
  auto colon = text.rfind(':');
  std::uint64_t x = 0;
  if (colon == std::string_view::npos
      || read_number(text.substr(colon + 1), x) != read_result::good)
    return 0;
  text = text.substr(0, colon);
  return x;
}

} // namespace

file_position position_of(std::string_view place) {
  file_position at;
  at.column = take_number(place);
  at.line = take_number(place);
  return at;
}

// The place of a table is that of its header, which may come after that of a
// table within it.
file_position position_of(const setting& s) {
  if (s.stands != file_position{})
    return s.stands;
  auto first = position_of(s.place);
  auto table = std::get_if<settings>(&s.value);
  if (!table)
    return first;
  for (const auto& [key, value] : *table)
    if (auto at = position_of(value);
        at != file_position{} && (first == file_position{} || at < first))
      first = at;
  return first;
}

std::vector<std::pair<std::string_view, const setting*>>
in_file_order(const settings& table) {
  std::vector<std::tuple<bool, file_position, std::string_view>> order;
  for (const auto& [name, value] : table) {
    auto at = position_of(value);
    order.emplace_back(at == file_position{}, at, name);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::pair<std::string_view, const setting*>> out;
  out.reserve(order.size());
  for (const auto& [nowhere, at, name] : order)
    out.emplace_back(name, &table.find(name)->second);
  return out;
}

} // namespace caisson::detail
