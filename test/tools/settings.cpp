// Prints the table of settings of a policy or of a part of a scenario, or the
// table of what a simulation records, for its page in docs/; with `--kinds`,
// what the docs list of all policies, as JSON.
#include <caisson/engine/supervision.hpp>
#include <caisson/gate/supervision_group.hpp>
#include <caisson/observe/event_log.hpp>
#include <caisson/policies/canary/canary_stage.hpp>
#include <caisson/policies/keyed/per_key_config.hpp>
#include <caisson/policy/schedule_settings.hpp>
#include <caisson/settings/settings_table.hpp>
#include <caisson/stack.hpp>
#include <caisson/stack/policy_kinds.hpp>

#ifdef CAISSON_WITH_OTLP
#include <caisson/observe/otlp/config.hpp>
#endif
#ifdef CAISSON_WITH_SIM
#include <simulator/results/edges.hpp>
#include <simulator/results/requests.hpp>
#include <simulator/results/services.hpp>
#include <simulator/scenario/fields.hpp>
#endif

#include <fmt/format.h>

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace caisson {
namespace {

void print_kinds() {
  std::string out;
  for (const auto& x : policy_kinds()) {
    std::string places;
    for (const auto& p : x.text.places)
      places += fmt::format("{}[{}, \"{}\", \"{}\"]",
                            places.empty() ? "" : ", ", p.depth, p.which,
                            p.why);
    out += fmt::format("{}  {{\"name\": \"{}\", \"page\": \"{}\", "
                       "\"also_known_as\": \"{}\", \"summary\": \"{}\", "
                       "\"keyable\": {}, \"places\": [{}]}}",
                       out.empty() ? "" : ",\n", x.name,
                       x.text.page.empty() ? x.name : x.text.page,
                       x.text.also_known_as, x.text.summary, x.keyable, places);
  }
  fmt::print("[\n{}\n]\n", out);
}

#ifdef CAISSON_WITH_SIM
std::string code(std::string_view text) {
  return text.empty() ? std::string{} : fmt::format("`{}`", text);
}

template <class Columns>
std::string metrics_table(const Columns& columns) {
  std::string out = "| metric | value |\n| --- | --- |\n";
  for (const auto& c : columns)
    out += fmt::format("| {} | {} |\n", code(c.metric()), c.help);
  return out;
}

// Of a row, which has no metrics of its own.
template <class Columns>
std::string columns_table(const Columns& columns) {
  std::string out = "| key | value |\n| --- | --- |\n";
  for (const auto& c : columns)
    if (c.stored())
      out += fmt::format("| {} | {} |\n", code(c.name), c.help);
  return out;
}

// `rows`: the table of what is known per second.
template <class Columns, class Rows>
std::string columns_table(const Columns& columns, const Rows& rows) {
  std::string out = "| key | metric | per second | value |\n"
                    "| --- | --- | --- | --- |\n";
  for (const auto& c : columns) {
    auto per_second = c.traits.of_rows || sim::column_named(rows, c.name);
    out += fmt::format("| {} | {} | {} | {} |\n",
                       code(c.stored() ? c.name : ""), code(c.metric()),
                       per_second ? "yes" : "", c.help);
  }
  return out;
}

std::string results_table(std::string_view name) {
  using namespace sim;
  // Edges are not recorded by row, but for their connections.
  constexpr std::span<const result_column<edge_row>> no_rows;
  if (name == "results.requests")
    return metrics_table(request_columns);
  if (name == "results.service")
    return columns_table(service_columns, service_row_columns);
  if (name == "results.service_row")
    return columns_table(service_row_columns);
  if (name == "results.edge")
    return columns_table(edge_columns, no_rows);
  if (name == "results.connections")
    return columns_table(connection_columns, connection_row_columns);
  if (name == "results.connections_row")
    return columns_table(connection_row_columns);
  return {};
}
#endif

} // namespace
} // namespace caisson

int main(int argc, char** argv) {
  using namespace caisson;
  if (argc == 2 && std::string_view{argv[1]} == "--kinds") {
    print_kinds();
    return 0;
  }
#ifdef CAISSON_WITH_SIM
  if (auto table = results_table(argc == 2 ? argv[1] : ""); !table.empty()) {
    fmt::print("{}", table);
    return 0;
  }
#endif
  using rows = std::vector<field_row>;
  std::map<std::string, std::function<rows()>> kinds{
    {"gate", [] { return rows_of(gate_config{}); }},
    {"event_log", [] { return rows_of(event_log_config{}); }},
    {"canary.stage", [] { return rows_of(canary_stage{}); }},
    {"breaker.score", [] { return rows_of(breaker_score{}); }},
    {"deadline.learned", [] { return rows_of(learned_limit{}); }},
    {"keyed", [] { return rows_of(per_key_config{}); }},
    {"supervision", [] { return rows_of(supervision_config{}); }},
    {"supervision_group", [] { return rows_of(supervision_group_config{}); }},
    {"schedule", [] { return rows_of(schedule::segment{}); }},
#ifdef CAISSON_WITH_OTLP
    {"otlp", [] { return rows_of(otlp_config{}); }},
#endif
#ifdef CAISSON_WITH_SIM
    {"sim.service", [] { return rows_of(sim::service_config{}); }},
    {"sim.autoscale", [] { return rows_of(sim::autoscale_config{}); }},
    {"sim.call", [] { return rows_of(sim::call_config{}); }},
    {"sim.load", [] { return rows_of(sim::load_config{}); }},
    {"sim.fault", [] { return rows_of(sim::fault_config{}); }},
#endif
  };
  for (auto& kind : policy_kinds())
    kinds.emplace(kind.name, kind.rows);
  auto i = argc == 2 ? kinds.find(argv[1]) : kinds.end();
  if (i == kinds.end()) {
    fmt::print(stderr, "usage: {} KIND; kinds:", argv[0]);
    for (auto& [name, _] : kinds)
      fmt::print(stderr, " {}", name);
    fmt::print(stderr, "\n");
    return 2;
  }
  fmt::print("{}", markdown_table(i->second()));
}
