#include <simulator/report/arm_tables.hpp>
#include <simulator/report/headline.hpp>
#include <simulator/report/metrics.hpp>
#include <simulator/report/numbers.hpp>
#include <simulator/report/table.hpp>
#include <simulator/report/text.hpp>
#include <simulator/scenario/verdict_kind.hpp>

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

std::string latency_text(const latency_summary& s, duration value) {
  return s.count == 0 ? "-" : short_time(value);
}

text_table table_of_arms(const std::vector<arm_result>& arms, bool whole) {
  std::vector<text_table::column> columns{
    {"arm", align::left}, {"offered"}, {"success"}, {"goodput/s"},
    {"attempts/request"}, {"p50"},     {"p99"}};
  if (whole) {
    columns.push_back({"verdict", align::left});
    columns.push_back({"main errors", align::left});
  }
  text_table table{std::move(columns)};
  for (const auto& r : arms) {
    std::vector<std::string> row{
      r.name,
      grouped(r.totals.offered),
      percent(r.totals.good, r.totals.offered),
      fmt::format("{:.1f}", metric_of(r, "goodput")),
      fmt::format("{:.2f}", metric_of(r, "amplification")),
      latency_text(r.latency, r.latency.p50),
      latency_text(r.latency, r.latency.p99)};
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
  text_table table{{{"arm", align::left},
                    {"load", align::left},
                    {"offered"},
                    {"success"},
                    {"p50"},
                    {"p99"},
                    {"main errors", align::left}}};
  for (const auto& r : arms)
    for (const auto& x : r.loads)
      table.row({r.name, x.name, grouped(x.offered), percent(x.good, x.offered),
                 latency_text(x.latency, x.latency.p50),
                 latency_text(x.latency, x.latency.p99),
                 main_errors(x.errors)});
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
  text_table table{{{"calls to other zones", align::left},
                    {"edge", align::left},
                    {"calls"},
                    {"crossed"},
                    {"share"}}};
  auto any = false;
  for (const auto& r : arms)
    for (const auto& e : r.edges)
      if (e.zoned && e.calls > 0) {
        any = true;
        table.row({r.name, e.name, grouped(e.calls), grouped(e.crossed),
                   percent(e.crossed, e.calls)});
      }
  if (!any)
    return;
  out << '\n';
  table.write(out, width);
}

} // namespace caisson::sim
