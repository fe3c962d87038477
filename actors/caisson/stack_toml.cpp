#include <caisson/stack_toml.hpp>

#include <caisson/policy_kinds.hpp>
#include <caisson/settings_text.hpp>
#include <caisson/toml.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace caisson {

using detail::item;
using detail::list_in;
using detail::section;
using detail::table_in;

namespace {

// -- layers -------------------------------------------------------------------

// The kind that the table states; null, and a problem, if there is none.
const policy_kind* kind_in(const section& at, settings_reader& fields,
                           problems& out) {
  auto stated = fields.take("kind");
  auto text = stated ? std::get_if<std::string>(&stated->value) : nullptr;
  if (auto kind = text ? find_policy_kind(*text) : nullptr)
    return kind;
  std::vector<std::string> names;
  for (auto& x : policy_kinds())
    names.push_back(std::move(x.name));
  auto wrong = stated ? to_text(*stated) + " is no kind of layer"
                          + detail::hint(text ? *text : "", names)
                      : "is missing,";
  out.push_back({stated ? stated->place : std::string{at.place},
                 joined(at.path, "kind"),
                 wrong + " allowed: " + detail::listed_names(names)});
  return nullptr;
}

// Adds the layer, also if there are problems: so those after it get the names
// that they would get without them.
void read_layer(const section& at, caf::actor_system* sys, stack& to,
                problems& out) {
  layer_reader from{at.table, at.path, at.place, out, sys};
  if (auto kind = kind_in(at, from.fields(), out))
    kind->add(from, to);
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
