#include <caisson/stack_toml.hpp>

#include <caisson/messages.hpp>
#include <caisson/settings_text.hpp>
#include <caisson/toml.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace caisson {

using detail::item;
using detail::section;
using detail::table_in;

namespace {

// -- tables and lists ---------------------------------------------------------

const std::vector<setting>* list_in(const setting& s, const std::string& path,
                                    problems& out) {
  auto list = std::get_if<std::vector<setting>>(&s.value);
  if (!list)
    out.push_back({s.place, path,
                   fmt::format("{} is not a list, allowed: a list of tables; "
                               "in TOML each may begin with [[{}]]",
                               to_text(s), path)});
  return list;
}

// The names of the rows of a table, for `field_visitor::on`.
template <class Row, std::size_t N>
constexpr auto names_of(const Row (&rows)[N]) {
  std::array<std::string_view, N> out{};
  for (std::size_t i = 0; i < N; ++i)
    out[i] = rows[i].name;
  return out;
}

// -- alternatives of a fallback -----------------------------------------------

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
  return detail::make_early(std::move(x));
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

// -- layers -------------------------------------------------------------------

// The table of one layer while it is being read.
class layer_table {
public:
  layer_table(section at, caf::actor_system* sys, problems& out)
    : at_(std::move(at)), sys_(sys), out_(out),
      fields_(at_.table, at_.path, out) {}

  [[nodiscard]] settings_reader& fields() noexcept { return fields_; }

  // To be called last: keys that are not known by then are reported.
  template <class Config>
  Config config() {
    Config c;
    describe(fields_, c);
    fields_.finish();
    add_problems(problems_of(c, at_.path), at_.table, at_.path, at_.place,
                 out_);
    return c;
  }

  std::vector<alternative> alternatives() {
    constexpr std::string_view key = "alternatives";
    std::vector<alternative> out;
    auto path = joined(at_.path, key);
    auto from = fields_.take(key);
    auto list = from ? list_in(*from, path, out_) : nullptr;
    if (!from || (list && list->empty()))
      out_.push_back({std::string{from ? from->place : at_.place}, path,
                      "a fallback needs at least one alternative"});
    for (std::size_t i = 0; list && i < list->size(); ++i) {
      const auto& x = (*list)[i];
      auto where = item(path, i);
      if (auto table = table_in(x, where, out_))
        out.push_back(alternative_from({*table, where, x.place}, sys_, out_));
    }
    return out;
  }

private:
  section at_;
  caf::actor_system* sys_;
  problems& out_;
  settings_reader fields_;
};

// What `kind` names: how a table becomes a layer of a stack.
struct layer_kind {
  std::string_view name;
  void (*add)(layer_table& from, stack& to);
};

template <class Config, stack& (stack::*Add)(Config)>
void add(layer_table& from, stack& to) {
  (to.*Add)(from.config<Config>());
}

void add_batcher(layer_table& from, stack& to) {
  to.batch(from.config<batcher_config>());
}

void add_fallback(layer_table& from, stack& to) {
  auto chain = from.alternatives();
  to.fallback(std::move(chain), from.config<fallback_config>());
}

constexpr layer_kind kinds[] = {
  {"deadline", add<deadline_config, &stack::deadline>},
  {"semaphore", add<semaphore_config, &stack::semaphore>},
  {"limiter", add<limiter_config, &stack::limiter>},
  {"breaker", add<breaker_config, &stack::breaker>},
  {"retrier", add<retrier_config, &stack::retry>},
  {"batcher", add_batcher},
  {"fallback", add_fallback},
};

constexpr auto kind_names = names_of(kinds);

// Adds the layer, also if there are problems: so those after it get the names
// that they would get without them.
void read_layer(const section& at, caf::actor_system* sys, stack& to,
                problems& out) {
  layer_table from{at, sys, out};
  auto kind = std::size(kinds);
  from.fields().on({"kind", "what the layer is"}, kind, kind_names);
  if (kind < std::size(kinds))
    kinds[kind].add(from, to);
  else if (!at.table.contains("kind"))
    out.push_back({std::string{at.place}, joined(at.path, "kind"),
                   "is missing, allowed: " + detail::listed(kind_names)});
}

// The name that a layer gives itself, if any.
std::string name_in(const settings& table) {
  auto i = table.find("name");
  auto text = i != table.end() ? std::get_if<std::string>(&i->second.value)
                               : nullptr;
  return text ? *text : std::string{};
}

void read_layers(const setting& from, const std::string& path,
                 caf::actor_system* sys, stack& to, problems& out) {
  auto list = list_in(from, path, out);
  if (!list)
    return;
  if (list->size() > stack::max_layers)
    out.push_back({from.place, path,
                   fmt::format("{} layers are too many, allowed: 0 to {}",
                               list->size(), stack::max_layers)});
  auto size = std::min<std::size_t>(list->size(), stack::max_layers);
  // Which layer has which name. The stack itself does not know of layers whose
  // kind is wrong.
  std::map<std::string, std::size_t> owners;
  for (std::size_t i = 0; i < size; ++i) {
    const auto& x = (*list)[i];
    auto where = item(path, i);
    auto table = table_in(x, where, out);
    if (!table)
      continue;
    auto before = to.size();
    read_layer({*table, where, x.place}, sys, to, out);
    auto given = name_in(*table);
    auto name = to.size() > before ? to.names().back() : given;
    auto [owner, fresh] = owners.try_emplace(name, i);
    if (!fresh && !given.empty())
      out.push_back({table->at("name").place, joined(where, "name"),
                     fmt::format("{} is the name of layer[{}] already",
                                 detail::quoted(name), owner->second)});
  }
}

} // namespace

// -- stacks -------------------------------------------------------------------

std::optional<stack_entry>
stack_from(const settings& table, const std::string& name,
           const std::string& path, std::string_view place, problems& out,
           caf::actor_system* sys) {
  problems found;
  gate_config config;
  config.name = name;
  settings_reader fields{table, path, found};
  describe(fields, config);
  auto layers = fields.take("layer");
  auto worker = fields.take("worker");
  fields.finish();
  add_problems(problems_of(config, path), table, path, place, found);

  stack_entry result{stack{std::move(config)}};
  if (layers)
    read_layers(*layers, joined(path, "layer"), sys, result.policies, found);
  if (worker) {
    auto where = joined(path, "worker");
    if (auto from = table_in(*worker, where, found))
      for (auto& p :
           read_settings(*from, where, result.supervision, worker->place))
        found.push_back(std::move(p));
  }
  if (found.empty())
    return result;
  out.insert(out.end(), found.begin(), found.end());
  return std::nullopt;
}

stack_file read_stacks(const settings& root, problems& out,
                       caf::actor_system* sys) {
  auto top = root.find("stack");
  if (top == root.end())
    return {};
  problems found;
  stack_file result;
  if (auto all = table_in(top->second, "stack", found))
    for (const auto& [name, value] : *all) {
      auto path = joined("stack", name);
      auto table = table_in(value, path, found);
      if (!table)
        continue;
      if (auto entry = stack_from(*table, name, path, value.place, found, sys))
        result.stacks.emplace(name, std::move(*entry));
    }
  if (found.empty())
    return result;
  out.insert(out.end(), found.begin(), found.end());
  return {};
}

stack_file load_stacks(const std::filesystem::path& path,
                       caf::actor_system* sys) {
  problems out;
  auto root = read_toml_file(path, out);
  problems found;
  auto result = read_stacks(root, found, sys);
  settings_reader top{root, {}, found};
  top.take("stack");
  top.finish();
  // A value that cannot be read is reported already and missing from `root`,
  // which must not be reported again.
  add_problems(std::move(found), root, {}, path.string(), out);
  if (!out.empty())
    throw config_error{std::move(out)};
  return result;
}

} // namespace caisson
