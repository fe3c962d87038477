#include <simulator/import/ordered_table.hpp>

#include <caisson/settings/file_order.hpp>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace caisson::sim {

namespace {

std::string place_on(std::size_t line) {
  return "import:" + std::to_string(line) + ":1";
}

void number_from(std::size_t& line, setting& s);

void number_from(std::size_t& line, settings& table) {
  std::vector<setting*> order;
  for (auto& [key, value] : table)
    order.push_back(&value);
  std::ranges::stable_sort(
    order, {}, [](const setting* s) { return detail::position_of(s->place); });
  for (auto* value : order)
    number_from(line, *value);
}

void number_from(std::size_t& line, setting& s) {
  s.place = place_on(++line);
  if (auto table = std::get_if<settings>(&s.value))
    number_from(line, *table);
  else if (auto list = std::get_if<std::vector<setting>>(&s.value))
    for (auto& item : *list)
      number_from(line, item);
}

} // namespace

ordered_table& ordered_table::add(std::string_view key, setting value) {
  value.place = place_on(++lines_);
  table_.insert_or_assign(std::string{key}, std::move(value));
  return *this;
}

ordered_table& ordered_table::add(std::string_view key, std::string_view text) {
  return add(key, setting{std::string{text}, {}});
}

settings ordered_table::take() {
  return std::move(table_);
}

void number_places(settings& root) {
  std::size_t line = 0;
  number_from(line, root);
}

} // namespace caisson::sim
