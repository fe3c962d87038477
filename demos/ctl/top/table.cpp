#include <ctl/top/table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace caisson::ctl {

namespace {

struct column_form {
  gate_column column;
  const char* head;
  side at;
  std::size_t width;
  /// It can be so wide if there is room.
  std::size_t most;
};

constexpr column_form forms[gate_columns] = {
  {gate_column::name, "gate", side::left, 10, 40},
  {gate_column::state, "state", side::left, 12, 26},
  {gate_column::calls, "calls/s", side::right, 7, 7},
  {gate_column::success, "ok %", side::right, 5, 5},
  {gate_column::p50, "p50", side::right, 7, 7},
  {gate_column::p99, "p99", side::right, 7, 7},
  {gate_column::in_flight, "flight", side::right, 6, 6},
  {gate_column::waiting, "waits", side::right, 5, 5},
  {gate_column::rejected, "rej/s", side::right, 6, 6},
  {gate_column::reason, "mostly", side::left, 12, 26},
  {gate_column::history, "calls", side::left, 10, call_history::steps},
};

// What narrow screens leave out last comes first, behind the name, which is
// always there, and the state.
constexpr gate_column by_weight[] = {
  gate_column::calls,   gate_column::success,   gate_column::rejected,
  gate_column::p99,     gate_column::in_flight, gate_column::history,
  gate_column::waiting, gate_column::reason,    gate_column::p50};

// And what gets room beyond its least, in this order.
constexpr gate_column by_greed[] = {gate_column::name, gate_column::state,
                                    gate_column::reason, gate_column::history};

constexpr std::size_t gap = 2;

/// The width of each column; 0: it is left out.
using widths = std::array<std::size_t, gate_columns>;

constexpr std::size_t at(gate_column x) {
  return static_cast<std::size_t>(x);
}

// What a column would like to have, for what is in it; at most `most`.
std::size_t ideal_width(const std::vector<const gate_facts*>& rows,
                        gate_column column, std::size_t most, bool utf8) {
  auto out = forms[at(column)].width;
  if (column == gate_column::history)
    return most;
  for (const auto* x : rows) {
    auto& text = column == gate_column::name    ? x->name
                 : column == gate_column::state ? x->condition
                                                : x->main_reason;
    if (text.size() > out)
      out = std::max(out, width_of(harmless(text, utf8)));
    if (out >= most)
      return most;
  }
  return out;
}

// Without bars, and everything in full.
widths whole_columns(const std::vector<const gate_facts*>& rows, bool utf8) {
  widths out{};
  for (const auto& form : forms)
    if (form.column != gate_column::history)
      out[at(form.column)] = form.at == side::right
                               ? form.width
                               : ideal_width(rows, form.column,
                                             std::string::npos, utf8);
  return out;
}

widths place_columns(const std::vector<const gate_facts*>& rows,
                     std::size_t columns, bool bars, bool utf8) {
  widths out{};
  // On a wide screen these have room before less important columns come.
  auto first_width = [&](gate_column x, std::size_t most) {
    return columns < 60 ? forms[at(x)].width : ideal_width(rows, x, most, utf8);
  };
  auto left = columns;
  auto place = [&](gate_column x, std::size_t width, std::size_t needs) {
    if (needs > left)
      return;
    out[at(x)] = width;
    left -= needs;
  };
  auto name = std::min(columns, first_width(gate_column::name, 20));
  place(gate_column::name, name, name);
  auto state = first_width(gate_column::state, 19);
  place(gate_column::state, state, state + gap);
  for (auto x : by_weight)
    if (x != gate_column::history || bars)
      place(x, forms[at(x)].width, forms[at(x)].width + gap);
  for (auto x : by_greed) {
    auto& width = out[at(x)];
    if (width == 0)
      continue;
    auto ideal = ideal_width(rows, x, forms[at(x)].most, utf8);
    auto more = std::max(width, ideal) - width;
    more = std::min(more, left);
    width += more;
    left -= more;
  }
  return out;
}

std::string time_or_nothing(std::optional<duration> x) {
  return x ? rounded_text(*x) : "-";
}

struct cell {
  std::string text;
  paint how = paint::plain;
};

cell cell_of(const gate_facts& x, gate_column column, bool utf8) {
  const auto known = x.error.empty();
  auto number = [&](std::int64_t n) {
    return known ? short_number(static_cast<double>(n)) : std::string{"-"};
  };
  switch (column) {
    case gate_column::name:
      return {harmless(x.name, utf8), paint::bold};
    case gate_column::state:
      return {harmless(x.condition, utf8), paint_of(x.how)};
    case gate_column::calls:
      return {short_number(x.history.calls_per_second())};
    case gate_column::success: {
      auto share = x.history.success();
      return {percent_of(share), !share || *share == 1 ? paint::plain
                                 : *share < 0.5        ? paint::bad
                                                       : paint::strained};
    }
    case gate_column::p50:
      return {time_or_nothing(x.p50)};
    case gate_column::p99:
      return {time_or_nothing(x.p99)};
    case gate_column::in_flight:
      return {number(x.in_flight)};
    case gate_column::waiting:
      return {number(x.waiting)};
    case gate_column::rejected:
      return {short_number(x.rejected),
              x.rejected.value_or(0) > 0 ? paint::strained : paint::plain};
    case gate_column::reason:
      return {harmless(known ? x.main_reason : x.error, utf8), paint::dim};
    case gate_column::history:
      break;
  }
  return {};
}

text_line head_of_table(const widths& all, std::optional<gate_column> sorted_by,
                        bool reversed, bool utf8) {
  text_line out;
  for (const auto& form : forms) {
    auto width = all[at(form.column)];
    if (width == 0)
      continue;
    if (out.width() > 0)
      out.add(std::string(gap, ' '));
    std::string head = form.head;
    if (form.column == gate_column::history)
      head = fmt::format(
        "last {}",
        rounded_text(call_history::step * static_cast<std::int64_t>(width)));
    auto sorts = form.column == sorted_by;
    if (sorts)
      // The order of names is that of the alphabet unless it is reversed.
      head += reversed == (form.column == gate_column::name)
                ? (utf8 ? "▼" : "v")
                : (utf8 ? "▲" : "^");
    // The mark may stand in the gap before a number.
    if (auto needs = width_of(head);
        form.at == side::right && needs == width + 1) {
      out.set_width(out.width() - 1, utf8);
      ++width;
    }
    out.add(fitted(head, width, utf8, form.at),
            sorts ? paint::bold : paint::dim);
  }
  return out;
}

text_line row_of(const gate_facts& x, const widths& all,
                 const terminal_look& look, time_point now) {
  text_line out;
  for (const auto& form : forms) {
    auto width = all[at(form.column)];
    if (width == 0)
      continue;
    if (out.width() > 0)
      out.add(std::string(gap, ' '));
    if (form.column == gate_column::history) {
      add_bars(out, x.history, width, look, now);
      continue;
    }
    auto c = cell_of(x, form.column, look.utf8);
    out.add(fitted(c.text, width, look.utf8, form.at), c.how);
  }
  return out;
}

} // namespace

paint paint_of(grade x) noexcept {
  return x == grade::good       ? paint::good
         : x == grade::strained ? paint::strained
                                : paint::bad;
}

std::string short_number(double x) {
  if (x < 0)
    return "-" + short_number(-x);
  if (x == std::floor(x) && x < 10'000)
    return fmt::format("{:.0f}", x);
  if (x < 0.01)
    return "<0.01";
  if (x < 9.995)
    return fmt::format("{:.2f}", x);
  if (x < 99.95)
    return fmt::format("{:.1f}", x);
  if (x < 9'999.5)
    return fmt::format("{:.0f}", x);
  static constexpr const char* units[] = {"k", "M", "G", "T", "P", "E"};
  for (const auto* unit : units) {
    x /= 1'000;
    if (x < 99.95)
      return fmt::format("{:.1f}{}", x, unit);
    if (x < 999.5)
      return fmt::format("{:.0f}{}", x, unit);
  }
  return ">999E";
}

std::string short_number(std::optional<double> x) {
  return x ? short_number(*x) : "-";
}

std::string percent_of(std::optional<double> share) {
  if (!share)
    return "-";
  if (*share <= 0 || *share >= 1)
    return *share <= 0 ? "0" : "100";
  // What is not all must not look as if it were.
  auto percent = std::floor(*share * 1'000) / 10;
  return percent == 0 ? "<0.1" : fmt::format("{:.1f}", percent);
}

void add_bars(text_line& to, const call_history& from, std::size_t width,
              const terminal_look& look, time_point now) {
  auto bars = from.bars(width, now);
  std::vector<std::optional<double>> heights;
  heights.reserve(bars.size());
  for (const auto& x : bars)
    heights.push_back(x.calls_per_second);
  auto texts = bars_of(heights, look.utf8);
  for (std::size_t i = 0; i < bars.size(); ++i)
    to.add(texts[i], bars[i].failed >= 0.5   ? paint::bad
                     : bars[i].failed > 0.01 ? paint::strained
                                             : paint::good);
}

std::vector<text_line> table_lines(const top_model& model, top_view& view,
                                   std::size_t columns, std::size_t height,
                                   const terminal_look& look,
                                   const screen_notes& notes) {
  auto rows = rows_of(model, view);
  auto all = place_columns(rows, columns, true, look.utf8);
  std::vector<text_line> out{
    head_of_table(all, view.sorted_by, view.reversed, look.utf8)};
  view.place = selected_place(rows, view);
  auto shown = height > 0 ? height - 1 : 0;
  view.rows_above = rows_above(view.rows_above, view.place, rows.size(), shown);
  // Until somebody selects one it is the first, whichever that is.
  if (!rows.empty() && !view.selected.empty())
    view.selected = rows[view.place]->name;
  auto end = std::min(rows.size(), view.rows_above + shown);
  for (auto i = view.rows_above; i < end; ++i) {
    out.push_back(row_of(*rows[i], all, look, notes.now));
    if (i == view.place) {
      out.back().set_width(columns, look.utf8);
      out.back().select();
    }
  }
  if (rows.empty())
    out.emplace_back(model.gates().empty() ? "the program has no gates here yet"
                                           : "no gate matches the filter",
                     paint::dim);
  return out;
}

std::vector<text_line>
draw_table(const top_model& model, const top_view& view, std::size_t columns,
           const terminal_look& look, const screen_notes& notes) {
  auto rows = rows_of(model, view);
  auto all = columns == 0 ? whole_columns(rows, look.utf8)
                          : place_columns(rows, columns, false, look.utf8);
  std::vector<text_line> out{head_of_table(all, {}, false, look.utf8)};
  for (const auto* x : rows)
    out.push_back(row_of(*x, all, look, notes.now));
  return out;
}

} // namespace caisson::ctl
