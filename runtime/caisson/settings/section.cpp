#include <caisson/settings/section.hpp>

#include <utility>
#include <variant>
#include <vector>

namespace caisson {

namespace {

// The value that one part of a path leads to; null if there is none.
const setting* step(const settings* table, const std::vector<setting>* list,
                    const setting_path::part& part) {
  if (auto key = std::get_if<std::string>(&part)) {
    auto found = table ? table->find(*key) : settings::const_iterator{};
    return table && found != table->end() ? &found->second : nullptr;
  }
  auto index = std::get<std::size_t>(part);
  return list && index < list->size() ? &(*list)[index] : nullptr;
}

} // namespace

setting_path as_written(const settings& table, const setting_path& path) {
  setting_path out;
  const settings* inner = &table;
  const std::vector<setting>* list = nullptr;
  auto known = true;
  for (const auto& part : path.parts()) {
    auto key = std::get_if<std::string>(&part);
    if (known && (key ? !inner : !list))
      continue;
    auto value = known ? step(inner, list, part) : nullptr;
    known = value;
    inner = value ? std::get_if<settings>(&value->value) : nullptr;
    list = value ? std::get_if<std::vector<setting>>(&value->value) : nullptr;
    out = key ? std::move(out) / *key
              : std::move(out) / std::get<std::size_t>(part);
  }
  return out;
}

std::string_view place_of(const settings& table, const setting_path& path) {
  std::string_view place;
  const settings* inner = &table;
  const std::vector<setting>* list = nullptr;
  for (const auto& part : path.parts()) {
    auto value = step(inner, list, part);
    if (!value)
      break;
    place = value->place;
    inner = std::get_if<settings>(&value->value);
    list = std::get_if<std::vector<setting>>(&value->value);
  }
  return place;
}

std::string_view place_in(const section& at, std::string_view key) {
  auto found = at.table.find(key);
  return found != at.table.end() ? std::string_view{found->second.place}
                                 : at.place;
}

} // namespace caisson
