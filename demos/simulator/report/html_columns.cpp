#include <simulator/report/html_columns.hpp>

#include <simulator/scenario/row_step.hpp>
#include <simulator/world/run_details.hpp>

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <utility>

namespace caisson::sim {

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t most_numbers = 800'000;
constexpr std::size_t most_rows = 7'200;

std::size_t columns_of(const arm_result& r) {
  constexpr std::size_t of_requests = 9;
  constexpr std::size_t of_service = 7;
  constexpr std::size_t of_edge = 2;
  constexpr std::size_t of_load = 3;
  std::size_t edges = 0;
  if (r.details && !r.details->edges.empty())
    edges = r.details->edges.front().size();
  constexpr std::size_t of_connections = 4;
  auto limited = r.rows.empty() ? 0 : r.rows.front().connections.size();
  return of_requests + r.totals.errors.size() + r.loads.size() * of_load
         + r.services.size() * of_service + edges * of_edge
         + limited * of_connections + r.breakers.size();
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

const service_row& service_in(const result_row& row, std::size_t i) {
  static const service_row none;
  return i < row.services.size() ? row.services[i] : none;
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

template <class F>
json html_columns::latencies(F of_row) const {
  return column([&](std::size_t begin, std::size_t end) {
    json largest = nullptr;
    for (auto i = begin; i < end; ++i) {
      const auto& s = r_.rows[i].latency;
      if (s.count == 0)
        continue;
      auto us = microseconds(of_row(s));
      if (largest.is_null() || us > largest.template get<std::int64_t>())
        largest = us;
    }
    return largest;
  });
}

json html_columns::requests() const {
  json out;
  auto count = [&](const char* name, std::uint64_t request_counts::*n) {
    out[name] = sums([n](const result_row& row) { return row.requests.*n; });
  };
  count("offered", &request_counts::offered);
  count("attempts", &request_counts::attempts);
  count("good", &request_counts::good);
  count("substituted", &request_counts::substituted);
  count("failed", &request_counts::failed);
  auto errors = json::object();
  for (const auto& kind : kinds_in(r_))
    errors[kind] = sums([&](const result_row& row) {
      auto found = row.requests.errors.find(kind);
      return found == row.requests.errors.end() ? 0 : found->second;
    });
  out["errors"] = std::move(errors);
  auto latency = [&](const char* name, duration latency_summary::*d) {
    out[name] = latencies([d](const latency_summary& s) { return s.*d; });
  };
  latency("p50", &latency_summary::p50);
  latency("p95", &latency_summary::p95);
  latency("p99", &latency_summary::p99);
  latency("max", &latency_summary::max);
  return out;
}

json html_columns::load(std::size_t i) const {
  auto count = [&](std::uint64_t load_row::*n) {
    return sums([n, i](const result_row& row) {
      return i < row.loads.size() ? row.loads[i].*n : 0;
    });
  };
  return {{"offered", count(&load_row::offered)},
          {"good", count(&load_row::good)},
          {"failed", count(&load_row::failed)}};
}

json html_columns::service(std::size_t i) const {
  json out;
  auto count = [&](const char* name, std::uint64_t service_row::*n) {
    out[name] = sums(
      [n, i](const result_row& row) { return service_in(row, i).*n; });
  };
  count("arrivals", &service_row::arrivals);
  count("refused", &service_row::refused);
  count("completed", &service_row::completed);
  count("failed", &service_row::failed);
  auto last = [&](const char* name, std::uint64_t service_row::*n) {
    out[name] = column([&](std::size_t, std::size_t end) {
      return service_in(r_.rows[end - 1], i).*n;
    });
  };
  last("queue", &service_row::queue);
  last("busy", &service_row::busy);
  if (!r_.rows.empty() && service_in(r_.rows.front(), i).workers > 0)
    last("workers", &service_row::workers);
  if (i < r_.services.size() && r_.services[i].cores > 0)
    last("cores_used", &service_row::cores_used);
  out["queue_max"] = column([&](std::size_t begin, std::size_t end) {
    std::uint64_t most = 0;
    for (auto k = begin; k < end; ++k)
      most = std::max(most, service_in(r_.rows[k], i).queue_max);
    return most;
  });
  return out;
}

json html_columns::edge(std::size_t i) const {
  auto sum = [&](std::uint64_t edge_row::*n) {
    return column([&](std::size_t begin, std::size_t end) {
      std::uint64_t out = 0;
      for (auto k = begin; k < end; ++k)
        if (r_.details && k < r_.details->edges.size())
          out += r_.details->edges[k][i].*n;
      return out;
    });
  };
  return {{"calls", sum(&edge_row::calls)}, {"failed", sum(&edge_row::failed)}};
}

json html_columns::connections(std::size_t i) const {
  json out;
  auto last = [&](const char* name, std::uint64_t connection_row::*n) {
    out[name] = column([&](std::size_t, std::size_t end) {
      return r_.rows[end - 1].connections[i].*n;
    });
  };
  last("used", &connection_row::used);
  last("waiting", &connection_row::waiting);
  auto none = [i](const result_row& row) {
    return row.connections[i].refused + row.connections[i].expired;
  };
  out["no_connection"] = sums(none);
  out["waiting_max"] = column([&](std::size_t begin, std::size_t end) {
    std::uint64_t most = 0;
    for (auto k = begin; k < end; ++k)
      most = std::max(most, r_.rows[k].connections[i].waiting_max);
    return most;
  });
  return out;
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
