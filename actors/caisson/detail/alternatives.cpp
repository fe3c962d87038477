#include <caisson/detail/alternatives.hpp>

#include <caisson/messages.hpp>
#include <caisson/settings_text.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace caisson::detail {

namespace {

// The names of the rows of a table, for `field_visitor::on`.
template <class Row, std::size_t N>
constexpr auto names_of(const Row (&rows)[N]) {
  std::array<std::string_view, N> out{};
  for (std::size_t i = 0; i < N; ++i)
    out[i] = rows[i].name;
  return out;
}

// A type that the value of an alternative can have.
struct value_type {
  std::string_view name;
  caf::message (*read)(settings_reader&);
};

template <class T>
caf::message read_value(settings_reader& from) {
  using limits = std::numeric_limits<T>;
  T x{};
  const field f{"value", "what is answered"};
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    from.integer<T>(f, x, {limits::min(), limits::max()});
  else
    from.on(f, x);
  return make_early(std::move(x));
}

constexpr value_type value_types[] = {
  {"string", read_value<std::string>},
  {"int64", read_value<std::int64_t>},
  {"int32", read_value<std::int32_t>},
  {"bool", read_value<bool>},
};

constexpr auto value_type_names = names_of(value_types);

// The type that a value has by itself; null if it cannot be an answer.
const value_type* own_type(const setting& s) {
  std::string_view name;
  if (std::holds_alternative<std::string>(s.value))
    name = "string";
  else if (std::holds_alternative<std::int64_t>(s.value))
    name = "int64";
  else if (std::holds_alternative<bool>(s.value))
    name = "bool";
  for (const auto& type : value_types)
    if (type.name == name)
      return &type;
  return nullptr;
}

// The type that an alternative states or its value has; null, and a problem,
// if there is none.
const value_type* type_in(const section& at, settings_reader& from,
                          problems& out) {
  const auto& value = at.table.find("value")->second;
  auto index = std::size(value_types);
  from.on({"type", "the type of `value`"}, index, value_type_names);
  if (index < std::size(value_types))
    return &value_types[index];
  if (at.table.contains("type"))
    return nullptr;
  auto type = own_type(value);
  if (!type)
    out.push_back({value.place, joined(at.path, "value"),
                   to_text(value)
                     + " cannot be an answer, allowed: a string, an integer "
                       "or a boolean"});
  return type;
}

alternative answer_in(const section& at, settings_reader& from, problems& out) {
  auto type = type_in(at, from, out);
  return type ? alternative{type->read(from), {}} : alternative{};
}

alternative actor_in(const section& at, settings_reader& from,
                     caf::actor_system* sys, problems& out) {
  const auto& value = at.table.find("actor")->second;
  auto key = joined(at.path, "actor");
  if (auto type = at.table.find("type"); type != at.table.end())
    out.push_back({type->second.place, joined(at.path, "type"),
                   "type applies to a value only, this is an actor"});
  auto known = out.size();
  std::string name;
  from.on({"actor", "the name of an actor"}, name);
  if (out.size() > known)
    return {};
  if (!sys) {
    out.push_back({value.place, std::move(key),
                   detail::quoted(name)
                     + " cannot be looked up, there is no actor system here"});
    return {};
  }
  auto target = rt::find_name(*sys, name);
  if (!target)
    out.push_back({value.place, std::move(key),
                   "no actor is registered as " + detail::quoted(name)});
  return alternative::ask(std::move(target));
}

alternative alternative_from(const section& at, caf::actor_system* sys,
                             problems& out) {
  auto known = out.size();
  settings_reader from{at.table, at.path, out};
  auto value = from.take("value");
  from.take("type");
  auto actor = from.take("actor");
  from.finish();
  // A key that is misspelled is reported, and not also as one that is missing.
  auto misspelled = out.size() > known;
  if (value && actor)
    out.push_back(
      {std::string{at.place}, at.path, "value and actor cannot be given both"});
  else if (!value && !actor && !misspelled)
    out.push_back({std::string{at.place}, at.path,
                   "has no answer, allowed: either value or actor"});
  if (!value == !actor)
    return {};
  return value ? answer_in(at, from, out) : actor_in(at, from, sys, out);
}

} // namespace

std::vector<alternative> read_alternatives(layer_reader& from) {
  constexpr std::string_view key = "alternatives";
  std::vector<alternative> chain;
  auto path = joined(from.path(), key);
  auto given = from.fields().take(key);
  auto list = given ? list_in(*given, path, from.out()) : nullptr;
  if (!given || (list && list->empty()))
    from.out().push_back({std::string{given ? given->place : from.place()},
                          path, "a fallback needs at least one alternative"});
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    const auto& x = (*list)[i];
    auto where = item(path, i);
    if (auto table = table_in(x, where, from.out()))
      chain.push_back(
        alternative_from({*table, where, x.place}, from.system(), from.out()));
  }
  return chain;
}

} // namespace caisson::detail
