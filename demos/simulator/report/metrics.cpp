#include <simulator/report/metrics.hpp>

#include <simulator/report/edge_metrics.hpp>
#include <simulator/report/metric_parts.hpp>
#include <simulator/report/ranges.hpp>
#include <simulator/report/threshold_times.hpp>
#include <simulator/scenario/metric_names.hpp>

#include <caisson/policy/errc.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace caisson::sim {

namespace {

constexpr auto infinity = std::numeric_limits<double>::infinity();

// -- parts of a run -----------------------------------------------------------

request_counts counts_in(const arm_result& r, const span_of_time& span) {
  return span.whole ? r.totals : sums_in(r, span.seconds()).row.requests;
}

// -- families of names --------------------------------------------------------

// What follows `prefix` in `name`, if it begins so.
std::optional<std::string_view> after_prefix(std::string_view name,
                                             std::string_view prefix) {
  if (!name.starts_with(prefix))
    return std::nullopt;
  return name.substr(prefix.size());
}

// `a` of `a.b.c`. No name of a caller or a service has a dot.
std::string_view before_dot(std::string_view x) {
  return x.substr(0, x.find('.'));
}

double error_metric(const request_counts& n, std::string_view kind) {
  auto found = n.errors.find(std::string{kind});
  if (found != n.errors.end())
    return real(found->second);
  std::vector<std::string_view> known{"failed", "timeout", "no_connection"};
  if (std::ranges::find(known, kind) != known.end() || errc_named(kind))
    return 0;
  for (std::uint8_t i = 1; i <= last_errc; ++i)
    known.push_back(name_of(static_cast<errc>(i)));
  throw_no_such("error kind", kind, known);
}

double latency_metric_of(const latency_summary& s, std::string_view name,
                         bool with_count) {
  if (with_count && name == "count")
    return real(s.count);
  if (auto c = column_of_metric(latency_columns, name)) {
    // Otherwise a bound on latency would hold when everything has failed.
    if (s.count == 0)
      throw std::invalid_argument{"no request was answered with success"};
    return number_of(*c, s);
  }
  auto known = metric_names_of(latency_columns);
  if (with_count)
    known.emplace_back("count");
  throw_no_such("latency", name, known);
}

double operation_metric(const arm_result& r, std::string_view name) {
  auto [operation, metric] = split_last(name);
  auto found = r.by_operation.find(std::string{operation});
  if (found != r.by_operation.end())
    return latency_metric_of(found->second, metric, true);
  std::vector<std::string_view> known;
  for (const auto& [op, unused] : r.by_operation)
    known.emplace_back(op);
  throw_no_such("operation", operation, known);
}

// What rows know of a load, over these seconds.
load_summary load_in(const arm_result& r, std::size_t load,
                     const span_of_time& span) {
  load_summary out;
  auto all = sums_in(r, span.seconds()).row.loads;
  if (load >= all.size())
    return out;
  for (const auto& c : load_row_columns)
    if (auto whole = column_named(load_columns, c.name))
      out.*field_of(*whole) = all[load].*field_of(c);
  return out;
}

double load_metric_of(const arm_result& r, std::string_view name,
                      const span_of_time& span) {
  auto [load, metric] = split_last(name);
  auto found = std::ranges::find(r.loads, load, &load_summary::name);
  if (found == r.loads.end()) {
    std::vector<std::string_view> known;
    for (const auto& x : r.loads)
      known.emplace_back(x.name);
    throw_no_such("load", load, known);
  }
  auto c = column_of_metric(load_columns, metric);
  if (!span.whole
      && (!c || !(c->traits.of_rows || row_column(load_row_columns, *c))))
    throw_not_per_second(fmt::format("load.{}", name));
  if (c) {
    auto index = static_cast<std::size_t>(found - r.loads.begin());
    return number_of(*c, span.whole ? *found : load_in(r, index, span),
                     span.length(r));
  }
  if (column_of_metric(latency_columns, metric))
    return latency_metric_of(found->latency, metric, false);
  auto known = metric_names_of(load_columns);
  for (auto x : metric_names_of(latency_columns))
    known.push_back(x);
  throw_no_such("number of a load", metric, known);
}

// The replica called `name`, which is not kept per second.
double replica_metric(const service_summary& service, std::string_view name,
                      const result_column<service_summary>& c,
                      const span_of_time& span) {
  auto found = std::ranges::find(service.replicas, name,
                                 &service_summary::name);
  if (found == service.replicas.end()) {
    std::vector<std::string_view> known;
    for (const auto& x : service.replicas)
      known.emplace_back(x.name);
    throw_no_such("replica", name, known);
  }
  if (!span.whole)
    throw_not_per_second(fmt::format("service.{}.{}", name, c.metric()));
  return number_of(c, *found);
}

double service_metric_of(const arm_result& r, std::string_view name,
                         const span_of_time& span) {
  auto [target, metric] = split_last(name);
  auto service = target.substr(0, target.find('#'));
  auto found = std::ranges::find(r.services, service, &service_summary::name);
  if (found == r.services.end()) {
    std::vector<std::string_view> known;
    for (const auto& s : r.services)
      known.emplace_back(s.name);
    throw_no_such("service", service, known);
  }
  auto c = column_of_metric(service_columns, metric);
  if (!c)
    throw_no_such("number of a service", metric,
                  metric_names_of(service_columns));
  if (service != target)
    return replica_metric(*found, target, *c, span);
  if (span.whole)
    return number_of(*c, *found);
  auto of_row = row_column(service_row_columns, *c);
  if (!of_row)
    throw_not_per_second(fmt::format("service.{}", name));
  auto index = static_cast<std::size_t>(found - r.services.begin());
  auto all = sums_in(r, span.seconds()).row.services;
  return index < all.size() ? number_of(*of_row, all[index]) : 0;
}

double counter(const std::map<std::string, std::int64_t>& metrics,
               std::string_view name) {
  auto found = metrics.find(std::string{name});
  if (found != metrics.end())
    return static_cast<double>(found->second);
  std::vector<std::string_view> known;
  known.reserve(metrics.size());
  for (const auto& [key, unused] : metrics)
    known.emplace_back(key);
  throw_no_such("number of a gate or layer", name, known);
}

// The gate whose name `name` begins with: the longest, as `a -> b` and
// `a -> b.get` may both be there.
const gate_summary* gate_in(const arm_result& r, std::string_view name) {
  const gate_summary* best = nullptr;
  for (const auto& g : r.gates)
    if (after_prefix(name, g.name + ".")
        && (!best || g.name.size() > best->name.size()))
      best = &g;
  return best;
}

double gate_metric(const arm_result& r, std::string_view name) {
  auto gate = gate_in(r, name);
  if (!gate) {
    std::vector<std::string_view> known;
    for (const auto& g : r.gates)
      known.emplace_back(g.name);
    throw_no_such("gate", before_dot(name), known);
  }
  name.remove_prefix(gate->name.size() + 1);
  std::vector<std::string_view> layers;
  for (const auto& layer : gate->layers) {
    if (auto metric = after_prefix(name, layer.name + "."))
      return counter(layer.metrics, *metric);
    layers.emplace_back(layer.name);
  }
  if (name.find('.') != std::string_view::npos)
    throw_no_such(fmt::format("layer of {}", detail::quoted(gate->name)),
                  before_dot(name), layers);
  return counter(gate->metrics, name);
}

// What is only known of a run as a whole; nothing if it is not such a name.
std::optional<double> whole_metric(const arm_result& r, std::string_view name) {
  if (auto c = column_of_metric(run_columns, name))
    return number_of<run_summary>(*c, r);
  if (auto rest = after_prefix(name, "latency."))
    return latency_metric_of(r.latency, *rest, false);
  if (auto rest = after_prefix(name, "operation."))
    return operation_metric(r, *rest);
  if (auto rest = after_prefix(name, "gate."))
    return gate_metric(r, *rest);
  return std::nullopt;
}

double time_to_threshold(const arm_result& r, std::string_view name,
                         std::optional<duration> from, duration to) {
  check_threshold(r, read_threshold(name));
  auto found = std::ranges::find_if(r.threshold_times, [&](const auto& x) {
    return x.metric == name && x.from == from && x.to == to;
  });
  if (found == r.threshold_times.end())
    throw std::invalid_argument{
      fmt::format("{} was not recorded", detail::quoted(name))};
  return found->at ? to_seconds(*found->at) : infinity;
}

} // namespace

double metric_of(const arm_result& r, std::string_view name,
                 std::optional<duration> from, duration to) {
  auto span = span_between(r.length, from, to);
  if (is_time_to_threshold(name))
    return time_to_threshold(r, name, from, to);
  if (auto c = column_of_metric(request_columns, name))
    return number_of(*c, counts_in(r, span), span.length(r));
  if (auto rest = after_prefix(name, "errors."))
    return error_metric(counts_in(r, span), *rest);
  if (auto rest = after_prefix(name, "load."))
    return load_metric_of(r, *rest, span);
  if (auto rest = after_prefix(name, "service."))
    return service_metric_of(r, *rest, span);
  if (auto rest = after_prefix(name, "edge."))
    return edge_metric_of(r, *rest, span);
  if (auto x = whole_metric(r, name)) {
    if (!span.whole)
      throw_not_per_second(name);
    return *x;
  }
  auto all = metric_names();
  throw_no_such("metric", name,
                std::vector<std::string_view>{all.begin(), all.end()});
}

} // namespace caisson::sim
