#include <simulator/scenario/metric_names.hpp>

namespace caisson::sim {

std::vector<std::string> metric_names() {
  std::vector<std::string> out;
  auto add = [&out](std::string_view prefix, const auto& names) {
    for (auto name : names)
      out.push_back(std::string{prefix} + std::string{name});
  };
  add("", count_metric_names);
  add("", run_metric_names);
  out.emplace_back("errors.*");
  add("latency.", latency_metric_names);
  out.emplace_back("operation.*.count");
  add("operation.*.", latency_metric_names);
  add("load.*.", load_metric_names);
  add("load.*.", latency_metric_names);
  add("service.*.", service_metric_names);
  add("edge.*.", edge_metric_names);
  add("edge.*.", zone_metric_names);
  add("edge.*.", connection_metric_names);
  out.emplace_back("gate.*.*");
  out.emplace_back("gate.*.*.*");
  out.emplace_back("first(*)");
  return out;
}

} // namespace caisson::sim
