#include <simulator/report/arm_tables.hpp>
#include <simulator/report/expectations.hpp>
#include <simulator/report/metrics.hpp>
#include <simulator/report/numbers.hpp>
#include <simulator/report/table.hpp>
#include <simulator/report/text.hpp>
#include <simulator/report/timeline.hpp>
#include <simulator/results/verdict_kind.hpp>

#include <caisson/base/hash.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ostream>

namespace caisson::sim {

namespace {

using align = text_table::align;
using detail::printable;

// -- the head -----------------------------------------------------------------

std::string lengths_text(const report& r) {
  auto [lo, hi] = std::ranges::minmax(
    r.arms, {}, [](const arm_config& arm) { return arm.length; });
  if (lo.length == hi.length)
    return short_seconds(lo.length);
  return fmt::format("{} to {}", short_seconds(lo.length),
                     short_seconds(hi.length));
}

// Nothing if they are as usual.
std::string rows_text(const report& r) {
  if (r.step == 1 || r.step == one_row)
    return {};
  return fmt::format("rows of {}, ",
                     short_seconds(std::chrono::seconds{r.step}));
}

std::string seeds_text(const report& r) {
  if (r.seeds == 1)
    return fmt::format("seed {}", r.seed);
  return fmt::format("seeds {} to {}", r.seed, r.seed + (r.seeds - 1));
}

void write_head(std::ostream& out, const report& r, std::size_t width) {
  std::vector<std::string> names;
  for (const auto& arm : r.arms)
    names.push_back(printable(arm.name));
  if (!r.title.empty())
    write_wrapped(out, printable(r.title), width);
  write_wrapped(out,
                fmt::format("{}: {}, {}{}, {}: {}", printable(r.file),
                            lengths_text(r), rows_text(r), seeds_text(r),
                            names.size() == 1 ? "arm" : "arms",
                            fmt::join(names, ", ")),
                width);
}

// -- one seed -----------------------------------------------------------------

// A verdict, and when the run has recovered.
std::string recovered_text(const arm_result& r) {
  auto after = recovery_time(r);
  if (r.verdict != verdict_kind::recovered || !after)
    return std::string{verdict_name(r.verdict)};
  // Without a fault there is nothing that it could be after.
  if (!r.recovery_from)
    return fmt::format("recovered at {} s", *r.recovered_at);
  auto text = fmt::format("recovered after {}", short_seconds(*after));
  if (*r.recovery_from > duration::zero())
    text += fmt::format(", at {} s", *r.recovered_at);
  return text;
}

std::string relapses_text(const arm_result& r) {
  const auto& all = r.relapses;
  if (all.empty())
    return {};
  if (all.size() == 1)
    return fmt::format(", relapsed at {} s", all.front().at);
  return fmt::format(", relapsed {} times, at {} s to {} s",
                     grouped(all.size()), all.front().at, all.back().at);
}

// Each warning once, with the arms and the number of runs that have it.
void write_warnings(std::ostream& out, const report& r, std::size_t width) {
  std::vector<std::pair<std::string, std::uint64_t>> lines;
  for (const auto& arm : r.arms)
    for (auto result : results_of(r, arm.name))
      for (const auto& text : result->warnings) {
        auto line = fmt::format("{}: {}", printable(arm.name), printable(text));
        auto same = std::ranges::find(lines, line,
                                      [](auto& x) { return x.first; });
        if (same == lines.end())
          lines.emplace_back(std::move(line), 1);
        else
          ++same->second;
      }
  if (!lines.empty())
    out << '\n';
  for (const auto& [line, runs] : lines)
    write_wrapped(
      out,
      "warning: " + line
        + (r.seeds > 1 ? fmt::format(" ({} of {} runs)", runs, r.seeds) : ""),
      width);
}

void write_timeline(std::ostream& out, const report& r, bool ascii,
                    std::size_t width) {
  auto lines = timeline(r, ascii, width);
  if (lines.empty())
    return;
  out << (ascii
            ? "\nsucceeded in time, of what was offered (9: at least 90 %, "
              "0: less than 10 %)\n"
            : "\nsucceeded in time, of what was offered (█: at least 90 %)\n");
  for (const auto& line : lines)
    out << line << '\n';
}

// -- several seeds ------------------------------------------------------------

std::string recovery_text(double s) {
  if (std::isnan(s))
    return "-";
  return std::isinf(s) ? "never" : short_seconds(from_seconds(s));
}

std::string number_text(const shown_column& c, double x) {
  if (c.kind == column_kind::run_time)
    return recovery_text(x);
  if (std::isnan(x))
    return "-";
  switch (c.unit) {
    case metric_unit::share:
      return percent(x);
    case metric_unit::seconds:
      return short_time(from_seconds(x));
    case metric_unit::none:
      break;
  }
  return c.digits > 0 ? fmt::format("{:.{}f}", x, c.digits)
                      : grouped(static_cast<std::uint64_t>(std::llround(x)));
}

// `recovery, success and p99`.
std::string headings_of(const std::vector<shown_number>& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    out += i == 0 ? "" : i + 1 < numbers.size() ? ", " : " and ";
    out += numbers[i].column.heading;
  }
  return out;
}

std::string spread_text(const shown_column& c, const spread& s) {
  return fmt::format("{} / {} / {}", number_text(c, s.min),
                     number_text(c, s.median), number_text(c, s.max));
}

// Those that are shown: all, but for runs without a fault if there are none.
std::vector<verdict_kind> shown_verdicts(const std::vector<arm_summary>& arms) {
  std::vector<verdict_kind> out;
  for (auto v : all_verdicts)
    if (v != verdict_kind::no_fault
        || std::ranges::any_of(arms, [&](auto& s) { return s.count(v) > 0; }))
      out.push_back(v);
  return out;
}

void write_seeds(std::ostream& out, const report& r, std::size_t width) {
  auto arms = summaries(r);
  auto verdicts = shown_verdicts(arms);
  std::vector<text_table::column> columns{{"arm", align::left}, {"runs"}};
  for (auto v : verdicts)
    columns.push_back({std::string{verdict_name(v)}});
  auto relapses = std::ranges::any_of(arms,
                                      [](auto& s) { return s.relapsed > 0; });
  if (relapses)
    columns.push_back({"relapsed"});
  auto numbers = numbers_of(arm_result{}, output::brief);
  for (const auto& x : numbers)
    columns.push_back({std::string{x.column.heading}, align::left});
  text_table table{std::move(columns)};
  for (const auto& s : arms) {
    std::vector<std::string> row{s.name, grouped(s.runs)};
    for (auto v : verdicts)
      row.push_back(short_percent(s.count(v), s.runs));
    if (relapses)
      row.push_back(short_percent(s.relapsed, s.runs));
    for (const auto& x : s.numbers)
      row.push_back(spread_text(x.column, x.values));
    table.row(std::move(row));
  }
  table.write(out, width);
  out << headings_of(numbers) << ": min / median / max\n";
}

// -- what was checked ---------------------------------------------------------

struct checked {
  double little = 0;
  std::uint64_t services = 0;
  std::uint64_t requests = 0;
  std::uint64_t twice = 0;
  std::uint64_t unanswered = 0;
};

checked checks_of(const report& r) {
  checked out;
  for (const auto& run : r.runs) {
    for (const auto& arm : run.arms) {
      for (const auto& s : arm.services)
        // A NaN must win.
        if (!(s.little_error <= out.little))
          out.little = s.little_error;
      out.services = std::max<std::uint64_t>(out.services, arm.services.size());
      out.requests += arm.totals.offered;
      out.twice += arm.answered_twice;
      out.unanswered += arm.unanswered;
    }
  }
  return out;
}

void write_checks(std::ostream& out, const report& r) {
  auto c = checks_of(r);
  out << fmt::format("Little's law {}, largest error {:.2g}\n",
                     c.little <= little_tolerance
                       ? "holds at every service"
                       : "IS VIOLATED at some service",
                     c.little);
  if (c.twice == 0)
    out << "no request was answered twice";
  else
    out << fmt::format("{} ANSWERED TWICE", grouped(c.twice));
  out << fmt::format(", {} had no answer at the end\n", grouped(c.unanswered));
}

// One number for the logs of all seeds: FNV-1a over their digests.
std::uint64_t combined(const std::vector<const arm_result*>& results) {
  if (results.size() == 1)
    return results.front()->digest;
  auto hash = detail::fnv1a_start;
  for (auto r : results)
    for (int shift = 0; shift < 64; shift += 8)
      hash = detail::fnv1a(static_cast<unsigned char>(r->digest >> shift),
                           hash);
  return hash;
}

void write_digests(std::ostream& out, const report& r) {
  text_table table{
    {{"event log", align::left}, {"events"}, {"digest", align::left}}};
  for (const auto& arm : r.arms) {
    auto results = results_of(r, arm.name);
    if (results.empty())
      continue;
    std::uint64_t events = 0;
    for (auto result : results)
      events += result->events;
    table.row(
      {arm.name, grouped(events), fmt::format("{:016x}", combined(results))});
  }
  table.write(out);
}

} // namespace

std::string verdict_text(const arm_result& r) {
  if (r.interrupted)
    return fmt::format("interrupted at {}", short_seconds(r.length));
  return recovered_text(r) + relapses_text(r);
}

void write_text(std::ostream& out, const report& r, bool ascii,
                std::size_t width, bool brief) {
  write_head(out, r, width);
  out << '\n';
  if (r.seeds > 1) {
    write_seeds(out, r, width);
  } else if (!r.runs.empty()) {
    const auto& arms = r.runs.front().arms;
    write_arms(out, arms, width);
    write_reasons(out, r, width);
    write_loads(out, arms, width);
    write_timeline(out, r, ascii, width);
    write_connections(out, arms, width);
    write_zones(out, arms, width);
  }
  write_titles(out, r, width);
  write_warnings(out, r, width);
  if (brief)
    return;
  out << '\n';
  write_checks(out, r);
  out << '\n';
  write_digests(out, r);
}

void write_verdicts(std::ostream& out, const report& r) {
  for (const auto& run : r.runs) {
    for (const auto& arm : run.arms) {
      if (r.seeds > 1)
        out << fmt::format("seed {}: ", run.seed);
      out << printable(arm.name) << ": " << verdict_text(arm) << '\n';
    }
  }
}

void write_failures(std::ostream& out, const report& r) {
  for (const auto& text : r.failures)
    out << "failed: " << printable(text) << '\n';
}

void write_interruption(std::ostream& out, const report& r) {
  if (!r.interrupted)
    return;
  std::uint64_t done = 0;
  std::string partly;
  for (const auto& run : r.runs) {
    for (const auto& arm : run.arms) {
      if (!arm.interrupted)
        ++done;
      else
        partly = fmt::format(", arm {}, seed {}, up to {}", printable(arm.name),
                             run.seed, short_seconds(arm.length));
    }
  }
  out << fmt::format("interrupted: {} of {} runs done{}\n", done,
                     r.arms.size() * r.seeds, partly);
}

} // namespace caisson::sim
