#include <simulator/sweep/sweep_table.hpp>

#include <simulator/report/numbers.hpp>
#include <simulator/report/table.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <ostream>
#include <utility>

namespace caisson::sim {

namespace {

std::string spread_text(const spread& s, metric_unit unit, bool several) {
  auto median = metric_text(s.median, unit);
  auto min = metric_text(s.min, unit);
  auto max = metric_text(s.max, unit);
  if (!several || min == max)
    return median;
  return fmt::format("{} ({} to {})", median, min, max);
}

std::string verdicts_text(const sweep_summary& s, bool several) {
  std::string out;
  for (auto v : all_verdicts) {
    auto n = s.verdicts[static_cast<std::size_t>(v)];
    if (n == 0)
      continue;
    if (!out.empty())
      out += ", ";
    out += verdict_name(v);
    if (several)
      out += fmt::format(" {}", n);
  }
  return out.empty() ? "-" : out;
}

std::string counted(std::size_t n, std::string_view what) {
  return fmt::format("{} {}{}", grouped(n), what, n == 1 ? "" : "s");
}

std::string head_line(const sweep_plan& p) {
  std::string sizes;
  for (const auto& x : p.parameters)
    sizes += fmt::format("{}{}", sizes.empty() ? "" : " x ", x.values.size());
  auto seeds = p.seeds == 1
                 ? fmt::format("seed {}", p.seed)
                 : fmt::format("seeds {} to {}", p.seed, p.seed + p.seeds - 1);
  return fmt::format("{}: {} settings, {}, {}: {}", detail::printable(p.file),
                     sizes, counted(p.arms.size(), "arm"), seeds,
                     counted(p.runs(), "run"));
}

} // namespace

void write_sweep_table(std::ostream& out, const sweep_report& r,
                       std::size_t width) {
  using align = text_table::align;
  const auto& p = r.plan;
  auto several = p.seeds > 1;
  if (!p.title.empty())
    write_wrapped(out, detail::printable(p.title), width);
  write_wrapped(out, head_line(p), width);
  out << '\n';
  std::vector<text_table::column> columns;
  for (const auto& name : short_names(p.parameters))
    columns.push_back({name, align::right});
  if (p.arms.size() > 1)
    columns.push_back({"arm", align::left});
  columns.push_back({"verdict", align::left});
  for (const auto& name : p.metrics)
    columns.push_back({name, align::right});
  text_table table{std::move(columns)};
  for (std::size_t point = 0; point < p.points(); ++point)
    for (std::size_t arm = 0; arm < p.arms.size(); ++arm) {
      auto s = summary_of(r, point, arm);
      std::vector<std::string> cells;
      for (std::size_t i = 0; i < p.parameters.size(); ++i)
        cells.push_back(p.value(point, i).text);
      if (p.arms.size() > 1)
        cells.push_back(p.arms[arm]);
      cells.push_back(verdicts_text(s, several));
      for (std::size_t i = 0; i < p.metrics.size(); ++i)
        cells.push_back(
          spread_text(s.metrics[i], unit_of(p.metrics[i]), several));
      table.row(std::move(cells));
    }
  table.write(out, width);
}

} // namespace caisson::sim
