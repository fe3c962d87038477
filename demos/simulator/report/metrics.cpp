#include <simulator/report/metrics.hpp>

#include <simulator/report/edge_metrics.hpp>
#include <simulator/report/metric_parts.hpp>
#include <simulator/report/ranges.hpp>
#include <simulator/report/threshold_times.hpp>
#include <simulator/report/verdict.hpp>
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

double share(std::uint64_t part, std::uint64_t of, double of_nothing) {
  return of == 0 ? of_nothing : real(part) / real(of);
}

// -- tables of names ----------------------------------------------------------

struct latency_metric {
  std::string_view name;
  duration latency_summary::*value;
};

constexpr latency_metric latency_metrics[] = {
  {"mean", &latency_summary::mean}, {"p50", &latency_summary::p50},
  {"p90", &latency_summary::p90},   {"p95", &latency_summary::p95},
  {"p99", &latency_summary::p99},   {"p999", &latency_summary::p999},
  {"max", &latency_summary::max},
};

// A number of requests over some time: the whole run without its warm-up, or
// some of its seconds.
struct count_metric {
  std::string_view name;
  double (*value)(const request_counts& n, double seconds);
};

double rate(std::uint64_t n, double seconds) {
  return seconds > 0 ? real(n) / seconds : 0;
}

constexpr count_metric count_metrics[] = {
  {"success", [](auto& n, double) { return share(n.good, n.offered, 1); }},
  {"offered", [](auto& n, double) { return real(n.offered); }},
  {"attempts", [](auto& n, double) { return real(n.attempts); }},
  {"good", [](auto& n, double) { return real(n.good); }},
  {"failed", [](auto& n, double) { return real(n.failed); }},
  {"substituted", [](auto& n, double) { return real(n.substituted); }},
  {"amplification",
   [](auto& n, double) { return share(n.attempts, n.offered, 1); }},
  {"offered_rate", [](auto& n, double s) { return rate(n.offered, s); }},
  {"attempts_rate", [](auto& n, double s) { return rate(n.attempts, s); }},
  {"goodput", [](auto& n, double s) { return rate(n.good, s); }},
  {"failed_rate", [](auto& n, double s) { return rate(n.failed, s); }},
};

// What is only known of a run as a whole.
struct run_metric {
  std::string_view name;
  double (*value)(const arm_result& r);
};

constexpr run_metric run_metrics[] = {
  {"unanswered", [](auto& r) { return real(r.unanswered); }},
  {"recovery",
   [](auto& r) {
     auto t = recovery_time(r);
     return t ? to_seconds(*t) : infinity;
   }},
  {"recovered_at",
   [](auto& r) { return r.recovered_at ? real(*r.recovered_at) : infinity; }},
  {"relapses", [](auto& r) { return real(r.relapses.size()); }},
};

struct service_metric {
  std::string_view name;
  double (*value)(const service_summary& s);
  // Null where it is not kept per second.
  std::uint64_t service_row::*per_second = nullptr;
};

constexpr service_metric service_metrics[] = {
  {"arrivals", [](auto& s) { return real(s.arrivals); },
   &service_row::arrivals},
  {"refused", [](auto& s) { return real(s.refused); }, &service_row::refused},
  {"refused_share", [](auto& s) { return share(s.refused, s.arrivals, 0); }},
  {"shed", [](auto& s) { return real(s.shed); }},
  {"down", [](auto& s) { return real(s.down); }},
  {"completed", [](auto& s) { return real(s.completed); },
   &service_row::completed},
  {"failed", [](auto& s) { return real(s.failed); }, &service_row::failed},
  {"abandoned", [](auto& s) { return real(s.abandoned); }},
  {"lost", [](auto& s) { return real(s.lost); }},
  {"late", [](auto& s) { return real(s.late); }},
  {"started", [](auto& s) { return real(s.started); }},
  {"waited", [](auto& s) { return real(s.waited); }},
  {"waited_share", [](auto& s) { return share(s.waited, s.started, 0); }},
  {"wait", [](auto& s) { return to_seconds(s.mean_wait); }},
  {"time", [](auto& s) { return to_seconds(s.mean_service); }},
  {"sojourn", [](auto& s) { return to_seconds(s.mean_sojourn); }},
  {"utilization", [](auto& s) { return s.utilization; }},
  {"inside", [](auto& s) { return s.mean_inside; }},
  {"queue_max", [](auto& s) { return real(s.queue_max); },
   &service_row::queue_max},
  {"little_error", [](auto& s) { return s.little_error; }},
};

// Scenarios are checked against the names before there is a result.
static_assert(has_names(latency_metrics, latency_metric_names));
static_assert(has_names(count_metrics, count_metric_names));
static_assert(has_names(run_metrics, run_metric_names));
static_assert(has_names(service_metrics, service_metric_names));

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
  if (auto m = row_named(latency_metrics, name)) {
    // Otherwise a bound on latency would hold when everything has failed.
    if (s.count == 0)
      throw std::invalid_argument{"no request was answered with success"};
    return to_seconds(s.*m->value);
  }
  std::vector<std::string_view> known{latency_metric_names.begin(),
                                      latency_metric_names.end()};
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

// As those of all loads together.
request_counts counts_of_load(const arm_result& r, std::size_t load,
                              const span_of_time& span) {
  request_counts out;
  if (span.whole) {
    const auto& x = r.loads[load];
    out.offered = x.offered;
    out.good = x.good;
    out.failed = x.failed;
    out.substituted = x.substituted;
    return out;
  }
  auto all = sums_in(r, span.seconds()).row.loads;
  if (load >= all.size())
    return out;
  out.offered = all[load].offered;
  out.good = all[load].good;
  out.failed = all[load].failed;
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
  auto of_counts = std::ranges::find(load_metric_names, metric)
                   != load_metric_names.end();
  if (!span.whole && (!of_counts || metric == "substituted"))
    only_as_a_whole(fmt::format("load.{}", name));
  if (of_counts) {
    auto index = static_cast<std::size_t>(found - r.loads.begin());
    return row_named(count_metrics, metric)
      ->value(counts_of_load(r, index, span), span.length(r));
  }
  if (row_named(latency_metrics, metric))
    return latency_metric_of(found->latency, metric, false);
  std::vector<std::string_view> known{load_metric_names.begin(),
                                      load_metric_names.end()};
  known.insert(known.end(), latency_metric_names.begin(),
               latency_metric_names.end());
  throw_no_such("number of a load", metric, known);
}

double service_part(const arm_result& r, std::size_t service,
                    const service_metric& m, const span_of_time& span) {
  auto all = sums_in(r, span.seconds()).row.services;
  return service < all.size() ? real(all[service].*m.per_second) : 0;
}

// The replica called `name`, which is not kept per second.
double replica_metric(const service_summary& service, std::string_view name,
                      const service_metric& m, const span_of_time& span) {
  auto found = std::ranges::find(service.replicas, name,
                                 &service_summary::name);
  if (found == service.replicas.end()) {
    std::vector<std::string_view> known;
    for (const auto& x : service.replicas)
      known.emplace_back(x.name);
    throw_no_such("replica", name, known);
  }
  if (!span.whole)
    only_as_a_whole(fmt::format("service.{}.{}", name, m.name));
  return m.value(*found);
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
  auto m = row_named(service_metrics, metric);
  if (!m)
    throw_no_such("number of a service", metric, service_metric_names);
  if (service != target)
    return replica_metric(*found, target, *m, span);
  if (span.whole)
    return m->value(*found);
  if (!m->per_second)
    only_as_a_whole(fmt::format("service.{}", name));
  auto index = static_cast<std::size_t>(found - r.services.begin());
  return service_part(r, index, *m, span);
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
  if (auto m = row_named(run_metrics, name))
    return m->value(r);
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
      fmt::format("nothing looked for {}", detail::quoted(name))};
  return found->at ? to_seconds(*found->at) : infinity;
}

} // namespace

double metric_of(const arm_result& r, std::string_view name,
                 std::optional<duration> from, duration to) {
  auto span = span_between(r.length, from, to);
  if (is_time_to_threshold(name))
    return time_to_threshold(r, name, from, to);
  if (auto m = row_named(count_metrics, name))
    return m->value(counts_in(r, span), span.length(r));
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
      only_as_a_whole(name);
    return *x;
  }
  auto all = metric_names();
  throw_no_such("metric", name,
                std::vector<std::string_view>{all.begin(), all.end()});
}

} // namespace caisson::sim
