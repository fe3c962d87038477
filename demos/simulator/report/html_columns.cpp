#include <simulator/report/html_columns.hpp>

#include <simulator/scenario/row_step.hpp>
#include <simulator/world/run_details.hpp>

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

namespace caisson::sim {

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t most_numbers = 800'000;
constexpr std::size_t most_rows = 7'200;

// The columns of a table that are on the page.
template <const auto& Table>
const auto& on_page() {
  static const auto out = columns_in(Table, output::html);
  return out;
}

// How many that are, without those that only some have.
template <const auto& Table>
std::size_t usual_columns() {
  return static_cast<std::size_t>(std::ranges::count_if(
    on_page<Table>(), [](auto c) { return !c->applies; }));
}

std::size_t columns_of(const arm_result& r) {
  std::size_t edges = 0;
  if (r.details && !r.details->edges.empty())
    edges = r.details->edges.front().size();
  auto limited = r.rows.empty() ? 0 : r.rows.front().connections.size();
  return usual_columns<request_columns>() + usual_columns<latency_columns>()
         + r.totals.errors.size()
         + r.loads.size() * usual_columns<load_row_columns>()
         + r.services.size() * usual_columns<service_row_columns>()
         + edges * usual_columns<edge_row_columns>()
         + limited * usual_columns<connection_row_columns>()
         + r.breakers.size();
}

std::int64_t microseconds(duration d) {
  return (d.count() + 500) / 1'000;
}

std::set<std::string> kinds_in(const arm_result& r) {
  std::set<std::string> out;
  for (const auto& row : r.rows)
    for (const auto& [kind, n] : row.requests.errors)
      out.insert(kind);
  return out;
}

template <class T>
const T& part_of(const std::vector<T>& all, std::size_t i) {
  static const T none;
  return i < all.size() ? all[i] : none;
}

} // namespace

std::uint32_t step_for(const seed_run& run) {
  std::uint32_t unit = 1;
  std::uint64_t seconds = 1;
  std::size_t columns = 0;
  for (const auto& r : run.arms) {
    unit = std::max(unit, r.step);
    seconds = std::max<std::uint64_t>(seconds, r.rows.size() * r.step);
    columns += columns_of(r);
  }
  auto step = unit;
  auto steps = [&] { return (seconds + step - 1) / step; };
  while (steps() > 1
         && (steps() > most_rows || steps() * columns > most_numbers))
    step = next_step(step, unit);
  return step;
}

// -- columns ------------------------------------------------------------------

// `of_step` gets the rows of a step: the first, and the one after the last.
template <class F>
json html_columns::column(F of_step) const {
  auto list = json::array();
  auto same = true;
  for (std::size_t row = 0; row < rows(); ++row) {
    auto begin = row * rows_per_step_;
    auto end = std::min(begin + rows_per_step_, r_.rows.size());
    list.push_back(of_step(begin, end));
    same = same && list.back() == list.front();
  }
  if (same && !list.empty())
    return json(list.front());
  return list;
}

template <class F>
json html_columns::sums(F of_row) const {
  return column([&](std::size_t begin, std::size_t end) {
    std::uint64_t sum = 0;
    for (auto i = begin; i < end; ++i)
      sum += of_row(r_.rows[i]);
    return sum;
  });
}

json html_columns::latencies(duration latency_summary::*d) const {
  return column([&](std::size_t begin, std::size_t end) {
    json largest = nullptr;
    for (auto i = begin; i < end; ++i) {
      const auto& s = r_.rows[i].latency;
      if (s.count == 0)
        continue;
      auto us = microseconds(s.*d);
      if (largest.is_null() || us > largest.template get<std::int64_t>())
        largest = us;
    }
    return largest;
  });
}

template <const auto& Table, class Whole, class F>
json html_columns::table(const Whole& of, F record_in) const {
  static const std::remove_cvref_t<decltype(record_in(0))> none;
  const auto& first = r_.rows.empty() ? none : record_in(0);
  json out;
  for (auto c : on_page<Table>()) {
    if (c->applies && !c->applies(first, of))
      continue;
    out[c->name] = column([&](std::size_t begin, std::size_t end) {
      if (c->kind == column_kind::level)
        begin = end - 1;
      std::uint64_t all = 0;
      for (auto i = begin; i < end; ++i) {
        auto n = static_cast<std::uint64_t>(number_of(*c, record_in(i)));
        all = c->kind == column_kind::largest ? std::max(all, n) : all + n;
      }
      return all;
    });
  }
  return out;
}

json html_columns::requests() const {
  auto out = table<request_columns>(
    r_.totals, [&](std::size_t row) -> auto& { return r_.rows[row].requests; });
  auto errors = json::object();
  for (const auto& kind : kinds_in(r_))
    errors[kind] = sums([&](const result_row& row) {
      auto found = row.requests.errors.find(kind);
      return found == row.requests.errors.end() ? 0 : found->second;
    });
  out["errors"] = std::move(errors);
  for (auto c : on_page<latency_columns>())
    out[c->name] = latencies(duration_of(*c));
  return out;
}

json html_columns::load(std::size_t i) const {
  return table<load_row_columns>(
    load_row{}, [&](std::size_t row) -> auto& {
      return part_of(r_.rows[row].loads, i);
    });
}

json html_columns::service(std::size_t i) const {
  return table<service_row_columns>(
    part_of(r_.services, i), [&](std::size_t row) -> auto& {
      return part_of(r_.rows[row].services, i);
    });
}

json html_columns::edge(std::size_t i) const {
  static const std::vector<edge_row> none;
  auto in = [&](std::size_t row) -> auto& {
    return r_.details && row < r_.details->edges.size() ? r_.details->edges[row]
                                                        : none;
  };
  return table<edge_row_columns>(
    edge_row{}, [&](std::size_t row) -> auto& { return part_of(in(row), i); });
}

json html_columns::connections(std::size_t i) const {
  return table<connection_row_columns>(
    connection_row{}, [&](std::size_t row) -> auto& {
      return r_.rows[row].connections[i];
    });
}

json html_columns::breaker(std::size_t i) const {
  auto out = json::array();
  std::string before = "closed";
  for (std::size_t row = 0; row < rows(); ++row) {
    auto end = std::min((row + 1) * rows_per_step_, r_.rows.size());
    std::string worst = "closed";
    for (auto k = row * rows_per_step_; k < end; ++k)
      if (const auto& all = worst_states(r_.rows[k]); i < all.size())
        worst = worse_state(worst, all[i]);
    if (worst != before)
      out.push_back({row, worst});
    before = worst;
  }
  return out;
}

} // namespace caisson::sim
