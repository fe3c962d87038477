#include <simulator/scenario/zones.hpp>

#include <simulator/scenario/distribution_value.hpp>
#include <simulator/scenario/edges.hpp>
#include <simulator/scenario/replicas.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace caisson::sim {

// -- as configuration ---------------------------------------------------------

void describe(field_visitor& v, zone_config& c) {
  names_value names{c.names};
  v.on({.key = "names",
        .help = "what the zones are called",
        .allowed = "a name or a list of names",
        .required = true},
       names);
  v.on({"between", "what is added to the latency of each message from one zone "
                   "to another"},
       c.between);
}

void check(const zone_config& c, const setting_path& path, problems& out) {
  auto key = path / "names";
  std::set<std::string_view> known;
  for (std::size_t i = 0; i < c.names.size(); ++i) {
    detail::check_name(c.names[i], {}, key / i, out);
    if (!known.insert(c.names[i]).second)
      out.push_back({problem_kind::relation, key / i,
                     fmt::format("another zone is already called {}",
                                 detail::quoted(c.names[i]))});
  }
  if (c.names.size() > most_zones)
    out.push_back({problem_kind::range, key,
                   fmt::format("{} zones are too many, allowed: at most {}",
                               c.names.size(), most_zones)});
}

namespace {

// Looks at all that names zones, and at what zones are called.
class zone_check {
public:
  zone_check(const arm_config& arm, problems& out)
    : arm_(arm), names_(arm.zones.names.begin(), arm.zones.names.end()),
      out_(out) {}

  void zone(std::string_view name, const setting_path& key) {
    if (names_.contains(name))
      return;
    out_.push_back(
      {problem_kind::unknown, key,
       names_.empty()
         ? fmt::format("{} is not a zone: the scenario defines none; list "
                       "them in `names` of [zones]",
                       detail::quoted(name))
         : fmt::format("{} is not a zone, allowed: {}", detail::quoted(name),
                       detail::listed_names(arm_.zones.names))});
  }

  void service(const service_config& s) {
    auto key = setting_path{} / "service" / s.name / "zones";
    if (s.zones.size() == 1 && s.zones.front() == "*")
      return;
    for (std::size_t i = 0; i < s.zones.size(); ++i)
      zone(s.zones[i], key / i);
  }

  void load(const load_config& l) {
    if (!l.zone.empty())
      zone(l.zone, setting_path{} / "load" / l.name / "zone");
  }

  // A name must mean one thing, since faults may hit either.
  void own_names() {
    std::map<std::string_view, std::string_view> kinds_by_name;
    for (const auto& g : arm_.groups)
      kinds_by_name.emplace(g.name, "group");
    for (const auto& l : arm_.loads)
      kinds_by_name.emplace(l.name, "load");
    for (const auto& s : arm_.services)
      kinds_by_name.emplace(s.name, "service");
    for (std::size_t i = 0; i < arm_.zones.names.size(); ++i) {
      const auto& name = arm_.zones.names[i];
      if (auto found = kinds_by_name.find(name); found != kinds_by_name.end())
        out_.push_back({problem_kind::relation,
                        setting_path{} / "zones" / "names" / i,
                        fmt::format("{} is the name of a {} already",
                                    detail::quoted(name), found->second)});
    }
  }

  void edge(const edge_rule& rule, std::size_t index) {
    if (names_.empty()
        && rule.routing.value_or(zone_routing::any) != zone_routing::any)
      out_.push_back({problem_kind::relation,
                      setting_path{} / "edge" / index / "zone_routing",
                      "has no effect, as there are no zones"});
  }

  // Unknown targets are reported elsewhere.
  void faults() {
    std::set<std::string_view> used;
    zone_map zones{arm_};
    for (std::size_t i = 0; i < arm_.services.size(); ++i)
      for (auto name : zones.names_of(arm_, i))
        used.insert(name);
    for (std::size_t i = 0; i < arm_.faults.size(); ++i) {
      const auto& f = arm_.faults[i];
      if (names_.contains(f.target) && !used.contains(f.target))
        out_.push_back({problem_kind::relation,
                        setting_path{} / "fault" / i / "target",
                        fmt::format("hits nothing: no replica is in zone {}",
                                    detail::quoted(f.target))});
    }
  }

private:
  const arm_config& arm_;
  std::set<std::string_view> names_;
  problems& out_;
};

} // namespace

void check_zones(const arm_config& arm, problems& out) {
  zone_check check{arm, out};
  check.own_names();
  for (const auto& s : arm.services)
    check.service(s);
  for (const auto& load : arm.loads)
    check.load(load);
  for (std::size_t i = 0; i < arm.edges.size(); ++i)
    check.edge(arm.edges[i], i);
  check.faults();
}

std::vector<std::string> zone_warnings(const arm_config& arm) {
  std::vector<std::string> out;
  for (const auto& s : arm.services) {
    if (s.zones.size() <= s.replicas)
      continue;
    auto used = s.zones.begin() + s.replicas;
    std::set<std::string> without{used, s.zones.end()};
    for (auto i = s.zones.begin(); i != used; ++i)
      without.erase(*i);
    if (without.empty())
      continue;
    out.push_back(fmt::format(
      "service {} has {} replica{} for {} zones: none is in {}", s.name,
      s.replicas, s.replicas == 1 ? "" : "s", s.zones.size(),
      detail::listed_names(
        std::vector<std::string>{without.begin(), without.end()})));
  }
  return out;
}

// -- as a map -----------------------------------------------------------------

bool is_zone(const arm_config& arm, std::string_view name) {
  return std::ranges::find(arm.zones.names, name) != arm.zones.names.end();
}

zone_map::zone_map(const arm_config& arm) : names_(&arm.zones.names) {
  std::map<std::string_view, std::uint32_t> numbers;
  for (const auto& name : *names_)
    numbers.emplace(name, static_cast<std::uint32_t>(numbers.size()));
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < size(); ++i)
    all.push_back(i);
  for (const auto& s : arm.services) {
    auto& list = services_.emplace_back();
    for (const auto& name : s.zones)
      if (auto found = numbers.find(name); found != numbers.end())
        list.push_back(found->second);
      else if (name == "*")
        list = all;
  }
  for (const auto& load : arm.loads) {
    auto found = numbers.find(load.zone);
    loads_.push_back(found == numbers.end() ? nowhere : found->second);
  }
}

std::vector<std::string_view> zone_map::names_of(const arm_config& arm,
                                                 std::size_t service) const {
  std::set<std::uint32_t> used;
  const auto& list = services_[service];
  auto n = std::min<std::size_t>(list.size(), arm.services[service].replicas);
  used.insert(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(n));
  std::vector<std::string_view> out;
  out.reserve(used.size());
  for (auto zone : used)
    out.push_back(name(zone));
  return out;
}

bool target_hits(const arm_config& arm, const zone_map& zones,
                 std::string_view target, std::size_t service,
                 std::uint32_t replica) {
  auto named = replica_target_in(target);
  if (named.service == arm.services[service].name)
    return named.number.value_or(replica + 1) == replica + 1;
  auto zone = zones.of_replica(service, replica);
  return zone != zone_map::nowhere && zones.name(zone) == target;
}

} // namespace caisson::sim
