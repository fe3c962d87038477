#include <caisson/gate/worker_entry.hpp>

#include <caisson/engine/supervision.hpp>
#include <caisson/gate/gate.hpp>
#include <caisson/settings/setting_tables.hpp>
#include <caisson/settings/settings.hpp>
#include <caisson/settings/settings_reader.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <variant>

namespace caisson::detail {

namespace {

constexpr std::string_view keys_of_membership[] = {"group", "rank"};

// Keys that were probably meant to be one of a gate's alone: who reads the rest
// does not know these.
void report_misspelled(settings& worker, const setting_path& path,
                       problems& out) {
  const std::vector<std::string> own{"name", "group", "rank"};
  auto known = own;
  for (auto& row : rows_of(supervision_config{}))
    known.push_back(row.key.substr(0, row.key.find('.')));
  auto is_in = [](const std::vector<std::string>& names, std::string_view x) {
    return std::find(names.begin(), names.end(), x) != names.end();
  };
  std::erase_if(worker, [&](const auto& entry) {
    const auto& [key, value] = entry;
    auto suggestion = nearest(key, known);
    if (is_in(known, key) || !is_in(own, suggestion))
      return false;
    out.push_back(
      {problem_kind::unknown, path / key,
       "unknown key" + hint(suggestion) + " known keys: " + listed_names(known),
       value.place});
    return true;
  });
}

std::string known_workers(const worker_names& known) {
  auto names = known.names();
  names.emplace_back("none");
  return listed_names(names);
}

} // namespace

stated_worker take_worker(settings& gate, const settings& base,
                          const setting_path& path, problems& found) {
  stated_worker out;
  auto stated = gate.find("worker");
  auto* table = stated != gate.end()
                  ? std::get_if<settings>(&stated->second.value)
                  : nullptr;
  if (table && table->contains("kind")) {
    if (auto name = take_from(*table, "name"))
      found.push_back({problem_kind::relation, path / "worker" / "name",
                       "is for a worker of the program's, and `kind` for one "
                       "that is described here: leave out one of them",
                       name->place});
    for (auto key : keys_of_membership)
      if (auto* x = find_in(*table, key))
        out.membership.emplace(key, *x);
    out.described = std::move(stated->second);
    // Otherwise the gate would have that of all gates.
    stated->second = {settings{}, out.described->place};
    return out;
  }
  if (table) {
    out.name = take_from(*table, "name");
    for (auto key : keys_of_membership)
      if (auto x = take_from(*table, key))
        out.membership.emplace(key, std::move(*x));
    report_misspelled(*table, path / "worker", found);
  } else {
    out.name = take_from(gate, "worker");
  }
  if (auto* common = find_in(base, "worker"); table_in(common)) {
    auto merged = *common;
    auto i = gate.find("worker");
    if (auto* own = i != gate.end() ? table_in(&i->second) : nullptr) {
      merge_tables(std::get<settings>(merged.value), *own);
      merged.place = i->second.place;
    }
    gate.insert_or_assign("worker", std::move(merged));
  }
  return out;
}

std::string read_worker(const std::optional<setting>& stated, const section& at,
                        const worker_names& known, caf::actor_system& sys,
                        problems& out) {
  auto key = at.path / "worker";
  if (!stated) {
    auto kinds = known.kinds();
    out.push_back(
      {problem_kind::missing, key,
       "is missing; for a gate that only lends permits: \"none\""
         + (kinds.empty() ? std::string{}
                          : "; for one that the file describes, `kind`: "
                              + listed_names(kinds)),
       std::string{at.place}});
    return {};
  }
  auto* name = text_in(&*stated);
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
                   detail::quoted(*name), hint(nearest(*name, known.names())),
                   known_workers(known)),
       stated->place});
    return {};
  }
  return *name;
}

supervision_config read_supervision(const setting& described,
                                    const settings& base, const section& at,
                                    const supervision_config& kind,
                                    problems& out) {
  auto path = at.path / "worker" / "supervision";
  settings merged;
  auto place = described.place;
  if (const auto* common = table_in(find_in(base, "worker")))
    merged = *common;
  if (const auto* own = find_in(std::get<settings>(described.value),
                                "supervision")) {
    place = own->place;
    if (const auto* table = table_in(*own, path, out))
      merge_tables(merged, *table);
  }
  auto result = kind;
  auto found = read_settings(section{merged, path, place}, result);
  out.insert(out.end(), found.begin(), found.end());
  return result;
}

membership read_membership(const stated_worker& stated, const section& at,
                           const std::vector<std::string>& groups,
                           problems& out) {
  membership to;
  auto path = at.path / "worker";
  settings_reader fields{{stated.membership, path, at.place}, out};
  fields.on({"group", "the supervision group of the worker"}, to.group);
  fields.integer<std::uint32_t>(
    {.key = "rank",
     .help = "workers of a lower rank start before it",
     .needs = {"group"}},
    to.rank, {0, std::numeric_limits<std::uint32_t>::max()});
  fields.finish();
  auto* group = find_in(stated.membership, "group");
  if (!text_in(group))
    return to;
  if (auto* name = stated.name ? text_in(&*stated.name) : nullptr;
      name && *name == "none")
    out.push_back({problem_kind::relation, path / "group",
                   "is for gates that make their worker", group->place});
  else if (std::find(groups.begin(), groups.end(), to.group) == groups.end())
    out.push_back(
      {problem_kind::unknown, path / "group",
       fmt::format("no group is called {}{} known groups: {}",
                   detail::quoted(to.group), hint(nearest(to.group, groups)),
                   groups.empty() ? "none" : listed_names(groups)),
       group->place});
  return to;
}

} // namespace caisson::detail
