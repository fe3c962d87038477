#include <simulator/world/world_plan.hpp>

#include <simulator/scenario/edges.hpp>

#include <fmt/format.h>

#include <set>
#include <stdexcept>
#include <utility>

namespace caisson::sim {

world_plan::world_plan(const arm_config& a)
  : arm(a), zones(a), message_faults_of_arm(a) {
  caches.resize(arm.services.size());
  add_instances();
  add_operations();
  std::size_t next = 0;
  for (std::uint32_t s = 0; s < arm.services.size(); ++s)
    for (const auto& op : arm.services[s].operations)
      plan_steps(s, op, operations[next++]);
  plan_loads();
  number_gates();
  find_zones();
  find_networks();
}

std::string route::gate_name(std::uint32_t caller) const {
  return callers == 1
           ? name
           : fmt::format("{}#{}{}", from, caller + 1, name.substr(from.size()));
}

void world_plan::number_gates() {
  std::uint32_t next = 0;
  for (auto& r : routes) {
    if (!r.from_client)
      r.callers = arm.services[r.from_index].replicas;
    r.first_gate = next;
    next += r.callers;
  }
}

void world_plan::find_zones() {
  for (auto& r : routes)
    // The replicas of a service are all in zones, or none of them is.
    r.zoned = zones.size() > 0 && zone_of_caller(r, 0) != zone_map::nowhere;
  // Loads that call a service know of each other, as replicas do.
  std::map<std::uint32_t, std::vector<std::uint32_t>> loads;
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (const auto& r : routes)
    if (r.zoned && r.from_client && seen.emplace(r.from_index, r.to).second) {
      auto& count = loads[r.to];
      count.resize(zones.size());
      ++count[zones.of_load(r.from_index)];
    }
  for (auto& r : routes) {
    if (!r.zoned || r.edge.routing != zone_routing::proportional)
      continue;
    if (r.from_client) {
      r.callers_by_zone = loads[r.to];
      continue;
    }
    r.callers_by_zone.resize(zones.size());
    for (std::uint32_t i = 0; i < r.callers; ++i)
      ++r.callers_by_zone[zone_of_caller(r, i)];
  }
}

void world_plan::find_networks() {
  for (auto& r : routes) {
    const auto& network = r.edge.network;
    r.has_network = network.jitter > duration::zero() || network.loss > 0
                    || network.bandwidth > 0;
    for (std::uint32_t i = 0; !r.has_network && i < r.callers; ++i)
      r.has_network = message_faults{message_faults_of_arm, ends_of(r, i)}
                        .size()
                      > 0;
  }
}

route_ends world_plan::ends_of(const route& r, std::uint32_t caller) const {
  const auto& to = arm.services[r.to];
  return {.caller = r.from,
          .caller_number = r.from_client ? 0 : caller + 1,
          .service = to.name,
          .replicas = to.replicas,
          .zones = &zones,
          .service_index = r.to,
          .caller_zone = zones.name(zone_of_caller(r, caller))};
}

void world_plan::add_instances() {
  for (std::uint32_t s = 0; s < arm.services.size(); ++s) {
    first_instance.push_back(static_cast<std::uint32_t>(instances.size()));
    for (std::uint32_t i = 0; i < arm.services[s].replicas; ++i)
      instances.push_back({s, i});
  }
}

void world_plan::add_operations() {
  for (std::uint32_t s = 0; s < arm.services.size(); ++s)
    for (const auto& op : arm.services[s].operations) {
      operation_index_.emplace(op.name, operations.size());
      auto& x = operations.emplace_back();
      x.name = op.name;
      x.service = s;
      x.time = op.time;
      x.item_time = op.item_time;
    }
}

std::uint32_t world_plan::operation_named(std::string_view name) const {
  auto found = operation_index_.find(name);
  if (found == operation_index_.end())
    throw config_error{
      {{problem_kind::unknown, setting_path{} / name, "unknown operation"}}};
  return found->second;
}

std::uint32_t world_plan::route_for(std::uint32_t from_index, bool from_client,
                                    std::uint32_t to, const edge_config& edge) {
  const auto& from = from_client ? arm.loads[from_index].name
                                 : arm.services[from_index].name;
  auto& between = routes_between_[{from, to}];
  for (auto i : between)
    if (share_a_route(routes[i].edge, edge))
      return i;
  auto name = fmt::format("{} -> {}", from, arm.services[to].name);
  // A further route between the two differs in policies or in the network.
  if (!between.empty())
    name += fmt::format(" ({})", between.size() + 1);
  between.push_back(static_cast<std::uint32_t>(routes.size()));
  routes.push_back({.name = std::move(name),
                    .from = from,
                    .from_index = from_index,
                    .to = to,
                    .from_client = from_client,
                    .edge = edge});
  return between.back();
}

void world_plan::plan_steps(std::uint32_t service, const operation_config& from,
                            planned_operation& into) {
  const auto& caller = arm.services[service].name;
  for (const auto& s : from.steps) {
    auto& next = into.steps.emplace_back();
    next.work = s.work;
    for (const auto& c : s.calls) {
      planned_call p;
      p.config = c;
      p.operation = operation_named(c.to);
      auto edge = edge_between(arm, caller, c.to);
      p.idempotent = edge.idempotent;
      p.route = route_for(service, false, operations[p.operation].service,
                          edge);
      if (c.cache_keys > 0) {
        p.cache = static_cast<std::uint32_t>(caches[service].size());
        caches[service].push_back({c.cache_keys, c.cache_ttl});
        p.keys = std::make_shared<popularity>(c.cache_keys, c.cache_skew);
      }
      next.calls.push_back(std::move(p));
    }
  }
}

void world_plan::plan_loads() {
  for (std::uint32_t i = 0; i < arm.loads.size(); ++i) {
    const auto& load = arm.loads[i];
    auto& list = targets.emplace_back();
    double sum = 0;
    for (const auto& [name, weight] : load.mix)
      sum += weight;
    double upto = 0;
    for (const auto& [name, weight] : load.mix) {
      planned_target t;
      t.operation = operation_named(name);
      auto edge = edge_between(arm, load.name, name);
      t.idempotent = edge.idempotent;
      t.route = route_for(i, true, operations[t.operation].service, edge);
      t.upto = (upto += weight) / sum;
      list.push_back(t);
    }
  }
}

} // namespace caisson::sim
