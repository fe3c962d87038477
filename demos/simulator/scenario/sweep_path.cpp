#include <simulator/scenario/sweep_path.hpp>

#include <simulator/scenario/overlay.hpp>

#include <caisson/settings/file_order.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {

namespace {

// -- parsing ------------------------------------------------------------------

class path_parser {
public:
  explicit path_parser(std::string_view text) : rest_(text) {}

  std::optional<setting_path> parse() {
    if (!key())
      return std::nullopt;
    while (!rest_.empty())
      if (take('.') ? !key() : !take('[') || !index())
        return std::nullopt;
    return std::move(path_);
  }

private:
  bool take(char c) {
    auto found = rest_.starts_with(c);
    rest_.remove_prefix(found);
    return found;
  }

  bool key() {
    auto quoted = take('"');
    auto end = quoted ? rest_.find('"') : rest_.find_first_of(".[\"]");
    if (quoted && end == rest_.npos)
      return false;
    auto name = rest_.substr(0, end);
    rest_.remove_prefix(name.size() + quoted);
    path_ = std::move(path_) / name;
    return !name.empty();
  }

  bool index() {
    auto end = rest_.find(']');
    std::size_t i = 0;
    if (end == rest_.npos
        || detail::read_number(rest_.substr(0, end), i)
             != detail::read_result::good)
      return false;
    rest_.remove_prefix(end + 1);
    path_ = std::move(path_) / i;
    return true;
  }

  std::string_view rest_;
  setting_path path_;
};

// -- walking ------------------------------------------------------------------

// What a part of a path leads to from `s`; null if nothing.
const setting* child_of(const setting* s, const setting_path::part& part) {
  if (!s)
    return nullptr;
  if (auto index = std::get_if<std::size_t>(&part)) {
    auto list = std::get_if<std::vector<setting>>(&s->value);
    return list && *index < list->size() ? &(*list)[*index] : nullptr;
  }
  auto table = std::get_if<settings>(&s->value);
  if (!table)
    return nullptr;
  auto found = table->find(std::get<std::string>(part));
  return found == table->end() ? nullptr : &found->second;
}

// The same in the world around an arm. Edges and faults of an arm are its own.
const setting* child_around(const setting* s, const setting_path::part& part) {
  return std::holds_alternative<std::size_t>(part) ? nullptr
                                                   : child_of(s, part);
}

bool is_in_arm(const setting_path& path) {
  const auto& parts = path.parts();
  auto first = parts.empty() ? nullptr : std::get_if<std::string>(&parts[0]);
  return first && *first == "arm" && parts.size() > 2;
}

// Whether part `i` is a key of a load or service, such as
// `service.db.order`.
bool is_of_part(const setting_path& path, std::size_t i) {
  return i == (is_in_arm(path) ? 4u : 2u)
         && std::ranges::all_of(path.parts(), [](const auto& x) {
              return std::holds_alternative<std::string>(x);
            });
}

void add_names(const setting* s, std::vector<std::string>& out) {
  auto table = s ? std::get_if<settings>(&s->value) : nullptr;
  if (!table)
    return;
  for (const auto& [name, value] : *table)
    if (std::find(out.begin(), out.end(), name) == out.end())
      out.push_back(name);
}

std::string missing_path_text(const setting* s, const setting* around,
                              const setting_path::part& part) {
  if (auto index = std::get_if<std::size_t>(&part)) {
    auto list = s ? std::get_if<std::vector<setting>>(&s->value) : nullptr;
    if (!list || list->empty())
      return fmt::format("no list has an item [{}] here", *index);
    return fmt::format("[{}] does not exist, the last one is [{}]", *index,
                       list->size() - 1);
  }
  std::vector<std::string> names;
  add_names(s, names);
  add_names(around, names);
  auto name = detail::quoted(std::get<std::string>(part));
  if (names.empty())
    return fmt::format("{} does not exist: this is not a table with settings",
                       name);
  return detail::not_one_of(
    name, std::vector<std::string_view>{names.begin(), names.end()});
}

// A path to the part `last`, for problems.
setting_path up_to(const setting_path& path, std::size_t last) {
  setting_path out;
  for (std::size_t i = 0; i <= last; ++i)
    out = std::visit([&](const auto& x) { return std::move(out) / x; },
                     path.parts()[i]);
  return out;
}

// The part that something else, set before, has left no place for.
[[noreturn]] void refuse_inside(const setting_path& path, std::size_t last,
                                const setting& value) {
  throw config_error{
    {{problem_kind::relation, path,
      fmt::format("cannot be set together with {}, which leaves no place for "
                  "it",
                  to_text(up_to(path, last))),
      value.place}}};
}

// The part that is the key of a load or service which `path` sets as a whole; 0
// if there is none.
std::size_t index_of_part(const setting_path& path) {
  auto last = path.parts().size() - 1;
  return is_of_part(path, last) ? last : 0;
}

// One of them that excludes `x`; null if there is none.
const chosen_setting* excluding(const std::vector<chosen_setting>& all,
                                const chosen_setting& x) {
  auto found = std::ranges::find_if(all, [&](const auto& other) {
    return excludes(other.path, other.value, x.path);
  });
  return found == all.end() ? nullptr : &*found;
}

// An item of the list `s`; null if there is none.
setting* item_of(setting& s, const setting_path::part& part) {
  auto list = std::get_if<std::vector<setting>>(&s.value);
  auto index = std::get<std::size_t>(part);
  return list && index < list->size() ? &(*list)[index] : nullptr;
}

} // namespace

std::optional<setting_path> parse_path(std::string_view text) {
  return path_parser{text}.parse();
}

std::optional<problem> path_problem(const settings& root,
                                    const setting_path& path) {
  const setting whole{root, {}};
  const setting* here = &whole;
  const setting* around = nullptr;
  const auto& parts = path.parts();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // What is last may be missing in its table, but no item of a list.
    auto last = i + 1 == parts.size();
    auto next = child_of(here, parts[i]);
    auto next_around = i == 2 && is_in_arm(path)
                         ? child_around(&whole, parts[i])
                         : child_around(around, parts[i]);
    auto is_table = (here && std::holds_alternative<settings>(here->value))
                    || (around
                        && std::holds_alternative<settings>(around->value));
    auto may_be_missing = last && is_table
                          && std::holds_alternative<std::string>(parts[i]);
    if (!next && !next_around && !may_be_missing)
      return problem{
        problem_kind::unknown,
        up_to(path, i),
        missing_path_text(here, i == 2 ? &whole : around, parts[i]),
        {}};
    here = next;
    around = next_around;
  }
  return std::nullopt;
}

void set_at(settings& root, const setting_path& path, setting value) {
  const auto& parts = path.parts();
  const setting whole{root, {}};
  const setting* around = nullptr;
  settings* table = &root;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto name = std::get_if<std::string>(&parts[i]);
    if (!name)
      return;
    around = i == 2 && is_in_arm(path) ? child_around(&whole, parts[i])
                                       : child_around(around, parts[i]);
    auto [at, fresh] = table->try_emplace(*name);
    auto* s = &at->second;
    if (fresh) {
      s->value = settings{};
      s->place = value.place;
      // There is something around within arms only.
      if (around && replaces_all(path.without_first(2), i - 2))
        *s = *around;
    }
    // Wherever the value comes from, nothing changes its place in the order.
    s->stands = detail::position_of(*s);
    while (i + 1 < parts.size()
           && std::holds_alternative<std::size_t>(parts[i + 1])) {
      auto item = item_of(*s, parts[i + 1]);
      if (!item)
        refuse_inside(path, i, value);
      s = item;
      around = nullptr;
      ++i;
    }
    if (i + 1 == parts.size()) {
      value.stands = detail::position_of(*s);
      if (!is_of_part(path, i)) {
        *s = std::move(value);
        return;
      }
      drop_alternatives(std::get<std::string>(parts[i - 2]), *table,
                        {{*name, value}});
      table->insert_or_assign(*name, std::move(value));
      return;
    }
    table = std::get_if<settings>(&s->value);
    if (!table)
      refuse_inside(path, i, value);
  }
}

bool excludes(const setting_path& path, const setting& value,
              const setting_path& other) {
  const auto& parts = path.parts();
  const auto& other_parts = other.parts();
  auto last = index_of_part(path);
  if (last == 0 || other_parts.size() <= last
      || !std::equal(parts.begin(),
                     parts.begin() + static_cast<std::ptrdiff_t>(last),
                     other_parts.begin()))
    return false;
  auto key = std::get_if<std::string>(&other_parts[last]);
  const auto& own = std::get<std::string>(parts[last]);
  if (!key || *key == own)
    return false;
  settings table;
  table.try_emplace(*key);
  drop_alternatives(std::get<std::string>(parts[last - 2]), table,
                    {{own, value}});
  return table.empty();
}

void check_together(const std::vector<chosen_setting>& all) {
  for (const auto& x : all)
    if (auto other = excluding(all, x))
      throw config_error{
        {{problem_kind::relation, x.path,
          fmt::format("cannot be set together with {}", to_text(other->path)),
          x.value.place}}};
}

void set_all(settings& root, const std::vector<chosen_setting>& all) {
  for (const auto& x : all)
    if (!excluding(all, x))
      set_at(root, x.path, x.value);
}

const setting* value_at_path(const settings& root, const setting_path& path) {
  const auto& parts = path.parts();
  auto first = parts.empty() ? nullptr : std::get_if<std::string>(&parts[0]);
  auto found = first ? root.find(*first) : root.end();
  const setting* here = found == root.end() ? nullptr : &found->second;
  for (std::size_t i = 1; i < parts.size(); ++i)
    here = child_of(here, parts[i]);
  return here;
}

bool has_value_at(const settings& root, const setting_path& path) {
  return value_at_path(root, path) != nullptr;
}

} // namespace caisson::sim
