#include <simulator/report/json.hpp>
#include <simulator/report/json_layout.hpp>
#include <simulator/report/json_values.hpp>
#include <simulator/report/metrics.hpp>
#include <simulator/scenario/verdict_kind.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <ostream>

namespace caisson::sim {

namespace {

using json = nlohmann::ordered_json;

json number(double x) {
  return std::isfinite(x) ? json(x) : json(nullptr);
}

json to_json(const spread& s) {
  return {{"min", number(s.min)},
          {"median", number(s.median)},
          {"max", number(s.max)}};
}

json to_json(const latency_summary& s) {
  return {
    {"count", s.count},           {"mean", to_seconds(s.mean)},
    {"p50", to_seconds(s.p50)},   {"p90", to_seconds(s.p90)},
    {"p95", to_seconds(s.p95)},   {"p99", to_seconds(s.p99)},
    {"p999", to_seconds(s.p999)}, {"max", to_seconds(s.max)},
  };
}

json to_json(const request_counts& n) {
  json errors = json::object();
  for (const auto& [kind, count] : n.errors)
    errors[kind] = count;
  return {
    {"offered", n.offered}, {"attempts", n.attempts},
    {"good", n.good},       {"substituted", n.substituted},
    {"failed", n.failed},   {"errors", std::move(errors)},
  };
}

json success_of(std::uint64_t good, std::uint64_t offered) {
  return offered == 0
           ? json(nullptr)
           : json(static_cast<double>(good) / static_cast<double>(offered));
}

json to_json(const load_summary& x) {
  json errors = json::object();
  for (const auto& [kind, count] : x.errors)
    errors[kind] = count;
  return {
    {"name", x.name},
    {"success", success_of(x.good, x.offered)},
    {"offered", x.offered},
    {"good", x.good},
    {"substituted", x.substituted},
    {"failed", x.failed},
    {"errors", std::move(errors)},
    {"unanswered", x.unanswered()},
    {"latency", to_json(x.latency)},
  };
}

json to_json(const service_summary& s) {
  json out{
    {"name", s.name},
    {"arrivals", s.arrivals},
    {"refused", s.refused},
    {"shed", s.shed},
    {"down", s.down},
    {"completed", s.completed},
    {"failed", s.failed},
    {"abandoned", s.abandoned},
    {"lost", s.lost},
    {"late", s.late},
    {"started", s.started},
    {"waited", s.waited},
    {"mean_wait", to_seconds(s.mean_wait)},
    {"mean_service", to_seconds(s.mean_service)},
    {"mean_sojourn", to_seconds(s.mean_sojourn)},
    {"utilization", number(s.utilization)},
    {"mean_inside", number(s.mean_inside)},
    {"queue_max", s.queue_max},
    {"little_error", number(s.little_error)},
  };
  if (!s.zone.empty())
    out["zone"] = s.zone;
  for (const auto& x : s.replicas)
    out["replicas"].push_back(to_json(x));
  return out;
}

json to_json(const std::map<std::string, std::int64_t>& metrics) {
  json out = json::object();
  for (const auto& [name, value] : metrics)
    out[name] = value;
  return out;
}

json to_json(const connection_summary& c) {
  return {{"asked", c.asked},
          {"waited", c.waited},
          {"refused", c.refused},
          {"expired", c.expired},
          {"abandoned", c.abandoned},
          {"opened", c.opened},
          {"mean_wait", to_seconds(c.mean_wait)},
          {"mean_used", number(c.mean_used)},
          {"used_max", c.used_max},
          {"waiting_max", c.waiting_max}};
}

json to_json(const edge_summary& e) {
  json out{{"name", e.name},
           {"calls", e.calls},
           {"lost_calls", e.lost_calls},
           {"lost_answers", e.lost_answers},
           {"repeated", e.repeated}};
  if (e.zoned)
    out["crossed"] = e.crossed;
  if (e.connections)
    out["connections"] = to_json(*e.connections);
  return out;
}

json to_json(const gate_summary& g) {
  json layers = json::array();
  for (const auto& layer : g.layers)
    layers.push_back({{"name", layer.name},
                      {"kind", layer.kind},
                      {"state", layer.state},
                      {"metrics", to_json(layer.metrics)}});
  return {{"name", g.name},
          {"stack", g.stack},
          {"metrics", to_json(g.metrics)},
          {"layers", std::move(layers)}};
}

json to_json(const service_row& s, bool has_cores) {
  json out{
    {"arrivals", s.arrivals},   {"refused", s.refused},
    {"completed", s.completed}, {"failed", s.failed},
    {"queue", s.queue},         {"busy", s.busy},
    {"queue_max", s.queue_max},
  };
  if (s.workers > 0)
    out["workers"] = s.workers;
  if (has_cores)
    out["cores_used"] = s.cores_used;
  return out;
}

json to_json(const connection_row& c) {
  return {{"used", c.used},       {"used_max", c.used_max},
          {"waiting", c.waiting}, {"waiting_max", c.waiting_max},
          {"refused", c.refused}, {"expired", c.expired}};
}

// By name of the edge.
json connections_by_edge(const result_row& row, const arm_result& r) {
  json out = json::object();
  std::size_t i = 0;
  for (const auto& e : r.edges)
    if (e.connections && i < row.connections.size())
      out[e.name] = to_json(row.connections[i++]);
  return out;
}

json to_json(const result_row& row, const arm_result& r) {
  json out{{"second", row.second}};
  out.update(to_json(row.requests));
  out["prompt"] = row.prompt;
  out["latency"] = to_json(row.latency);
  json loads = json::object();
  for (std::size_t i = 0; i < std::min(row.loads.size(), r.loads.size()); ++i)
    loads[r.loads[i].name] = {{"offered", row.loads[i].offered},
                              {"good", row.loads[i].good},
                              {"failed", row.loads[i].failed}};
  out["loads"] = std::move(loads);
  json services = json::object();
  for (std::size_t i = 0; i < std::min(row.services.size(), r.services.size());
       ++i)
    services[r.services[i].name] = to_json(row.services[i],
                                           r.services[i].cores > 0);
  out["services"] = std::move(services);
  if (!row.connections.empty())
    out["connections"] = connections_by_edge(row, r);
  json breakers = json::object();
  for (std::size_t i = 0; i < std::min(row.breakers.size(), r.breakers.size());
       ++i)
    breakers[r.breakers[i]] = row.breakers[i];
  out["breakers"] = std::move(breakers);
  return out;
}

json to_json(const relapse& x) {
  return {{"at", x.at}, {"until", x.until ? json(*x.until) : json(nullptr)}};
}

json to_json(const arm_summary& s);

template <class T>
json list_of(const std::vector<T>& xs) {
  json out = json::array();
  for (const auto& x : xs)
    out.push_back(to_json(x));
  return out;
}

json verdict_of(const arm_result& r) {
  // A part of a run says nothing about its end.
  if (r.interrupted)
    return nullptr;
  return verdict_name(r.verdict);
}

// Null if there was no fault, and so nothing to recover from.
json recovered_at_of(const arm_result& r) {
  if (!r.recovered_at || r.verdict == verdict_kind::no_fault)
    return nullptr;
  return *r.recovered_at;
}

json recovery_of(const arm_result& r) {
  if (r.verdict == verdict_kind::no_fault)
    return nullptr;
  return number(metric_of(r, "recovery"));
}

json to_json(const arm_summary& s) {
  return summary_values(s);
}

// -- the whole ----------------------------------------------------------------

// Rows one by one, as all of them would take many times the memory of the
// results.
void write_rows(json_layout& to, const arm_result& r) {
  to.key("step");
  to.value(r.step);
  to.key("seconds");
  if (r.rows.empty()) {
    to.value(json::array());
    return;
  }
  to.open_list();
  for (const auto& row : r.rows)
    to.value(to_json(row, r));
  to.close();
}

void write_run(json_layout& to, const seed_run& run, bool rows) {
  if (run.arms.empty()) {
    to.value({{"seed", run.seed}, {"arms", json::array()}});
    return;
  }
  to.open_table();
  to.key("seed");
  to.value(run.seed);
  to.key("arms");
  to.open_list();
  for (const auto& arm : run.arms) {
    to.open_table();
    to.members(arm_values(arm));
    if (rows)
      write_rows(to, arm);
    to.close();
  }
  to.close();
  to.close();
}

void write_report(std::ostream& out, const report& r, bool rows) {
  json_layout to{out};
  to.open_table();
  to.members({{"format", 1},
              {"title", r.title},
              {"file", r.file},
              {"seed", r.seed},
              {"seeds", r.seeds},
              {"interrupted", r.interrupted}});
  to.key("runs");
  if (r.runs.empty()) {
    to.value(json::array());
  } else {
    to.open_list();
    for (const auto& run : r.runs)
      write_run(to, run, rows);
    to.close();
  }
  to.members({{"verdicts", list_of(summaries(r))}, {"failures", r.failures}});
  to.close();
}

} // namespace

json arm_values(const arm_result& r) {
  json out{
    {"name", r.name},
    {"title", r.title},
    {"seed", r.seed},
    {"length", to_seconds(r.length)},
    {"warmup", to_seconds(r.warmup)},
    {"end", to_seconds(r.end)},
    {"interrupted", r.interrupted},
    {"verdict", verdict_of(r)},
    {"recovery_from",
     r.recovery_from ? json(to_seconds(*r.recovery_from)) : json(nullptr)},
    {"recovered_at", recovered_at_of(r)},
    {"recovery", recovery_of(r)},
    {"relapses", list_of(r.relapses)},
    {"warnings", r.warnings},
    {"success", success_of(r.totals.good, r.totals.offered)},
    {"amplification", metric_of(r, "amplification")},
    {"totals", to_json(r.totals)},
    {"unanswered", r.unanswered},
    {"answered_twice", r.answered_twice},
    {"latency", to_json(r.latency)},
  };
  json operations = json::object();
  for (const auto& [operation, latency] : r.by_operation)
    operations[operation] = to_json(latency);
  out["by_operation"] = std::move(operations);
  out["loads"] = list_of(r.loads);
  out["services"] = list_of(r.services);
  if (!r.edges.empty())
    out["edges"] = list_of(r.edges);
  out["gates"] = list_of(r.gates);
  out["breakers"] = r.breakers;
  out["events"] = r.events;
  out["digest"] = fmt::format("{:016x}", r.digest);
  return out;
}

json summary_values(const arm_summary& s) {
  json out{{"arm", s.name}, {"runs", s.runs}};
  out["recovered"] = s.count(verdict_kind::recovered);
  out["degraded"] = s.count(verdict_kind::degraded);
  out["stuck"] = s.count(verdict_kind::stuck);
  out["no_fault"] = s.count(verdict_kind::no_fault);
  out["relapsed"] = s.relapsed;
  out["recovery"] = to_json(s.recovery);
  out["success"] = to_json(s.success);
  out["p99"] = to_json(s.p99);
  return out;
}

void write_json(std::ostream& out, const report& r) {
  write_report(out, r, true);
}

void write_json_totals(std::ostream& out, const report& r) {
  write_report(out, r, false);
}

} // namespace caisson::sim
