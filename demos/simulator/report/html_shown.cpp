#include <simulator/report/html_shown.hpp>
#include <simulator/report/shown_numbers.hpp>

#include <cmath>
#include <string_view>
#include <utility>

namespace caisson::sim {

namespace {

using json = nlohmann::ordered_json;

std::string_view page_unit(const shown_column& c) {
  if (c.kind == column_kind::run_time)
    return "run_time";
  switch (c.unit) {
    case metric_unit::seconds:
      return "seconds";
    case metric_unit::share:
      return "share";
    case metric_unit::none:
      break;
  }
  return "none";
}

json to_json(const shown_column& c) {
  json out{
    {"key", c.name}, {"heading", c.page_heading}, {"unit", page_unit(c)}};
  if (c.digits > 0 && c.unit == metric_unit::none)
    out["digits"] = c.digits;
  if (c.kind == column_kind::level)
    out["level"] = true;
  if (c.of_good)
    out["of_good"] = true;
  return out;
}

// Of rows: the page has the latencies there in microseconds.
template <class Columns>
void add_of_rows(json& to, const Columns& columns, output o) {
  for (auto c : columns_in(columns, o)) {
    to.push_back(to_json(to_shown(*c)));
    if (c->traits.unit == metric_unit::seconds)
      to.back()["unit"] = "microseconds";
  }
}

template <class... Columns>
json of_rows(output o, const Columns&... columns) {
  auto out = json::array();
  (add_of_rows(out, columns, o), ...);
  return out;
}

json columns_of(const std::vector<shown_number>& numbers) {
  auto out = json::array();
  for (const auto& x : numbers)
    out.push_back(to_json(x.column));
  return out;
}

json values_of(const std::vector<shown_number>& numbers) {
  auto out = json::object();
  for (const auto& x : numbers)
    if (x.value)
      out[x.column.name] = std::isfinite(*x.value) ? json(*x.value)
                                                   : json(nullptr);
  return out;
}

} // namespace

json shown_columns() {
  constexpr auto second = output::second;
  return {
    {"card", columns_of(numbers_of(arm_result{}, output::card))},
    {"card_loads", columns_of(numbers_of(load_summary{}, 0, output::brief))},
    {"seeds", columns_of(numbers_of(arm_result{}, output::brief))},
    {"second",
     {{"requests", of_rows(second, request_columns, latency_columns)},
      {"loads", of_rows(second, load_row_columns)},
      {"services", of_rows(second, service_row_columns)},
      {"edges", of_rows(second, edge_row_columns)},
      {"connections", of_rows(second, connection_row_columns)}}},
    {"curves",
     {{"requests", of_rows(output::curve, request_columns)},
      {"latencies", of_rows(output::curve, latency_columns)}}},
  };
}

json card_values(const arm_result& r) {
  return values_of(numbers_of(r, output::card));
}

json load_card_values(const arm_result& r) {
  auto out = json::array();
  auto seconds = to_seconds(r.length - r.warmup);
  for (const auto& x : r.loads)
    out.push_back(values_of(numbers_of(x, seconds, output::brief)));
  return out;
}

} // namespace caisson::sim
