#include <caisson/gate_file.hpp>

#include <caisson/detail/settings_text.hpp>
#include <caisson/gate.hpp>
#include <caisson/policy_kinds.hpp>
#include <caisson/toml.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

namespace caisson {

namespace {

const settings* table_of(const setting* x) {
  return x ? std::get_if<settings>(&x->value) : nullptr;
}

const std::string* text_of(const setting* x) {
  return x ? std::get_if<std::string>(&x->value) : nullptr;
}

std::vector<setting>* list_of(settings& table, std::string_view key) {
  auto i = table.find(key);
  return i != table.end() ? std::get_if<std::vector<setting>>(&i->second.value)
                          : nullptr;
}

const setting* find(const settings& table, std::string_view key) {
  auto i = table.find(key);
  return i != table.end() ? &i->second : nullptr;
}

// `more` over `base`, tables within them likewise.
void merge(settings& base, const settings& more) {
  for (const auto& [key, value] : more) {
    auto [i, fresh] = base.try_emplace(key, value);
    if (fresh)
      continue;
    auto inner = std::get_if<settings>(&i->second.value);
    if (auto table = table_of(&value); table && inner)
      merge(*inner, *table);
    else
      i->second = value;
  }
}

// -- the default stack --------------------------------------------------------

// What every gate may state itself.
void inherit_from(const settings& base, settings& gate) {
  auto own_layers = gate.contains("layer") || gate.contains("preset");
  for (const auto& [key, value] : base)
    if (key != "worker" && !(own_layers && (key == "layer" || key == "preset")))
      gate.try_emplace(key, value);
}

// The names of layers as a stack gives them.
std::vector<std::string> names_of(const std::vector<setting>& layers) {
  std::vector<std::string> out;
  auto taken = [&](const std::string& name) {
    return std::find(out.begin(), out.end(), name) != out.end();
  };
  for (const auto& x : layers) {
    auto* table = table_of(&x);
    auto* name = table ? text_of(find(*table, "name")) : nullptr;
    auto* kind = table ? text_of(find(*table, "kind")) : nullptr;
    auto result = name ? *name : kind ? *kind : std::string{};
    if (!name)
      for (int i = 2; taken(result); ++i)
        result = fmt::format("{}-{}", kind ? *kind : std::string{}, i);
    out.push_back(std::move(result));
  }
  return out;
}

// Changes settings of the layers, which the gate has from the default stack.
void apply_overrides(settings& gate, const setting_path& path, bool inherits,
                     problems& out) {
  auto found = gate.find("override");
  if (found == gate.end())
    return;
  auto overrides = std::move(found->second);
  gate.erase(found);
  auto at = path / "override";
  auto* all = detail::table_in(overrides, at, out);
  if (!all)
    return;
  auto* layers = inherits ? list_of(gate, "layer") : nullptr;
  if (!layers) {
    out.push_back({problem_kind::relation, at,
                   "changes the layers of `default`: there are none, or the "
                   "gate has its own",
                   overrides.place});
    return;
  }
  auto names = names_of(*layers);
  for (const auto& [name, value] : *all) {
    auto* change = detail::table_in(value, at / name, out);
    auto i = std::find(names.begin(), names.end(), name);
    if (i == names.end()) {
      out.push_back({problem_kind::unknown, at / name,
                     "no layer of `default` has this name"
                       + detail::hint(detail::nearest(name, names))
                       + " there are: " + detail::listed_names(names),
                     value.place});
      continue;
    }
    if (!change)
      continue;
    for (auto* fixed : {"kind", "name"})
      if (auto* x = find(*change, fixed))
        out.push_back({problem_kind::relation, at / name / fixed,
                       "cannot be changed", x->place});
    auto& changed = (*layers)[static_cast<std::size_t>(i - names.begin())];
    if (auto* table = std::get_if<settings>(&changed.value))
      merge(*table, *change);
  }
}

// -- workers ------------------------------------------------------------------

// What a gate alone says of its worker, besides the settings of supervision.
struct stated_worker {
  std::optional<setting> name;
  // `group` and `rank`.
  settings membership;
};

constexpr std::string_view keys_of_membership[] = {"group", "rank"};

std::optional<setting> take_from(settings& table, std::string_view key) {
  auto i = table.find(key);
  if (i == table.end())
    return std::nullopt;
  auto out = std::move(i->second);
  table.erase(i);
  return out;
}

// Leaves the settings of supervision, over those of the default.
stated_worker take_worker(settings& gate, const settings& base) {
  stated_worker out;
  auto stated = gate.find("worker");
  if (auto* table = stated != gate.end()
                      ? std::get_if<settings>(&stated->second.value)
                      : nullptr) {
    out.name = take_from(*table, "name");
    for (auto key : keys_of_membership)
      if (auto x = take_from(*table, key))
        out.membership.emplace(key, std::move(*x));
  } else {
    out.name = take_from(gate, "worker");
  }
  if (auto* common = find(base, "worker"); table_of(common)) {
    auto merged = *common;
    auto i = gate.find("worker");
    if (auto* own = i != gate.end() ? table_of(&i->second) : nullptr) {
      merge(std::get<settings>(merged.value), *own);
      merged.place = i->second.place;
    }
    gate.insert_or_assign("worker", std::move(merged));
  }
  return out;
}

std::string known_workers(const worker_names& known) {
  auto names = known.names();
  names.emplace_back("none");
  return detail::listed_names(names);
}

std::string read_worker(const std::optional<setting>& stated, const section& at,
                        const worker_names& known, caf::actor_system& sys,
                        problems& out) {
  auto key = at.path / "worker";
  if (!stated) {
    out.push_back({problem_kind::missing, key,
                   "is missing; for a gate that only lends permits: \"none\"",
                   std::string{at.place}});
    return {};
  }
  auto* name = text_of(&*stated);
  if (!name) {
    out.push_back({problem_kind::type, key,
                   to_text(*stated) + " is not the name of a worker",
                   stated->place});
    return {};
  }
  if (*name != "none" && !known.find(*name) && !find_name(sys, *name)) {
    out.push_back(
      {problem_kind::unknown, key,
       fmt::format("no worker is called {}{} the program knows: "
                   "{}; and no actor is registered by that name",
                   detail::quoted(*name),
                   detail::hint(detail::nearest(*name, known.names())),
                   known_workers(known)),
       stated->place});
    return {};
  }
  return *name;
}

// -- supervision groups -------------------------------------------------------

void read_membership(const stated_worker& stated, const section& at,
                     const std::vector<std::string>& groups, gate_entry& to,
                     problems& out) {
  auto path = at.path / "worker";
  settings_reader fields{{stated.membership, path, at.place}, out};
  fields.on({"group", "the supervision group of the worker"}, to.group);
  fields.integer<std::uint32_t>(
    {.key = "rank",
     .help = "workers of a lower rank start before it",
     .needs = {"group"}},
    to.rank, {0, std::numeric_limits<std::uint32_t>::max()});
  fields.finish();
  auto* group = find(stated.membership, "group");
  if (!text_of(group))
    return;
  if (to.worker == "none")
    out.push_back({problem_kind::relation, path / "group",
                   "is for gates that make their worker", group->place});
  else if (std::find(groups.begin(), groups.end(), to.group) == groups.end())
    out.push_back(
      {problem_kind::unknown, path / "group",
       fmt::format("no group is called {}{} there are: {}",
                   detail::quoted(to.group),
                   detail::hint(detail::nearest(to.group, groups)),
                   groups.empty() ? "none" : detail::listed_names(groups)),
       group->place});
}

// -- what cannot be changed at run time ---------------------------------------

void write(const setting& x, std::string& to) {
  if (auto* table = table_of(&x)) {
    to += '{';
    for (const auto& [key, value] : *table) {
      to += fmt::format("{}:{}=", key.size(), key);
      write(value, to);
    }
    to += '}';
  } else if (auto* list = std::get_if<std::vector<setting>>(&x.value)) {
    to += '[';
    for (const auto& item : *list)
      write(item, to);
    to += ']';
  } else if (auto* text = text_of(&x)) {
    to += fmt::format("{}\"{}", text->size(), *text);
  } else {
    to += to_text(x) + ',';
  }
}

// What a layer's table says besides the settings of its policy.
std::string fixed_part(const settings& table) {
  auto* name = text_of(find(table, "kind"));
  auto* kind = name ? find_policy_kind(*name) : nullptr;
  if (!kind)
    return {};
  std::set<std::string, std::less<>> changeable{"kind", "name", "per_key"};
  for (const auto& row : kind->rows())
    changeable.insert(row.key.substr(0, row.key.find('.')));
  setting rest{settings{}, {}};
  for (const auto& [key, value] : table)
    if (!changeable.contains(key))
      std::get<settings>(rest.value).emplace(key, value);
  std::string out;
  write(rest, out);
  return out;
}

// -- gates --------------------------------------------------------------------

class gate_reader {
public:
  gate_reader(const worker_names& known, caf::actor_system& sys, problems& out)
    : known_(known), sys_(sys), out_(out) {}

  // Before the gates.
  supervision_group_config read_group(const std::string& name,
                                      const section& at) {
    groups_.push_back(name);
    supervision_group_config out;
    settings_reader fields{at, out_};
    describe(fields, out);
    fields.finish();
    return out;
  }

  // Before the gates. Its own problems are told once, not for each gate.
  void read_default(const setting& x) {
    auto* table = detail::table_in(x, "default", out_);
    if (!table)
      return;
    base_ = *table;
    auto known = out_.size();
    drop_from(base_, {"default"}, {"name", "override"});
    if (auto i = base_.find("worker"); i != base_.end())
      if (auto* worker = std::get_if<settings>(&i->second.value))
        drop_from(*worker, setting_path{"default"} / "worker",
                  {"name", "group", "rank"});
    static_cast<void>(
      stack_from(base_, "default", "default", x.place, out_, &sys_));
    for (auto i = known; i < out_.size(); ++i)
      told_.insert(out_[i].place);
  }

  std::optional<gate_entry> read(const std::string& name, const section& at) {
    problems found;
    auto table = at.table;
    auto inherits = !table.contains("layer") && !table.contains("preset");
    auto stated = take_worker(table, base_);
    inherit_from(base_, table);
    apply_overrides(table, at.path, inherits, found);
    gate_entry out;
    out.worker = read_worker(stated.name, at, known_, sys_, found);
    read_membership(stated, at, groups_, out, found);
    out.place = at.place;
    out.worker_place = stated.name ? stated.name->place : std::string{at.place};
    auto policies = stack_from(table, name, at.path, at.place, found, &sys_);
    std::erase_if(found, [this](const problem& p) {
      return !p.place.empty() && told_.contains(p.place);
    });
    out_.insert(out_.end(), found.begin(), found.end());
    if (!policies)
      return std::nullopt;
    out.policies = std::move(*policies);
    if (auto* layers = list_of(table, "layer"))
      for (const auto& x : *layers)
        out.fixed.push_back(fixed_part(std::get<settings>(x.value)));
    return out;
  }

private:
  // What only a gate can say.
  void drop_from(settings& table, const setting_path& path,
                 std::initializer_list<std::string_view> keys) {
    for (auto key : keys)
      if (auto own = take_from(table, key))
        out_.push_back({problem_kind::relation, path / key,
                        "is for single gates", own->place});
  }

  const worker_names& known_;
  caf::actor_system& sys_;
  problems& out_;
  settings base_;
  std::vector<std::string> groups_;
  // The places of the problems of the default stack.
  std::set<std::string> told_;
};

} // namespace

gate_file read_gates(const settings& root, const worker_names& known,
                     problems& out, caf::actor_system& sys) {
  problems found;
  gate_file result;
  settings_reader top{{root}, found};
  gate_reader gates{known, sys, found};
  if (auto* base = top.take("default"))
    gates.read_default(*base);
  top.named_tables({"groups", "the supervision groups"},
                   [&](const auto& name, const section& at) {
                     result.groups.emplace(name, gates.read_group(name, at));
                   });
  top.named_tables({"gates", "the gates"},
                   [&](const auto& name, const section& at) {
                     if (auto entry = gates.read(name, at))
                       result.gates.emplace(name, std::move(*entry));
                   });
  if (found.empty())
    return result;
  out.insert(out.end(), found.begin(), found.end());
  return {};
}

gate_file read_gate_file(const std::filesystem::path& path,
                         const worker_names& known, problems& out,
                         caf::actor_system& sys) {
  auto before = out.size();
  auto root = read_toml_file(path, out);
  problems found;
  auto result = read_gates(root, known, found, sys);
  auto place = path.string();
  section at{root, {}, place};
  settings_reader top{at, found};
  top.take("default");
  top.take("gates");
  top.take("groups");
  top.finish();
  // As a rule it was cut off while it was written.
  if (found.empty() && out.size() == before && result.gates.empty())
    found.push_back(
      {problem_kind::missing, setting_path{"gates"}, "there are none", place});
  add_problems(std::move(found), at, out);
  return out.size() == before ? std::move(result) : gate_file{};
}

worker worker_of(const gate_entry& x, const worker_names& known,
                 caf::actor_system& sys, const group_handles& groups) {
  auto behind = [&]() -> worker {
    if (x.worker == "none")
      return {};
    if (auto* make = known.find(x.worker))
      return (*make)(x.policies.supervision);
    return worker{find_name(sys, x.worker)};
  }();
  if (x.group.empty())
    return behind;
  auto group = groups.find(x.group);
  auto why = !behind.is_supervised() ? "the gate does not make this worker"
             : behind.is_grouped()   ? "the program has given it a group"
             : group == groups.end() ? "there is no such group"
                                     : nullptr;
  if (why)
    throw config_error{
      {{problem_kind::relation, setting_path{"worker"} / "group", why,
        x.worker_place}}};
  return std::move(behind).in_group(group->second, x.rank);
}

} // namespace caisson
