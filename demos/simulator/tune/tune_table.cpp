#include <simulator/tune/tune_table.hpp>

#include <simulator/report/numbers.hpp>
#include <simulator/report/table.hpp>
#include <simulator/scenario/sweep_values.hpp>
#include <simulator/tune/tune_overlay.hpp>
#include <simulator/tune/tune_sentences.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string_view>
#include <utility>

namespace caisson::sim {

namespace {

using side = text_table::align;

std::string seed_range(const tune_plan& p, std::uint64_t first,
                       std::uint32_t n) {
  auto out = n == 1 ? fmt::format("seed {}", first)
                    : fmt::format("seeds {} to {}", first, first + n - 1);
  if (p.schedules > 0)
    out += fmt::format(" with {} random faults each", p.schedules);
  return out;
}

std::string tried_text(const tune_outcome& x) {
  constexpr std::size_t many = 1'000'000'000;
  auto points = x.plan.space().points(many);
  auto tried = static_cast<std::size_t>(std::ranges::count_if(
    x.result.found.candidates, [](const auto& c) { return !c.rows.empty(); }));
  return fmt::format("{}{} combination{}, {} tried in {} runs",
                     points == many ? "more than " : "", grouped(points),
                     points == 1 ? "" : "s", grouped(tried),
                     grouped(x.result.found.spent));
}

void write_tune_head(std::ostream& out, const tune_outcome& x,
                     std::size_t width) {
  const auto& p = x.plan;
  if (!p.title.empty())
    write_wrapped(out, detail::printable(p.title), width);
  write_wrapped(out,
                fmt::format("{}: arm {}, {}, {}", detail::printable(p.file),
                            detail::printable(p.arm.name), tried_text(x),
                            seed_range(p, p.seed, p.seeds)),
                width);
  auto list = [&](const char* what, const std::vector<tune_target>& all) {
    std::string text;
    for (const auto& t : all)
      text += (text.empty() ? "" : ", ") + target_text(p, t);
    if (!text.empty())
      write_wrapped(out, what + detail::printable(text), width);
  };
  list("needed: ", p.targets.needs);
  list("wanted: ", p.targets.objectives);
}

void write_settings(std::ostream& out, const tune_outcome& x,
                    std::size_t width) {
  const auto& p = x.plan;
  text_table table{{{"setting", side::left},
                    {"now", side::right},
                    {"best", side::right},
                    {"range", side::left}}};
  auto now = p.values_of(x.candidate(0));
  auto best = p.values_of(x.candidate(*x.choice.best));
  for (std::size_t i = 0; i < p.parameters.size(); ++i) {
    const auto& values = p.parameters[i].values;
    table.row(
      {to_text(p.parameters[i].path), tune_plan::text_of(now[i]),
       tune_plan::text_of(best[i]),
       axis_of(values).ordered()
         ? fmt::format("{} to {}", values.front().text, values.back().text)
         : fmt::format("{} values", values.size())});
  }
  out << '\n';
  table.write(out, width);
}

// Empty if it says no more than the value.
std::string interval_text(const confidence_interval& i, metric_unit unit) {
  auto from = metric_text(i.from, unit);
  auto to = metric_text(i.to, unit);
  return std::isnan(i.from) || from == to ? std::string{}
                                          : fmt::format("({} to {})", from, to);
}

std::string with_interval(const std::string& value,
                          const std::string& interval) {
  return interval.empty() ? value : value + ' ' + interval;
}

std::string signed_text(double x, metric_unit unit) {
  auto text = metric_text(std::abs(x), unit);
  auto zero = text == metric_text(0, unit) || std::isnan(x);
  return zero ? text : (x < 0 ? "-" : "+") + text;
}

// What the difference means.
std::string meaning(const tune_column& column, const tune_comparison& c) {
  const auto& d = c.difference;
  auto sense = column.parameter ? std::nullopt : usual_sense(column.name);
  if (d.sure == 0.5 && !(d.mean < 0) && !(d.mean > 0))
    return "same";
  auto surely = d.sure >= 0.975 || d.sure <= 0.025;
  if (!surely)
    return "maybe chance";
  // Of what has no usual sense, less counts as better here.
  auto better = d.sure > 0.5;
  if (!sense)
    return better ? "less" : "more";
  return better ? "better" : "worse";
}

// Where an interval stands; each takes less room than the one before.
enum class interval_place { beside_value, in_row_below, in_two_rows_below };

void add_intervals(text_table& table, const std::string& now,
                   const std::string& best, interval_place place) {
  if (place == interval_place::in_row_below)
    return table.row({"", now, best, "", ""});
  auto halves = [](const std::string& x) {
    constexpr std::string_view between = " to ";
    auto at = x.find(between);
    return at == x.npos ? std::pair<std::string, std::string>{x, {}}
                        : std::pair{x.substr(0, at + between.size() - 1),
                                    x.substr(at + between.size())};
  };
  auto [now_from, now_to] = halves(now);
  auto [best_from, best_to] = halves(best);
  table.row({"", now_from, best_from, "", ""});
  table.row({"", now_to, best_to, "", ""});
}

text_table evidence_table(const tune_outcome& x, const tune_evidence& e,
                          const std::string& where, interval_place place) {
  text_table table{{{where, side::left},
                    {"now", side::right},
                    {"best", side::right},
                    {"difference", side::right},
                    {"", side::left}}};
  for (std::size_t i = 0; i < e.columns.size(); ++i) {
    const auto& column = x.plan.columns[i];
    const auto& c = e.columns[i];
    auto now = metric_text(c.present, column.unit);
    auto best = metric_text(c.best, column.unit);
    auto now_between = interval_text(c.present_interval, column.unit);
    auto best_between = interval_text(c.best_interval, column.unit);
    if (place == interval_place::beside_value) {
      now = with_interval(now, now_between);
      best = with_interval(best, best_between);
    }
    table.row({column.name, now, best,
               signed_text(c.difference.mean, column.unit),
               meaning(column, c)});
    if (place != interval_place::beside_value
        && !(now_between.empty() && best_between.empty()))
      add_intervals(table, now_between, best_between, place);
  }
  return table;
}

void write_evidence(std::ostream& out, const tune_outcome& x,
                    const tune_evidence& e, const std::string& where,
                    std::size_t width) {
  auto table = evidence_table(x, e, where, interval_place::beside_value);
  for (auto place :
       {interval_place::in_row_below, interval_place::in_two_rows_below})
    if (width != any_width && table.width() > width)
      table = evidence_table(x, e, where, place);
  out << '\n';
  table.write(out, width);
}

std::string role_of(const tune_outcome& x, std::size_t i) {
  auto best = x.choice.best == i;
  if (i == 0)
    return best ? "now, best" : "now";
  return best ? "best" : "";
}

void write_front(std::ostream& out, const tune_outcome& x) {
  const auto& p = x.plan;
  auto traded = p.targets.trade_off();
  if (x.choice.front.size() < 2)
    return;
  std::vector<text_table::column> columns;
  for (const auto& name : short_names(p.parameters))
    columns.push_back({name, side::right});
  // Settings are there already.
  auto metrics = traded;
  std::erase_if(metrics, [&](const tune_target& t) {
    return p.columns[t.column].parameter.has_value();
  });
  for (const auto& t : metrics)
    columns.push_back({p.columns[t.column].name, side::right});
  auto tested = !x.result.unseen.empty();
  if (tested)
    for (const auto& t : metrics)
      columns.push_back({"unseen " + p.columns[t.column].name, side::right});
  columns.push_back({"", side::left});
  text_table table{std::move(columns)};
  for (auto i : x.choice.front) {
    std::vector<std::string> cells;
    for (auto value : p.values_of(x.candidate(i)))
      cells.push_back(tune_plan::text_of(value));
    auto add = [&](const tune_rows& rows, std::size_t trials) {
      for (const auto& t : metrics)
        cells.push_back(metric_text(mean_of(rows, trials, t.column),
                                    p.columns[t.column].unit));
    };
    add(x.candidate(i).rows, x.seen->trials);
    if (tested)
      add(x.result.unseen.at(i), p.unseen_trials());
    cells.push_back(role_of(x, i));
    table.row(std::move(cells));
  }
  out << fmt::format("\nwhat {} costs in {}:\n",
                     detail::printable(p.columns[traded[0].column].name),
                     detail::printable(p.columns[traded[1].column].name));
  table.write(out);
}

void write_overlay(std::ostream& out, const tune_outcome& x) {
  if (!x.has_better())
    return;
  auto o = overlay_of(x.plan, x.candidate(*x.choice.best));
  if (!o.arms.empty()) {
    out << "\nto try them, add to the scenario:\n\n" << o.arms;
    if (!o.tune_arm.empty())
      out << "\nand to its table [tune], which now has to say which arm is "
             "tuned:\n\narm = "
          << written_text({o.tune_arm, {}}) << '\n';
    return;
  }
  out << "\nto try them, change in the scenario:\n\n";
  for (const auto& line : o.lines)
    out << detail::printable(line) << '\n';
}

} // namespace

void write_tune_text(std::ostream& out, const tune_outcome& x,
                     std::size_t width) {
  const auto& p = x.plan;
  write_tune_head(out, x, width);
  if (!x.seen) {
    out << "\nNo run was completed.\n";
    return;
  }
  write_settings(out, x, width);
  // Interrupted searches compare what they have.
  auto seeds = static_cast<std::uint32_t>(
    std::min<std::size_t>(p.seeds, x.seen->trials));
  write_evidence(out, x, *x.seen, seed_range(p, p.seed, seeds), width);
  if (x.unseen)
    write_evidence(out, x, *x.unseen,
                   "unseen " + seed_range(p, p.seed + p.seeds, p.unseen),
                   width);
  write_front(out, x);
  auto sentences = tune_sentences(x);
  for (auto& hint : tune_hints(x))
    sentences.push_back(std::move(hint));
  if (!sentences.empty())
    out << '\n';
  for (const auto& text : sentences)
    write_wrapped(out, detail::printable(text), width);
  write_overlay(out, x);
}

} // namespace caisson::sim
