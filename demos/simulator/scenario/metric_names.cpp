#include <simulator/scenario/metric_names.hpp>

#include <simulator/results/edges.hpp>
#include <simulator/results/requests.hpp>
#include <simulator/results/run.hpp>
#include <simulator/results/services.hpp>
#include <simulator/scenario/threshold.hpp>

namespace caisson::sim {

namespace {

// What is known of a metric before there is a result.
struct metric_text {
  metric_unit unit = metric_unit::none;
  std::optional<tune_sense> sense = {};
};

template <class Columns>
std::optional<metric_text> text_in(const Columns& columns,
                                   std::string_view metric) {
  if (auto c = column_of_metric(columns, metric))
    return metric_text{c->traits.unit, c->traits.sense};
  return std::nullopt;
}

metric_text text_of(std::string_view metric) {
  auto last = metric.substr(metric.rfind('.') + 1);
  auto is_of = [&](std::string_view family) {
    return metric.starts_with(family);
  };
  if (is_time_to_threshold(metric))
    return {.unit = metric_unit::seconds};
  if (is_of("errors."))
    return {.sense = tune_sense::less};
  // Also of a latency that there is not, which is found out later.
  if (is_of("latency.") || is_of("operation."))
    return last == "count"
             ? metric_text{}
             : text_in(latency_columns, last)
                 .value_or(metric_text{.sense = tune_sense::less});
  if (is_of("load."))
    return text_in(load_columns, last)
      .value_or(text_in(latency_columns, last).value_or(metric_text{}));
  if (is_of("service."))
    return text_in(service_columns, last).value_or(metric_text{});
  if (is_of("edge."))
    return text_in(edge_columns, last)
      .value_or(text_in(connection_columns, last).value_or(metric_text{}));
  return text_in(request_columns, metric)
    .value_or(text_in(run_columns, metric).value_or(metric_text{}));
}

} // namespace

std::vector<std::string> metric_names() {
  std::vector<std::string> out;
  auto add = [&out](std::string_view prefix, const auto& columns) {
    for (auto name : metric_names_of(columns))
      out.push_back(std::string{prefix} + std::string{name});
  };
  add("", request_columns);
  add("", run_columns);
  out.emplace_back("errors.*");
  add("latency.", latency_columns);
  out.emplace_back("operation.*.count");
  add("operation.*.", latency_columns);
  add("load.*.", load_columns);
  add("load.*.", latency_columns);
  add("service.*.", service_columns);
  add("edge.*.", edge_columns);
  add("edge.*.", connection_columns);
  out.emplace_back("gate.*.*");
  out.emplace_back("gate.*.*.*");
  out.emplace_back("first(*)");
  return out;
}

std::string full_metric_name(std::string_view name) {
  auto is_latency = column_of_metric(latency_columns, name) != nullptr;
  return is_latency ? "latency." + std::string{name} : std::string{name};
}

metric_unit unit_of(std::string_view metric) {
  return text_of(metric).unit;
}

std::optional<tune_sense> usual_sense(std::string_view metric) {
  return text_of(metric).sense;
}

} // namespace caisson::sim
