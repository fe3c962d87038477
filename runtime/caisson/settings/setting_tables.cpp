#include <caisson/settings/setting_tables.hpp>

#include <utility>
#include <variant>

namespace caisson::detail {

const settings* table_in(const setting* x) {
  return x ? std::get_if<settings>(&x->value) : nullptr;
}

const std::string* text_in(const setting* x) {
  return x ? std::get_if<std::string>(&x->value) : nullptr;
}

const setting* find_in(const settings& table, std::string_view key) {
  auto i = table.find(key);
  return i != table.end() ? &i->second : nullptr;
}

std::vector<setting>* list_in(settings& table, std::string_view key) {
  auto i = table.find(key);
  return i != table.end() ? std::get_if<std::vector<setting>>(&i->second.value)
                          : nullptr;
}

std::optional<setting> take_from(settings& table, std::string_view key) {
  auto i = table.find(key);
  if (i == table.end())
    return std::nullopt;
  auto out = std::move(i->second);
  table.erase(i);
  return out;
}

void merge_tables(settings& base, const settings& more) {
  for (const auto& [key, value] : more) {
    auto [i, fresh] = base.try_emplace(key, value);
    if (fresh)
      continue;
    auto* inner = std::get_if<settings>(&i->second.value);
    if (auto* table = table_in(&value); table && inner)
      merge_tables(*inner, *table);
    else
      i->second = value;
  }
}

} // namespace caisson::detail
