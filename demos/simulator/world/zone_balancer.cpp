#include <simulator/world/zone_balancer.hpp>

#include <simulator/world/purpose.hpp>

#include <numeric>
#include <utility>

namespace caisson::sim {

namespace {

using replica_list = std::vector<std::size_t>;

std::vector<replica_list> by_zone(const zone_layout& where, std::size_t zones) {
  std::vector<replica_list> out(zones);
  for (std::size_t i = 0; i < where.replicas.size(); ++i)
    out[where.replicas[i]].push_back(i);
  return out;
}

replica_list replicas_in(const zone_layout& where, std::uint32_t zone) {
  replica_list out;
  for (std::size_t i = 0; i < where.replicas.size(); ++i)
    if (where.replicas[i] == zone)
      out.push_back(i);
  return out;
}

} // namespace

zone_balancer::zone_balancer(const edge_config& edge, const zone_layout& where)
  : places_(where.replicas.size()) {
  auto has_home = where.home != zone_map::nowhere;
  if (has_home && edge.routing == zone_routing::proportional)
    add_in_proportion(edge.balancer, where);
  else if (has_home && edge.routing == zone_routing::local)
    add(edge.balancer, replicas_in(where, where.home), 1);
  if (!groups_.empty())
    return;
  replica_list all(where.replicas.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  add(edge.balancer, std::move(all), 1);
}

void zone_balancer::add(balancing kind, replica_list replicas, double upto) {
  if (replicas.empty())
    return;
  for (std::size_t i = 0; i < replicas.size(); ++i)
    places_[replicas[i]] = {groups_.size(), i};
  groups_.push_back(
    {balancer{kind, replicas.size()}, std::move(replicas), upto});
}

// If each zone has a share u of the replicas and a share l of the callers, home
// takes all calls of its own, or u / l of them if that is less. What is left
// goes to where u is more than l, in proportion to the difference. So each zone
// gets a share u of the calls, if all callers are equally busy.
void zone_balancer::add_in_proportion(balancing kind,
                                      const zone_layout& where) {
  auto replicas = by_zone(where, where.callers.size());
  auto callers = std::accumulate(where.callers.begin(), where.callers.end(),
                                 std::uint64_t{0});
  // Both shares, times the number of replicas and that of callers.
  auto has = [&](std::size_t z) { return replicas[z].size() * callers; };
  auto needs = [&](std::size_t z) {
    return where.callers[z] * where.replicas.size();
  };
  auto spare = [&](std::size_t z) {
    return has(z) > needs(z) ? has(z) - needs(z) : 0;
  };
  auto real = [](std::uint64_t n) { return static_cast<double>(n); };
  auto home = where.home;
  if (has(home) >= needs(home))
    return add(kind, std::move(replicas[home]), 1);
  double kept = real(has(home)) / real(needs(home));
  std::uint64_t all_spare = 0;
  for (std::size_t z = 0; z < replicas.size(); ++z)
    all_spare += spare(z);
  add(kind, std::move(replicas[home]), kept);
  std::uint64_t sum = 0;
  for (std::size_t z = 0; z < replicas.size(); ++z)
    if (auto more = spare(z); more > 0) {
      sum += more;
      add(kind, std::move(replicas[z]),
          kept + (1 - kept) * real(sum) / real(all_spare));
    }
}

std::size_t zone_balancer::choose(draw_key key) {
  std::size_t g = 0;
  if (groups_.size() > 1) {
    auto x = keyed_random{key.with(purpose::zone)}.uniform();
    while (g + 1 < groups_.size() && x >= groups_[g].upto)
      ++g;
  }
  keyed_random random{key.with(purpose::replica)};
  return groups_[g].replicas[groups_[g].choice.choose(random)];
}

void zone_balancer::over(std::size_t replica) {
  auto at = places_[replica];
  groups_[at.group].choice.over(at.index);
}

} // namespace caisson::sim
