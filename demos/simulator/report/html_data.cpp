#include <simulator/report/headline.hpp>
#include <simulator/report/html_columns.hpp>
#include <simulator/report/html_data.hpp>
#include <simulator/report/html_policies.hpp>
#include <simulator/report/html_samples.hpp>
#include <simulator/report/html_shown.hpp>
#include <simulator/report/json_values.hpp>
#include <simulator/report/shown_faults.hpp>
#include <simulator/report/text.hpp>
#include <simulator/scenario/faults.hpp>
#include <simulator/scenario/replicas.hpp>
#include <simulator/world/message_faults.hpp>
#include <simulator/world/world_plan.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace caisson::sim {

namespace {

using json = nlohmann::ordered_json;

// What is said of faults that hit more than others of their kind do.
std::string reach_of(const fault_config& f) {
  return f.in_progress ? " of all work" : "";
}

std::string fault_text(const fault_config& f) {
  auto name = std::string{fault_name(f.kind)};
  switch (f.kind) {
    case fault_kind::slow:
      return fmt::format("{} ×{:.4g}{}", name, f.factor, reach_of(f));
    case fault_kind::stall:
      return name + reach_of(f);
    case fault_kind::errors:
      return fmt::format("{} {:.4g} %", name, f.rate * 100);
    case fault_kind::capacity:
      return fmt::format("{} {}", name, f.servers);
    case fault_kind::partition:
      return fmt::format("{} {}", name, place_of(f));
    case fault_kind::loss:
      return fmt::format("{} {:.4g} % {}", name, f.rate * 100, place_of(f));
    case fault_kind::delay:
      return fmt::format("{} {} {}", name, to_text(f.delay), place_of(f));
    default:
      return name;
  }
}

// The same with what it hits: `slow ×8 payments#2`.
std::string fault_label(const fault_config& f, bool of_zone,
                        std::uint32_t replica) {
  if (hits_messages(f.kind))
    return fault_text(f);
  auto out = fmt::format("{} {}{}", fault_text(f), of_zone ? "zone " : "",
                         replica_target_in(f.target).service);
  if (replica > 0)
    out += fmt::format("#{}", replica);
  return out;
}

// By fault the routes, by index, with messages that it hits of any replica of
// the caller.
std::map<const fault_config*, std::set<std::size_t>>
edges_by_fault(const world_plan& plan) {
  std::map<const fault_config*, std::set<std::size_t>> out;
  for (std::size_t i = 0; i < plan.routes.size(); ++i) {
    const auto& r = plan.routes[i];
    for (std::uint32_t caller = 0; caller < r.callers; ++caller) {
      message_faults known{plan.message_faults_of_arm, plan.ends_of(r, caller)};
      for (std::size_t k = 0; k < known.size(); ++k)
        out[&known[k]].insert(i);
    }
  }
  return out;
}

// The services with replicas in the zone that it hits, and whether these are
// all that they have; null if it hits no zone.
json services_hit_by(const fault_config& f, const world_plan& plan) {
  if (hits_messages(f.kind) || !is_zone(plan.arm, f.target))
    return nullptr;
  auto out = json::object();
  for (std::size_t i = 0; i < plan.arm.services.size(); ++i) {
    auto names = plan.zones.names_of(plan.arm, i);
    if (std::ranges::find(names, f.target) != names.end())
      out[plan.arm.services[i].name] = names.size() == 1;
  }
  return out;
}

json faults_of(const world_plan& plan, const arm_result& r) {
  const auto& arm = plan.arm;
  auto out = json::array();
  auto edges = edges_by_fault(plan);
  for (std::size_t i = 0; i < arm.faults.size(); ++i) {
    const auto& f = arm.faults[i];
    json fault{{"kind", fault_name(f.kind)},
               {"target", replica_target_in(f.target).service}};
    auto hit = services_hit_by(f, plan);
    if (!hit.is_null())
      fault["services"] = hit;
    for (const auto& x : shown_fault_times(arm, i, r)) {
      fault["at"] = to_seconds(x.at);
      fault["lasts"] = f.kind == fault_kind::flush ? 0.0 : to_seconds(x.lasts);
      fault["text"] = hit.is_null()
                        ? fault_text(f)
                        : fmt::format("{} (zone {})", fault_text(f), f.target);
      if (x.replica > 0) {
        fault["replica"] = x.replica;
        fault["text"] = fmt::format("{} (#{})", fault_text(f), x.replica);
      }
      fault["label"] = fault_label(f, !hit.is_null(), x.replica);
      if (hits_messages(f.kind) && !fault.contains("edges"))
        fault["edges"] = edges[&f];
      out.push_back(fault);
    }
  }
  return out;
}

json services_of(const arm_config& arm) {
  auto out = json::array();
  for (const auto& s : arm.services)
    out.push_back(
      {{"name", s.name},
       {"workers",
        s.servers == no_limit ? json(nullptr) : json(all_servers(s))},
       {"cores", s.cores == no_limit ? json(nullptr) : json(all_cores(s))},
       {"replicas", s.replicas},
       {"stack", s.stack}});
  return out;
}

json loads_of(const arm_config& arm) {
  auto out = json::array();
  for (const auto& load : arm.loads)
    out.push_back(load.name);
  return out;
}

json operations_of(const world_plan& plan) {
  auto out = json::array();
  for (const auto& op : plan.operations)
    out.push_back(op.name);
  return out;
}

// Those of all callers to all replicas together; null if they have no limit.
json connection_limit(const world_plan& plan, const route& r) {
  const auto& c = r.edge.connections;
  if (!c.limited())
    return nullptr;
  return std::uint64_t{c.most} * r.callers * plan.arm.services[r.to].replicas;
}

json edges_of(const world_plan& plan) {
  auto out = json::array();
  for (const auto& r : plan.routes)
    out.push_back({{"from", r.from},
                   {"to", plan.arm.services[r.to].name},
                   {"client", r.from_client},
                   {"gate", r.name},
                   {"stack", r.edge.stack},
                   {"connections", connection_limit(plan, r)}});
  return out;
}

// Breakers on a route name its index; those in front of a service none.
json breakers_of(const arm_result& r, const world_plan& plan,
                 const html_columns& columns) {
  auto out = json::array();
  std::map<std::string, std::size_t, std::less<>> gates;
  for (std::size_t i = 0; i < plan.routes.size(); ++i)
    for (std::uint32_t k = 0; k < plan.routes[i].callers; ++k)
      gates.emplace(plan.routes[i].gate_name(k), i);
  for (std::size_t i = 0; i < r.breakers.size(); ++i) {
    // GATE/LAYER
    std::string_view name{r.breakers[i]};
    auto found = gates.find(name.substr(0, name.rfind('/')));
    auto edge = found == gates.end() ? json(nullptr) : json(found->second);
    out.push_back({{"name", r.breakers[i]},
                   {"edge", std::move(edge)},
                   {"changes", columns.breaker(i)}});
  }
  return out;
}

json arm_data(const arm_config& arm, const arm_result& r, std::uint32_t step) {
  world_plan plan{arm};
  html_columns columns{r, step};
  auto result = arm_values(r);
  result.erase("gates");
  result.erase("breakers");
  json out{{"name", r.name},
           {"title", r.title},
           {"headline", headline(arm, r)},
           {"verdict_text", verdict_text(r)},
           {"result", std::move(result)},
           {"card", card_values(r)},
           {"card_loads", load_card_values(r)},
           {"faults", faults_of(plan, r)},
           {"loads", loads_of(arm)},
           {"services", services_of(arm)},
           {"operations", operations_of(plan)},
           {"edges", edges_of(plan)},
           {"rows", columns.rows()},
           {"seconds", columns.requests()}};
  auto loads = json::array();
  for (std::size_t i = 0; i < arm.loads.size(); ++i)
    loads.push_back(columns.load(i));
  out["load_seconds"] = std::move(loads);
  auto services = json::array();
  for (std::size_t i = 0; i < arm.services.size(); ++i)
    services.push_back(columns.service(i));
  out["service_seconds"] = std::move(services);
  auto edges = json::array();
  std::size_t limited = 0;
  for (std::size_t i = 0; i < plan.routes.size(); ++i) {
    edges.push_back(columns.edge(i));
    if (plan.routes[i].edge.connections.limited())
      edges.back()["connections"] = columns.connections(limited++);
  }
  out["edge_seconds"] = std::move(edges);
  out["breakers"] = breakers_of(r, plan, columns);
  out["samples"] = r.details ? sample_values(*r.details) : json::array();
  return out;
}

} // namespace

json html_data(const report& r, const html_source& source) {
  auto names = json::array();
  for (const auto& arm : r.arms)
    names.push_back(arm.name);
  auto verdicts = json::array();
  for (const auto& s : summaries(r))
    verdicts.push_back(summary_values(s));
  static const seed_run none;
  const auto& run = r.runs.empty() ? none : r.runs.front();
  auto step = step_for(run);
  json out{{"format", 1},
           {"version", source.version},
           {"title", r.title},
           {"file", r.file},
           {"seed", r.seed},
           {"seeds", r.seeds},
           {"interrupted", r.interrupted},
           {"command", source.command},
           {"scenario", source.scenario},
           {"failures", r.failures},
           {"verdicts", std::move(verdicts)},
           {"step", step},
           {"columns", shown_columns()},
           {"arm_names", std::move(names)}};
  out.update(policy_values(r));
  auto arms = json::array();
  for (std::size_t i = 0; i < run.arms.size() && i < r.arms.size(); ++i)
    arms.push_back(arm_data(r.arms[i], run.arms[i], step));
  out["arms"] = std::move(arms);
  return out;
}

} // namespace caisson::sim
