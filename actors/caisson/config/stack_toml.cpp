#include <caisson/config/stack_toml.hpp>

#include <caisson/settings/settings_text.hpp>
#include <caisson/settings/toml.hpp>
#include <caisson/stack/policy_kinds.hpp>
#include <caisson/stack/presets.hpp>

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
  auto suggestion = text ? detail::nearest(*text, names) : std::string_view{};
  auto wrong = stated ? to_text(*stated) + " is not a kind of layer"
                          + detail::hint(suggestion)
                      : "is missing,";
  out.push_back({text     ? problem_kind::unknown
                 : stated ? problem_kind::type
                          : problem_kind::missing,
                 at.path / "kind",
                 wrong + " allowed: " + detail::listed_names(names),
                 std::string{place_in(at, "kind")}});
  return nullptr;
}

// Adds the layer, also if there are problems: so those after it get the names
// that they would get without them.
void read_layer(const section& at, caf::actor_system* sys, stack& to,
                problems& out) {
  layer_reader from{at, out, sys};
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

// Remembers which layer of a stack has which name. The stack itself does not
// know layers whose kind is wrong.
class layer_names {
public:
  explicit layer_names(problems& out) : out_(out) {}

  // `name` is what the layer is called in the end.
  void add(const std::string& name, const section& at, std::size_t index) {
    auto name_given = name_in(at.table);
    auto [owner, fresh] = owners_.try_emplace(name.empty() ? name_given : name,
                                              index);
    if (!fresh && !name_given.empty())
      out_.push_back({problem_kind::relation, at.path / "name",
                      fmt::format("{} is the name of layer[{}] already",
                                  detail::quoted(owner->first), owner->second),
                      std::string{place_in(at, "name")}});
  }

private:
  problems& out_;
  std::map<std::string, std::size_t> owners_;
};

void read_layers(settings_reader& fields, const section& at,
                 caf::actor_system* sys, stack& to, problems& out) {
  const field f{"layer", "the layers, in the order in which a call meets them"};
  layer_names names{out};
  std::size_t count = 0;
  fields.tables(f, [&](const section& layer) {
    if (count++ >= stack::max_layers)
      return;
    auto before = to.size();
    read_layer(layer, sys, to, out);
    auto name = to.size() > before ? to.names().back() : std::string{};
    names.add(name, layer, count - 1);
  });
  if (count > stack::max_layers)
    out.push_back({problem_kind::range, at.path / f.key,
                   fmt::format("{} layers are too many, allowed: 0 to {}",
                               count, stack::max_layers),
                   std::string{place_in(at, f.key)}});
}

void add_key_conflicts(const stack& policies, const section& at,
                       problems& out) {
  for (auto& x : policies.key_conflicts()) {
    auto where = setting_path{} / "layer" / x.layer;
    out.push_back(
      {problem_kind::relation,
       detail::key_conflict_path(at.path / "layer" / x.layer, x.setting),
       std::move(x.what), std::string{place_of(at.table, where)}});
  }
}

// A preset cannot be combined with layers: their order would be ambiguous.
stack read_preset(settings_reader& fields, const section& at, problems& out) {
  std::vector<std::string_view> names{"none"};
  names.insert(names.end(), presets::names().begin(), presets::names().end());
  std::size_t chosen = 0;
  fields.on({"preset", "a ready stack"}, chosen, names);
  auto ready = presets::named(names[chosen]);
  if (ready && at.table.find("layer") != at.table.end())
    out.push_back({problem_kind::relation, at.path / "preset",
                   "is a whole stack: there can be no layers beside it",
                   std::string{place_in(at, "preset")}});
  return ready.value_or(stack{});
}

} // namespace

// -- stacks -------------------------------------------------------------------

std::optional<stack_entry>
stack_from(const settings& table, const std::string& name,
           const setting_path& path, std::string_view place, problems& out,
           caf::actor_system* sys, const supervision_config& base) {
  problems found;
  section at{table, path, place};
  settings_reader fields{at, found};
  stack_entry result{read_preset(fields, at, found), base};
  gate_config config;
  config.name = name;
  describe(fields, config);
  add_problems(problems_of(config, path), at, found);
  result.policies.configure(std::move(config));
  read_layers(fields, at, sys, result.policies, found);
  fields.on({"worker", "how a worker that the gate makes is supervised"},
            result.supervision);
  fields.finish();
  // Otherwise the numbers of layers may be others.
  if (found.empty())
    add_key_conflicts(result.policies, at, found);
  if (found.empty())
    return result;
  out.insert(out.end(), found.begin(), found.end());
  return std::nullopt;
}

stack_file read_stacks(const settings& root, problems& out,
                       caf::actor_system* sys) {
  problems found;
  stack_file result;
  settings_reader top{{root}, found};
  top.named_tables(
    {"stack", "the stacks"}, [&](const auto& name, const section& at) {
      auto entry = stack_from(at.table, name, at.path, at.place, found, sys);
      if (entry)
        result.stacks.emplace(name, std::move(*entry));
    });
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
  auto place = path.string();
  section at{root, {}, place};
  settings_reader top{at, found};
  top.take("stack");
  top.finish();
  // A value that cannot be read is reported already and missing from `root`,
  // which must not be reported again.
  add_problems(std::move(found), at, out);
  if (!out.empty())
    throw config_error{std::move(out)};
  return result;
}

} // namespace caisson
