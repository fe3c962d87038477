#include <simulator/report/json.hpp>
#include <simulator/report/json_layout.hpp>
#include <simulator/report/json_values.hpp>
#include <simulator/report/metrics.hpp>
#include <simulator/results/verdict_kind.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <type_traits>
#include <variant>

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

// What is stored of a record, in the order of its columns.
template <class Columns, class Record, class Whole>
void add_stored(json& to, const Columns& columns, const Record& x,
                const Whole& of) {
  auto add = [&](std::string_view name, auto field) {
    if constexpr (std::is_same_v<decltype(field), std::uint64_t Record::*>)
      to[name] = x.*field;
    else if constexpr (std::is_same_v<decltype(field), duration Record::*>)
      to[name] = to_seconds(x.*field);
    else if constexpr (std::is_same_v<decltype(field), double Record::*>)
      to[name] = number(x.*field);
  };
  for (const auto& c : columns)
    if (!c.applies || c.applies(x, of))
      std::visit([&](auto field) { add(c.name, field); }, c.value);
}

template <class Columns, class Record>
json stored_of(const Columns& columns, const Record& x) {
  auto out = json::object();
  add_stored(out, columns, x, x);
  return out;
}

json to_json(const latency_summary& s) {
  return stored_of(latency_columns, s);
}

json errors_of(const std::map<std::string, std::uint64_t>& errors) {
  json out = json::object();
  for (const auto& [kind, count] : errors)
    out[kind] = count;
  return out;
}

json to_json(const request_counts& n) {
  auto out = stored_of(request_columns, n);
  out["errors"] = errors_of(n.errors);
  return out;
}

json success_of(std::uint64_t good, std::uint64_t offered) {
  return offered == 0
           ? json(nullptr)
           : json(static_cast<double>(good) / static_cast<double>(offered));
}

json to_json(const load_summary& x) {
  json out{{"name", x.name}, {"success", success_of(x.good, x.offered)}};
  add_stored(out, load_columns, x, x);
  out["errors"] = errors_of(x.errors);
  out["unanswered"] = x.unanswered();
  out["latency"] = to_json(x.latency);
  return out;
}

json to_json(const service_summary& s) {
  json out{{"name", s.name}};
  add_stored(out, service_columns, s, s);
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

json to_json(const edge_summary& e) {
  json out{{"name", e.name}};
  add_stored(out, edge_columns, e, e);
  if (e.connections)
    out["connections"] = stored_of(connection_columns, *e.connections);
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

// By name of the edge.
json connections_by_edge(const result_row& row, const arm_result& r) {
  json out = json::object();
  std::size_t i = 0;
  for (const auto& e : r.edges)
    if (e.connections && i < row.connections.size())
      out[e.name] = stored_of(connection_row_columns, row.connections[i++]);
  return out;
}

json to_json(const result_row& row, const arm_result& r) {
  json out{{"second", row.second}};
  out.update(to_json(row.requests));
  out["prompt"] = row.prompt;
  out["latency"] = to_json(row.latency);
  json loads = json::object();
  for (std::size_t i = 0; i < std::min(row.loads.size(), r.loads.size()); ++i)
    loads[r.loads[i].name] = stored_of(load_row_columns, row.loads[i]);
  out["loads"] = std::move(loads);
  json services = json::object();
  for (std::size_t i = 0; i < std::min(row.services.size(), r.services.size());
       ++i)
    add_stored(services[r.services[i].name], service_row_columns,
               row.services[i], r.services[i]);
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
  };
  const run_summary& whole = r;
  add_stored(out, run_columns, whole, whole);
  out["latency"] = to_json(r.latency);
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
  for (const auto& x : s.numbers)
    out[x.column.name] = to_json(x.values);
  return out;
}

void write_json(std::ostream& out, const report& r) {
  write_report(out, r, true);
}

void write_json_totals(std::ostream& out, const report& r) {
  write_report(out, r, false);
}

} // namespace caisson::sim
