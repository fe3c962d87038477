#include <caisson/config/gate_file.hpp>

#include <caisson/gate/gate.hpp>
#include <caisson/gate/worker_entry.hpp>
#include <caisson/policy/callback.hpp>
#include <caisson/settings/setting_tables.hpp>
#include <caisson/settings/settings_text.hpp>
#include <caisson/settings/toml.hpp>
#include <caisson/stack/default_stack.hpp>
#include <caisson/stack/policy_kinds.hpp>

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

namespace caisson {

namespace {

// -- what cannot be changed at run time ---------------------------------------

void write(const setting& x, std::string& to) {
  if (auto* table = detail::table_in(&x)) {
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
  } else if (auto* text = detail::text_in(&x)) {
    to += fmt::format("{}\"{}", text->size(), *text);
  } else {
    to += to_text(x) + ',';
  }
}

// What a layer's table says besides the settings of its policy.
std::string fixed_part(const settings& table) {
  auto* name = detail::text_in(detail::find_in(table, "kind"));
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

  // Before the gates. Its own problems are reported once, not for each gate.
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
                  {"name", "kind", "group", "rank"});
    static_cast<void>(
      stack_from(base_, "default", "default", x.place, out_, &sys_));
    for (auto i = known; i < out_.size(); ++i)
      reported_.insert(out_[i].place);
  }

  std::optional<gate_entry> read(const std::string& name, const section& at) {
    problems found;
    auto table = at.table;
    auto inherits = !table.contains("layer") && !table.contains("preset");
    auto stated = detail::take_worker(table, base_, at.path, found);
    detail::inherit_from(base_, table);
    detail::apply_overrides(table, at.path, inherits, found);
    gate_entry out;
    auto supervision = read_worker(stated, at, out, found);
    auto place = detail::read_membership(stated, at, groups_, found);
    out.group = std::move(place.group);
    out.rank = place.rank;
    out.place = at.place;
    auto policies = stack_from(table, name, at.path, at.place, found, &sys_,
                               supervision);
    std::erase_if(found, [this](const problem& p) {
      return !p.place.empty() && reported_.contains(p.place);
    });
    out_.insert(out_.end(), found.begin(), found.end());
    if (!policies)
      return std::nullopt;
    out.policies = std::move(*policies);
    if (auto* layers = detail::list_in(table, "layer"))
      for (const auto& x : *layers)
        out.fixed.push_back(fixed_part(std::get<settings>(x.value)));
    return out;
  }

private:
  // Returns what holds for its supervision as far as the rest of the table does
  // not say anything else.
  supervision_config read_worker(const detail::stated_worker& stated,
                                 const section& at, gate_entry& out,
                                 problems& found) {
    if (!stated.described) {
      out.worker = detail::read_worker(stated.name, at, known_, sys_, found);
      out.worker_place = stated.name ? stated.name->place
                                     : std::string{at.place};
      return known_.supervision_of(out.worker);
    }
    const auto& x = *stated.described;
    out.worker_place = x.place;
    const auto& table = std::get<settings>(x.value);
    out.described = detail::read_described_worker(
      {table, at.path / "worker", x.place}, known_, found);
    const auto* name = detail::text_in(detail::find_in(table, "kind"));
    const auto* kind = name ? known_.find_kind(*name) : nullptr;
    return detail::read_supervision(
      x, base_, at, kind ? kind->traits().supervision : supervision_config{},
      found);
  }

  // What only a gate can say.
  void drop_from(settings& table, const setting_path& path,
                 std::initializer_list<std::string_view> keys) {
    for (auto key : keys)
      if (auto own = detail::take_from(table, key))
        out_.push_back({problem_kind::relation, path / key,
                        "can be set for single gates only", own->place});
  }

  const worker_names& known_;
  caf::actor_system& sys_;
  problems& out_;
  settings base_;
  std::vector<std::string> groups_;
  // The places of the problems of the default stack.
  std::set<std::string> reported_;
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

namespace {

gate_file read_file(const std::filesystem::path& path,
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
    found.push_back({problem_kind::missing, setting_path{"gates"},
                     "is missing or empty", place});
  add_problems(std::move(found), at, out);
  return out.size() == before ? std::move(result) : gate_file{};
}

} // namespace

gate_file read_gate_file(const std::filesystem::path& path,
                         const worker_names& known, problems& out,
                         caf::actor_system& sys) {
  // Readers of the user's kinds may throw.
  auto result = try_user(
    [&] { return read_file(path, known, out, sys); },
    [&](std::string_view why) {
      out.push_back(
        {problem_kind::syntax, {}, std::string{why}, path.string()});
    });
  return result ? std::move(*result) : gate_file{};
}

worker worker_of(const gate_entry& x, const worker_names& known,
                 caf::actor_system& sys, const group_handles& groups) {
  auto behind = [&]() -> worker {
    if (x.described)
      return x.described->make(x.policies.supervision);
    if (x.worker == "none")
      return {};
    if (auto* make = known.find(x.worker))
      return (*make)(x.policies.supervision);
    return worker{find_name(sys, x.worker)};
  }();
  if (x.described && !behind.is_supervised())
    throw config_error{
      {{problem_kind::relation, setting_path{"worker"} / "kind",
        "workers of this kind are not supervised; the kind must return "
        "worker::supervised",
        x.worker_place}}};
  if (x.group.empty())
    return behind;
  auto group = groups.find(x.group);
  auto why = !behind.is_supervised() ? "the gate does not make this worker"
             : behind.is_grouped()   ? "the program has given it a group"
             : group == groups.end() ? "no group has this name"
                                     : nullptr;
  if (why)
    throw config_error{
      {{problem_kind::relation, setting_path{"worker"} / "group", why,
        x.worker_place}}};
  return std::move(behind).in_group(group->second, x.rank);
}

} // namespace caisson
