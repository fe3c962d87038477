#include <caisson/stack/alternatives.hpp>

#include <caisson/caf/messages.hpp>
#include <caisson/settings/settings_text.hpp>

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

caf::actor find_actor(const std::string& name, caf::actor_system* sys,
                      const setting_path& key, std::string_view place,
                      problems& out) {
  auto wrong = [&](std::string message) {
    out.push_back(
      {problem_kind::unknown, key, std::move(message), std::string{place}});
  };
  if (!sys) {
    wrong(detail::quoted(name)
          + " cannot be looked up without an actor system");
    return {};
  }
  auto target = portable::find_name(*sys, name);
  if (!target)
    wrong("no actor is registered as " + detail::quoted(name));
  return target;
}

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

// The type of the value is that which is stated, or else its own, so that the
// value is read last.
alternative alternative_from(const section& at, caf::actor_system* sys,
                             problems& out) {
  auto known = out.size();
  settings_reader from{at, out};
  auto value = from.take({.key = "value",
                          .help = "what is answered",
                          .allowed = "a string, an integer or a boolean",
                          .required = true,
                          .one_of = "answer"});
  auto type = std::size(value_types);
  from.on({.key = "type", .help = "the type of the value", .needs = {"value"}},
          type, value_type_names);
  std::string name;
  from.on({.key = "actor",
           .help = "the name of the actor that is asked",
           .required = true,
           .one_of = "answer"},
          name);
  auto cached = false;
  from.on({.key = "cached",
           .help = "whether the actor is a cache: it has only `cache_share` of "
                   "the time that is left",
           .needs = {"actor"}},
          cached);
  from.finish();
  if (out.size() > known)
    return {};
  if (!value) {
    auto target = find_actor(name, sys, at.path / "actor",
                             place_in(at, "actor"), out);
    return cached ? alternative::ask_cache(std::move(target))
                  : alternative::ask(std::move(target));
  }
  auto stated = type < std::size(value_types) ? &value_types[type]
                                              : own_type(*value);
  if (stated)
    return {stated->read(from)};
  out.push_back({problem_kind::type, at.path / "value",
                 to_text(*value)
                   + " cannot be an answer, allowed: a string, an integer or a "
                     "boolean",
                 value->place});
  return {};
}

} // namespace

std::vector<alternative> read_alternatives(layer_reader& from) {
  const field f{.key = "alternatives",
                .help = "what is asked in turn",
                .allowed = "a list of at least one table",
                .required = true,
                .nonempty = true};
  std::vector<alternative> out;
  from.fields().tables(f, [&](const section& at) {
    out.push_back(alternative_from(at, from.system(), from.out()));
  });
  return out;
}

} // namespace caisson::detail
