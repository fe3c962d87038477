// Columns of results: which numbers a record has, and how outputs name them.
#pragma once

#include <caisson/base/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace caisson::sim {

constexpr double real(std::uint64_t n) {
  return static_cast<double>(n);
}

constexpr double ratio(std::uint64_t part, std::uint64_t of,
                       double of_nothing) {
  return of == 0 ? of_nothing : real(part) / real(of);
}

/// What a number of a record is, which says how those of several rows are
/// joined.
enum class column_kind : std::uint8_t {
  /// Counts what happened: values add up.
  sum,
  /// The most at the same time.
  largest,
  /// At the end of a row: the last value counts.
  level,
  /// These cannot be joined.
  mean,
  percentile,
  /// Per second, or of other columns.
  rate,
  ratio,
  /// In seconds, of the time of the run; infinite if it never comes.
  run_time,
};

/// How a number reads.
enum class metric_unit : std::uint8_t { none, seconds, share };

/// Which of two numbers is the better one.
enum class tune_sense : std::uint8_t { less, more };

/// Outputs that have only some columns, each in an order of its own.
enum class output : std::uint8_t {
  csv,
  /// What the page of a run has of each row.
  html,
  /// Of these, the numbers of a second, and the curves.
  second,
  curve,
  /// On the page, the card of an arm.
  card,
  /// The few numbers of all seeds, and on the page of a load.
  brief,
  text,
};

/// The place of a column in an output that does not have it.
inline constexpr std::int8_t absent = -1;

/// What `expect`, `sweep` and `tune` call a column that they do not know.
inline constexpr std::string_view no_metric = "-";

/// Places and the heading on the page of a run.
struct page_traits {
  std::int8_t second = absent;
  std::int8_t curve = absent;
  std::int8_t card = absent;
  /// Empty: as in the terminal.
  std::string_view heading = {};
};

/// What outputs make of a column.
struct column_traits {
  /// What `expect`, `sweep` and `tune` call it; empty: as JSON.
  std::string_view metric = {};
  metric_unit unit = metric_unit::none;
  /// If that goes without saying.
  std::optional<tune_sense> sense = {};
  /// Computed of fields that rows have, too.
  bool of_rows = false;
  /// Places: smaller ones come first, equal ones in the order of the table.
  std::int8_t csv = absent;
  std::int8_t html = absent;
  std::int8_t text = absent;
  std::int8_t brief = absent;
  page_traits page = {};
  /// In the terminal; empty: as JSON.
  std::string_view heading = {};
  /// The counter in traces; empty: there is none.
  std::string_view counter = {};
};

inline constexpr column_traits as_share{.unit = metric_unit::share};

constexpr column_traits called(std::string_view metric,
                               metric_unit unit = metric_unit::none) {
  return {.metric = metric, .unit = unit};
}

/// With places in outputs.
constexpr column_traits shown(std::int8_t csv, std::int8_t html,
                              std::int8_t text = absent,
                              std::optional<tune_sense> sense = {}) {
  return {.sense = sense, .csv = csv, .html = html, .text = text};
}

/// The same with a counter in traces.
constexpr column_traits traced(column_traits traits, std::string_view counter) {
  traits.counter = counter;
  return traits;
}

/// The same shown on the page of a run.
constexpr column_traits on_page(column_traits traits, page_traits page) {
  traits.page = page;
  return traits;
}

/// A number of `Record`. JSON has what is stored in a record, in the order of
/// the table; what is computed is only a metric.
template <class Record, class Whole = Record>
struct result_column {
  /// A field of it, or what is computed of it, perhaps with the seconds that
  /// it covers.
  using source = std::variant<std::uint64_t Record::*, duration Record::*,
                              double Record::*, double (*)(const Record&),
                              double (*)(const Record&, double seconds)>;

  /// The key in JSON, and the name of the column in CSV.
  std::string_view name;
  source value;
  column_kind kind = column_kind::sum;
  /// For the docs.
  std::string_view help = {};
  column_traits traits = {};
  /// Which records have it; null if all have. A row is that of `Whole`.
  bool (*applies)(const Record&, const Whole& of) = nullptr;

  [[nodiscard]] constexpr bool stored() const { return value.index() < 3; }
  /// Empty if it is none.
  [[nodiscard]] constexpr std::string_view metric() const {
    return traits.metric.empty()        ? name
           : traits.metric == no_metric ? std::string_view{}
                                        : traits.metric;
  }
  [[nodiscard]] constexpr std::string_view heading() const {
    return traits.heading.empty() ? name : traits.heading;
  }
  [[nodiscard]] constexpr std::string_view page_heading() const {
    return traits.page.heading.empty() ? heading() : traits.page.heading;
  }
  [[nodiscard]] constexpr std::int8_t place_in(output o) const {
    switch (o) {
      case output::csv:
        return traits.csv;
      case output::html:
        return traits.html;
      case output::second:
        return traits.page.second;
      case output::curve:
        return traits.page.curve;
      case output::card:
        return traits.page.card;
      case output::brief:
        return traits.brief;
      case output::text:
        return traits.text;
    }
    return absent;
  }
};

/// The field of a count.
template <class Record, class Whole>
constexpr auto field_of(const result_column<Record, Whole>& c) {
  return std::get<std::uint64_t Record::*>(c.value);
}
/// The field of a duration.
template <class Record, class Whole>
constexpr auto duration_of(const result_column<Record, Whole>& c) {
  return std::get<duration Record::*>(c.value);
}

/// As a metric: durations in seconds. `seconds`: that the record covers.
template <class Record, class Whole>
double number_of(const result_column<Record, Whole>& c, const Record& x,
                 double seconds = 0) {
  auto get = [&](auto from) -> double {
    using type = decltype(from);
    if constexpr (std::is_same_v<type, double (*)(const Record&)>)
      return from(x);
    else if constexpr (std::is_same_v<type, double (*)(const Record&, double)>)
      return from(x, seconds);
    else if constexpr (std::is_same_v<type, duration Record::*>)
      return to_seconds(x.*from);
    else
      return static_cast<double>(x.*from);
  };
  return std::visit(get, c.value);
}

/// The column with this JSON key, or this metric; null if there is none.
template <class Columns>
constexpr auto* column_named(const Columns& columns, std::string_view name) {
  auto found = std::ranges::find_if(columns,
                                    [&](auto& c) { return c.name == name; });
  return found == std::end(columns) ? nullptr : &*found;
}
template <class Columns>
constexpr auto* column_of_metric(const Columns& columns,
                                 std::string_view metric) {
  auto found = std::ranges::find_if(
    columns, [&](auto& c) { return !metric.empty() && c.metric() == metric; });
  return found == std::end(columns) ? nullptr : &*found;
}

/// The names of metrics, in the order of the table.
template <class Columns>
std::vector<std::string_view> metric_names_of(const Columns& columns) {
  std::vector<std::string_view> out;
  for (const auto& c : columns)
    if (!c.metric().empty())
      out.push_back(c.metric());
  return out;
}

/// Those that an output has, in its order.
template <class Record, class Whole, std::size_t N>
auto columns_in(const result_column<Record, Whole> (&columns)[N], output o) {
  std::vector<const result_column<Record, Whole>*> out;
  for (const auto& c : columns)
    if (c.place_in(o) != absent)
      out.push_back(&c);
  std::ranges::stable_sort(out, {}, [o](auto c) { return c->place_in(o); });
  return out;
}

/// Makes `x`, the row after `to`, a part of it.
template <class Row, class Whole, std::size_t N>
void join_columns(const result_column<Row, Whole> (&columns)[N], Row& to,
                  const Row& x) {
  for (const auto& c : columns) {
    if (!c.stored())
      continue;
    auto& sum = to.*field_of(c);
    auto next = x.*field_of(c);
    if (c.kind == column_kind::level)
      sum = next;
    else if (c.kind == column_kind::largest)
      sum = std::max(sum, next);
    else
      sum += next;
  }
}

} // namespace caisson::sim
