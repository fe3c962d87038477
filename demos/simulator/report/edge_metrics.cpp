#include <simulator/report/edge_metrics.hpp>

#include <simulator/report/ranges.hpp>
#include <simulator/scenario/metric_names.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace caisson::sim {

namespace {

struct edge_metric {
  std::string_view name;
  std::uint64_t edge_summary::*value;
};

constexpr edge_metric edge_metrics[] = {
  {"calls", &edge_summary::calls},
  {"lost_calls", &edge_summary::lost_calls},
  {"lost_answers", &edge_summary::lost_answers},
  {"repeated", &edge_summary::repeated},
};

struct zone_metric {
  std::string_view name;
  double (*value)(const edge_summary& e);
};

constexpr zone_metric zone_metrics[] = {
  {"crossed", [](auto& e) { return real(e.crossed); }},
  {"crossed_share",
   [](auto& e) {
     return e.calls == 0 ? 0.0 : real(e.crossed) / real(e.calls);
   }},
};

struct connection_metric {
  std::string_view name;
  double (*value)(const connection_summary& c);
  // Null where it is not kept per second.
  std::uint64_t connection_row::*per_second = nullptr;
};

constexpr connection_metric connection_metrics[] = {
  {"asked", [](auto& c) { return real(c.asked); }},
  {"waited", [](auto& c) { return real(c.waited); }},
  {"refused", [](auto& c) { return real(c.refused); },
   &connection_row::refused},
  {"expired", [](auto& c) { return real(c.expired); },
   &connection_row::expired},
  {"abandoned", [](auto& c) { return real(c.abandoned); }},
  {"opened", [](auto& c) { return real(c.opened); }},
  {"wait", [](auto& c) { return to_seconds(c.mean_wait); }},
  {"used", [](auto& c) { return c.mean_used; }},
  {"used_max", [](auto& c) { return real(c.used_max); },
   &connection_row::used_max},
  {"waiting_max", [](auto& c) { return real(c.waiting_max); },
   &connection_row::waiting_max},
};

static_assert(has_names(edge_metrics, edge_metric_names));
static_assert(has_names(zone_metrics, zone_metric_names));
static_assert(has_names(connection_metrics, connection_metric_names));

// What there is to know of the edge.
std::vector<std::string_view> edge_numbers(const edge_summary& edge) {
  std::vector<std::string_view> out{edge_metric_names.begin(),
                                    edge_metric_names.end()};
  if (edge.zoned)
    out.insert(out.end(), zone_metric_names.begin(), zone_metric_names.end());
  if (edge.connections)
    out.insert(out.end(), connection_metric_names.begin(),
               connection_metric_names.end());
  return out;
}

// `index`: of those whose connections are limited.
double connection_part(const arm_result& r, std::size_t index,
                       const connection_metric& m, const span_of_time& span) {
  auto all = sums_in(r, span.seconds()).row.connections;
  return index < all.size() ? real(all[index].*m.per_second) : 0;
}

double connection_metric_of(const arm_result& r, const edge_summary& edge,
                            const connection_metric& m,
                            const span_of_time& span) {
  if (!edge.connections)
    throw std::invalid_argument{fmt::format(
      "edge {} has no limit on connections", detail::quoted(edge.name))};
  if (span.whole)
    return m.value(*edge.connections);
  if (!m.per_second)
    only_as_a_whole(fmt::format("edge.{}.{}", edge.name, m.name));
  std::size_t index = 0;
  for (auto e = r.edges.data(); e != &edge; ++e)
    index += e->connections.has_value();
  return connection_part(r, index, m, span);
}

} // namespace

double edge_metric_of(const arm_result& r, std::string_view name,
                      const span_of_time& span) {
  auto [edge, metric] = split_last(name);
  auto found = std::ranges::find(r.edges, edge, &edge_summary::name);
  if (found == r.edges.end()) {
    std::vector<std::string_view> known;
    for (const auto& x : r.edges)
      known.emplace_back(x.name);
    throw_no_such("edge with a network, zones or connections", edge, known);
  }
  if (auto m = row_named(connection_metrics, metric))
    return connection_metric_of(r, *found, *m, span);
  auto of_zones = row_named(zone_metrics, metric);
  auto m = row_named(edge_metrics, metric);
  if (of_zones && !found->zoned)
    throw std::invalid_argument{
      fmt::format("edge {} is not between zones", detail::quoted(found->name))};
  if (!of_zones && !m)
    throw_no_such("number of an edge", metric, edge_numbers(*found));
  if (!span.whole)
    only_as_a_whole(fmt::format("edge.{}", name));
  return of_zones ? of_zones->value(*found) : real((*found).*m->value);
}

} // namespace caisson::sim
