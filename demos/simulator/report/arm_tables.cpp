#include <simulator/report/arm_tables.hpp>
#include <simulator/report/headline.hpp>
#include <simulator/report/numbers.hpp>
#include <simulator/report/shown_numbers.hpp>
#include <simulator/report/table.hpp>
#include <simulator/report/text.hpp>
#include <simulator/results/verdict_kind.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {

namespace {

using align = text_table::align;
using detail::printable;
using error_counts = std::map<std::string, std::uint64_t>;

std::string main_errors(const error_counts& errors) {
  constexpr std::size_t most = 3;
  std::vector<std::pair<std::string, std::uint64_t>> kinds(errors.begin(),
                                                           errors.end());
  std::ranges::stable_sort(kinds, std::ranges::greater{},
                           [](auto& kind) { return kind.second; });
  std::vector<std::string> shown;
  std::uint64_t rest = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (i < most)
      shown.push_back(
        fmt::format("{} {}", kinds[i].first, grouped(kinds[i].second)));
    else
      rest += kinds[i].second;
  if (rest > 0)
    shown.push_back("others " + grouped(rest));
  return fmt::format("{}", fmt::join(shown, ", "));
}

// The columns of a table that are in the terminal.
template <const auto& Table>
const auto& in_terminal() {
  static const auto out = columns_in(Table, output::text);
  return out;
}

template <const auto& Table>
void add_headings(std::vector<text_table::column>& to) {
  for (auto c : in_terminal<Table>())
    to.push_back({std::string{c->heading()}});
}

// `of`: how many the record is of; of none there is no share.
template <const auto& Table, class Record>
void add_numbers(std::vector<std::string>& to, const Record& x,
                 std::uint64_t of, double seconds = 0) {
  for (auto c : in_terminal<Table>()) {
    auto n = number_of(*c, x, seconds);
    if (c->traits.unit == metric_unit::share)
      to.push_back(of == 0 ? "-" : percent(n));
    else if (c->stored())
      to.push_back(grouped(x.*field_of(*c)));
    else
      to.push_back(fmt::format("{:.{}f}", n, digits_of(c->kind)));
  }
}

void add_latencies(std::vector<std::string>& to, const latency_summary& s) {
  for (auto c : in_terminal<latency_columns>())
    to.push_back(s.count == 0 ? "-" : short_time(s.*duration_of(*c)));
}

text_table table_of_arms(const std::vector<arm_result>& arms, bool whole) {
  std::vector<text_table::column> columns{{"arm", align::left}};
  add_headings<request_columns>(columns);
  add_headings<latency_columns>(columns);
  if (whole) {
    columns.push_back({"verdict", align::left});
    columns.push_back({"main errors", align::left});
  }
  text_table table{std::move(columns)};
  for (const auto& r : arms) {
    std::vector<std::string> row{r.name};
    add_numbers<request_columns>(row, r.totals, r.totals.offered,
                                 to_seconds(r.length - r.warmup));
    add_latencies(row, r.latency);
    if (whole) {
      row.push_back(verdict_text(r));
      row.push_back(main_errors(r.totals.errors));
    }
    table.row(std::move(row));
  }
  return table;
}

} // namespace

void write_arms(std::ostream& out, const std::vector<arm_result>& arms,
                std::size_t width) {
  auto table = table_of_arms(arms, true);
  if (width == any_width || table.width() <= width)
    return table.write(out);
  table_of_arms(arms, false).write(out, width);
  out << '\n';
  for (const auto& r : arms) {
    auto errors = main_errors(r.totals.errors);
    write_wrapped(out,
                  fmt::format("{}: {}{}{}", printable(r.name), verdict_text(r),
                              errors.empty() ? "" : "; main errors: ", errors),
                  width);
  }
}

void write_loads(std::ostream& out, const std::vector<arm_result>& arms,
                 std::size_t width) {
  auto several = [](const arm_result& r) { return r.loads.size() > 1; };
  if (std::ranges::none_of(arms, several))
    return;
  std::vector<text_table::column> columns{{"arm", align::left},
                                          {"load", align::left}};
  add_headings<load_columns>(columns);
  add_headings<latency_columns>(columns);
  columns.push_back({"main errors", align::left});
  text_table table{std::move(columns)};
  for (const auto& r : arms)
    for (const auto& x : r.loads) {
      std::vector<std::string> row{r.name, x.name};
      add_numbers<load_columns>(row, x, x.offered);
      add_latencies(row, x.latency);
      row.push_back(main_errors(x.errors));
      table.row(std::move(row));
    }
  out << '\n';
  table.write(out, width);
}

void write_reasons(std::ostream& out, const report& r, std::size_t width) {
  const auto& played = r.runs.front().arms;
  auto first = true;
  for (std::size_t i = 0; i < played.size() && i < r.arms.size(); ++i) {
    const auto& x = played[i];
    if (x.interrupted
        || (x.verdict != verdict_kind::stuck
            && x.verdict != verdict_kind::degraded))
      continue;
    if (std::exchange(first, false))
      out << '\n';
    write_wrapped(out,
                  fmt::format("{}: {}", printable(x.name),
                              printable(headline(r.arms[i], x))),
                  width);
  }
}

void write_titles(std::ostream& out, const report& r, std::size_t width) {
  auto any = false;
  for (const auto& arm : r.arms)
    any = any || !arm.title.empty();
  if (!any)
    return;
  out << '\n';
  for (const auto& arm : r.arms)
    if (!arm.title.empty())
      write_wrapped(out, printable(arm.name) + ": " + printable(arm.title),
                    width);
}

// What calls have met that found all connections in use.
void write_connections(std::ostream& out, const std::vector<arm_result>& arms,
                       std::size_t width) {
  std::vector<std::string> lines;
  for (const auto& r : arms)
    for (const auto& e : r.edges) {
      if (!e.connections || e.connections->waited + e.connections->refused == 0)
        continue;
      const auto& c = *e.connections;
      lines.push_back(fmt::format(
        "{}: {}: {} in use at most, {} of {} calls waited for one, {} at once, "
        "{} got none",
        printable(r.name), printable(e.name), grouped(c.used_max),
        grouped(c.waited), grouped(c.asked), grouped(c.waiting_max),
        grouped(c.refused + c.expired + c.abandoned)));
    }
  if (!lines.empty())
    out << "\nconnections that were all in use\n";
  for (const auto& line : lines)
    write_wrapped(out, line, width);
}

// How many of the calls between services in zones went to another one.
void write_zones(std::ostream& out, const std::vector<arm_result>& arms,
                 std::size_t width) {
  std::vector<text_table::column> columns{{"calls to other zones", align::left},
                                          {"edge", align::left}};
  add_headings<edge_columns>(columns);
  text_table table{std::move(columns)};
  auto any = false;
  for (const auto& r : arms)
    for (const auto& e : r.edges)
      if (e.zoned && e.calls > 0) {
        any = true;
        std::vector<std::string> row{r.name, e.name};
        add_numbers<edge_columns>(row, e, e.calls);
        table.row(std::move(row));
      }
  if (!any)
    return;
  out << '\n';
  table.write(out, width);
}

} // namespace caisson::sim
