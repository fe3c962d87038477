#include <sim/world/world_plan.hpp>

#include <sim/scenario/edges.hpp>

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace caisson::sim {

world_plan::world_plan(const arm_config& a) : arm(a) {
  caches.resize(arm.services.size());
  add_operations();
  std::size_t next = 0;
  for (std::uint32_t s = 0; s < arm.services.size(); ++s)
    for (const auto& op : arm.services[s].operations)
      plan_steps(s, op, operations[next++]);
  plan_loads();
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
    throw config_error{{{problem_kind::unknown, setting_path{} / name,
                         "there is no such operation"}}};
  return found->second;
}

std::uint32_t world_plan::route_for(const std::string& from, bool from_client,
                                    std::uint32_t to, const edge_config& edge) {
  auto& between = routes_between_[{from, to}];
  for (auto i : between) {
    const auto& r = routes[i];
    if (r.edge.stack == edge.stack && r.edge.latency == edge.latency)
      return i;
  }
  auto name = fmt::format("{} -> {}", from, arm.services[to].name);
  // A further route between the two differs in policies or latency.
  if (!between.empty())
    name += fmt::format(" ({})", between.size() + 1);
  between.push_back(static_cast<std::uint32_t>(routes.size()));
  routes.push_back({std::move(name), from, to, from_client, edge});
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
      p.route = route_for(caller, false, operations[p.operation].service, edge);
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
  for (const auto& load : arm.loads) {
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
      t.route = route_for(load.name, true, operations[t.operation].service,
                          edge);
      t.upto = (upto += weight) / sum;
      list.push_back(t);
    }
  }
}

} // namespace caisson::sim
