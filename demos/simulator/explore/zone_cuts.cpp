#include <simulator/explore/zone_cuts.hpp>

#include <simulator/scenario/call_graph.hpp>
#include <simulator/scenario/zones.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace caisson::sim {

namespace {

using zone_numbers = std::set<std::uint32_t>;

// In which zones callers and services are, by their names.
class zones_by_name {
public:
  explicit zones_by_name(const arm_config& arm) : map_(arm) {
    for (std::size_t i = 0; i < arm.services.size(); ++i)
      for (std::uint32_t k = 0; k < arm.services[i].replicas; ++k)
        add(arm.services[i].name, map_.of_replica(i, k));
    for (std::size_t i = 0; i < arm.loads.size(); ++i)
      add(arm.loads[i].name, map_.of_load(i));
  }

  [[nodiscard]] const zone_numbers& of(std::string_view name) const {
    static const zone_numbers none;
    auto found = by_name_.find(name);
    return found == by_name_.end() ? none : found->second;
  }

private:
  void add(const std::string& name, std::uint32_t zone) {
    if (zone != zone_map::nowhere)
      by_name_[name].insert(zone);
  }

  zone_map map_;
  std::map<std::string, zone_numbers, std::less<>> by_name_;
};

// By zone: those with which it exchanges messages.
std::vector<zone_numbers> neighbours_of(const arm_config& arm) {
  std::vector<zone_numbers> out(arm.zones.names.size());
  zones_by_name zones{arm};
  for (const auto& [caller, service] : called_pairs(arm))
    for (auto from : zones.of(caller))
      for (auto to : zones.of(service->name))
        if (from != to) {
          out[from].insert(to);
          out[to].insert(from);
        }
  return out;
}

} // namespace

std::vector<zone_cut> zone_cuts(const arm_config& arm) {
  auto all = neighbours_of(arm);
  std::vector<zone_cut> out;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    auto only = all[i].size() == 1 ? std::optional{*all[i].begin()}
                                   : std::nullopt;
    // The same as the other one's.
    if (all[i].empty() || (only && *only < i && all[*only].size() == 1))
      continue;
    auto& cut = out.emplace_back(zone_cut{arm.zones.names[i], {}});
    for (auto other : all[i])
      cut.other_zones.push_back(arm.zones.names[other]);
  }
  return out;
}

} // namespace caisson::sim
