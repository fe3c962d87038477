#include <caisson/observe/control/detail/status_json.hpp>

#include <utility>

namespace caisson::detail {

namespace {

// As of gates: its name is that which the program has given to the operator.
json head_of(const status& x) {
  return {{"stack", x.name},
          {"state", name_of(x.state)},
          {"worker", name_of(x.worker)},
          {"metrics", x.metrics}};
}

json head_of(const layer_status& x) {
  return {{"name", x.name},
          {"kind", x.kind},
          {"mode", name_of(x.mode)},
          {"state", x.state}};
}

json json_of(const key_status& x) {
  return {{"key", x.key},
          {"state", x.state},
          {"admitted", x.admitted},
          {"metrics", x.metrics}};
}

json json_of(const layer_status& x) {
  auto out = head_of(x);
  out["metrics"] = x.metrics;
  out["settings"] = x.config;
  if (!x.notes.empty())
    out["notes"] = x.notes;
  auto& keys = out["keys"] = json::array();
  for (const auto& key : x.keys)
    keys.push_back(json_of(key));
  return out;
}

json json_of(const duration_summary& x) {
  return {{"what", name_of(x.what)}, {"ok", x.ok},
          {"count", x.count},        {"p50_ns", x.p50.count()},
          {"p90_ns", x.p90.count()}, {"p99_ns", x.p99.count()},
          {"max_ns", x.max.count()}};
}

json json_of(const tally_summary& x) {
  json out{{"what", name_of(x.what)},
           {"ok", x.ok},
           {"count", x.count},
           {"sum", x.sum},
           {"bounds", bounds_of(x.what)},
           {"counts", x.counts}};
  for (auto [key, q] : {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}})
    if (auto bound = x.quantile(q))
      out[key] = *bound;
  return out;
}

} // namespace

json json_of(const status& x) {
  auto out = head_of(x);
  auto& layers = out["layers"] = json::array();
  for (const auto& layer : x.layers)
    layers.push_back(json_of(layer));
  auto& durations = out["durations"] = json::array();
  for (const auto& d : x.durations)
    durations.push_back(json_of(d));
  auto& tallies = out["tallies"] = json::array();
  for (const auto& t : x.tallies)
    tallies.push_back(json_of(t));
  return out;
}

json summary_of(const status& x) {
  auto out = head_of(x);
  auto& layers = out["layers"] = json::array();
  for (const auto& layer : x.layers)
    layers.push_back(head_of(layer));
  return out;
}

json json_of(const reload_report& x) {
  auto changes = json::array();
  for (const auto& c : x.changes)
    changes.push_back({{"gate", c.gate}, {"layer", c.layer}, {"what", c.what}});
  return {{"problems", x.problems}, {"changes", std::move(changes)}};
}

std::string text_of(const json& x) {
  return x.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace caisson::detail
