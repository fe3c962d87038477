// Prints the table of settings of a policy or of a part of a scenario, or the
// table of what a simulation records, for its page in docs/; with `--kinds`,
// what the docs list of all policies, as JSON. Exits 3 for those of a component
// that is not built.
#include <caisson/engine/supervision.hpp>
#include <caisson/gate/supervision_group.hpp>
#include <caisson/observe/event_log.hpp>
#include <caisson/policies/canary/canary_stage.hpp>
#include <caisson/policies/keyed/per_key_config.hpp>
#include <caisson/policy/schedule_settings.hpp>
#include <caisson/settings/settings_table.hpp>
#include <caisson/stack.hpp>
#include <caisson/stack/policy_kinds.hpp>

#ifdef CAISSON_WITH_HTTP_CLIENT
#include <caisson/adapters/http_client/client.hpp>
#endif
#ifdef CAISSON_WITH_OTLP
#include <caisson/observe/otlp/config.hpp>
#endif
#ifdef CAISSON_WITH_POSTGRES
#include <caisson/adapters/postgres/client.hpp>
#endif
#ifdef CAISSON_WITH_REDIS
#include <caisson/adapters/redis/client.hpp>
#endif
#ifdef CAISSON_WITH_SIM
#include <simulator/results/edges.hpp>
#include <simulator/results/requests.hpp>
#include <simulator/results/run.hpp>
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
                       "\"keyable\": {}, \"lost_with_key\": \"{}\", "
                       "\"places\": [{}]}}",
                       out.empty() ? "" : ",\n", x.name,
                       x.text.page.empty() ? x.name : x.text.page,
                       x.text.also_known_as, x.text.summary, x.keyable,
                       x.text.lost_with_key, places);
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
    if (!c.metric().empty())
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

// The columns of an output in its order, as a list. `prefix` stands before the
// first name, `further` before the others.
template <class Columns>
std::string names_in(const Columns& columns, sim::output o,
                     std::string_view prefix = {},
                     std::string_view further = {}) {
  std::string out;
  for (auto c : sim::columns_in(columns, o)) {
    out += fmt::format("{}`{}{}`", out.empty() ? "" : ", ",
                       out.empty() ? prefix : further, c->name);
    if (o == sim::output::csv)
      continue;
    // Which records have it, or what only this output has.
    constexpr std::string_view own = "only on the page: ";
    if (c->help.starts_with(own))
      out += fmt::format(" ({})", c->help.substr(own.size()));
    else if (c->applies)
      out += fmt::format(" ({})", c->help.substr(0, c->help.find(':')));
  }
  return out;
}

std::string row(std::string_view key, std::string_view value) {
  return fmt::format("| {} | {} |\n", key, value);
}

std::string csv_table() {
  using namespace sim;
  constexpr auto csv = output::csv;
  return row("columns", "value") + row("---", "---") + row("`seed`, `arm`", "")
         + row("`second`", "with which the row begins; the differences are the "
                           "length of rows")
         + row(names_in(request_columns, csv), "counts within the row")
         + row("`error.KIND`",
               "failed requests by kind; a column for each kind "
               "that occurs in any arm, in alphabetical order")
         + row(names_in(latency_columns, csv, "latency_", "latency_"),
               "empty if no request was answered with success")
         + row(names_in(service_row_columns, csv, "SERVICE.", "."),
               "as in JSON, for each service")
         + row(names_in(connection_row_columns, csv, "edge.ROUTE.", "."),
               "as in JSON, for each edge with limited connections")
         + row("`breaker.GATE/LAYER`", "the state at the end of the row");
}

std::string page_table() {
  using namespace sim;
  constexpr auto html = output::html;
  auto list = [](std::string_view of, const std::string& names) {
    return fmt::format("a list of objects, in the order of `{}`: {}", of,
                       names);
  };
  return row("key", "value") + row("---", "---")
         + row("`seconds`",
               fmt::format("an object: {}; `errors`, an object by kind; {} in "
                           "microseconds, `null` if no request succeeded",
                           names_in(request_columns, html),
                           names_in(latency_columns, html)))
         + row("`load_seconds`",
               list("loads", names_in(load_row_columns, html)))
         + row("`service_seconds`",
               list("services", names_in(service_row_columns, html)))
         + row("`edge_seconds`",
               list("edges", names_in(edge_row_columns, html))
                 + "; `connections`, only if they are limited: an object with "
                 + names_in(connection_row_columns, html))
         + row("`breakers`",
               "a list: `name`, `edge` (an index; `null` in front of a "
               "service), and `changes`, pairs of a row and the state from "
               "then on; before the first one it is closed")
         + row("`samples`", "a list: `number`, `load`, `begun`, `took`, `how`, "
                            "`calls` and `more`, what is not kept");
}

std::string results_table(std::string_view name) {
  using namespace sim;
  // Edges are not recorded by row, but for their connections.
  constexpr std::span<const result_column<edge_row>> no_rows;
  constexpr std::span<const result_column<latency_summary>> no_latencies;
  if (name == "results.requests")
    return metrics_table(request_columns);
  if (name == "results.run_metrics")
    return metrics_table(run_columns);
  if (name == "results.run")
    return columns_table(run_columns);
  if (name == "results.totals")
    return columns_table(request_columns);
  if (name == "results.latency")
    return columns_table(latency_columns, no_latencies);
  if (name == "results.load")
    return columns_table(load_columns, load_row_columns);
  if (name == "results.load_row")
    return columns_table(load_row_columns);
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
  if (name == "results.csv")
    return csv_table();
  if (name == "results.page")
    return page_table();
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
#ifdef CAISSON_WITH_HTTP_CLIENT
    {"worker.http", [] { return http_worker_kind().rows(); }},
#endif
#ifdef CAISSON_WITH_OTLP
    {"otlp", [] { return rows_of(otlp_config{}); }},
#endif
#ifdef CAISSON_WITH_POSTGRES
    {"worker.postgres", [] { return postgres_worker_kind().rows(); }},
#endif
#ifdef CAISSON_WITH_REDIS
    {"worker.redis", [] { return redis_worker_kind().rows(); }},
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
  if (i == kinds.end() && argc == 2
      && std::string_view{argv[1]}.starts_with("worker."))
    return 3;
  if (i == kinds.end()) {
    fmt::print(stderr, "usage: {} KIND; kinds:", argv[0]);
    for (auto& [name, _] : kinds)
      fmt::print(stderr, " {}", name);
    fmt::print(stderr, "\n");
    return 2;
  }
  fmt::print("{}", markdown_table(i->second()));
}
