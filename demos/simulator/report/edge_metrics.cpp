#include <simulator/report/edge_metrics.hpp>

#include <simulator/report/ranges.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace caisson::sim {

namespace {

// What there is to know of the edge.
std::vector<std::string_view> edge_numbers(const edge_summary& edge) {
  std::vector<std::string_view> out;
  for (const auto& c : edge_columns)
    if (!c.applies || c.applies(edge, edge))
      out.push_back(c.metric());
  if (edge.connections)
    for (auto name : metric_names_of(connection_columns))
      out.push_back(name);
  return out;
}

double connection_metric_of(const arm_result& r, const edge_summary& edge,
                            const result_column<connection_summary>& c,
                            const span_of_time& span) {
  if (!edge.connections)
    throw std::invalid_argument{fmt::format(
      "edge {} has no limit on connections", detail::quoted(edge.name))};
  if (span.whole)
    return number_of(c, *edge.connections);
  auto of_row = row_column(connection_row_columns, c);
  if (!of_row)
    throw_not_per_second(fmt::format("edge.{}.{}", edge.name, c.metric()));
  std::size_t index = 0;
  for (auto e = r.edges.data(); e != &edge; ++e)
    index += e->connections.has_value();
  auto all = sums_in(r, span.seconds()).row.connections;
  return index < all.size() ? number_of(*of_row, all[index]) : 0;
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
  if (auto c = column_of_metric(connection_columns, metric))
    return connection_metric_of(r, *found, *c, span);
  auto c = column_of_metric(edge_columns, metric);
  if (!c)
    throw_no_such("number of an edge", metric, edge_numbers(*found));
  if (c->applies && !c->applies(*found, *found))
    throw std::invalid_argument{
      fmt::format("edge {} is not between zones", detail::quoted(found->name))};
  if (!span.whole)
    throw_not_per_second(fmt::format("edge.{}", name));
  return number_of(*c, *found);
}

} // namespace caisson::sim
