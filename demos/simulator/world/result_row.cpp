#include <simulator/world/result_row.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace caisson::sim {

namespace {

template <class T, class F>
void join_each(std::vector<T>& to, const std::vector<T>& xs, F f) {
  to.resize(std::max(to.size(), xs.size()));
  for (std::size_t i = 0; i < xs.size(); ++i)
    f(to[i], xs[i]);
}

// One that is not known is the worst, none at all the best.
auto badness(std::string_view state) {
  if (state.empty())
    return std::ptrdiff_t{-1};
  constexpr std::string_view known[] = {"closed", "half_open", "open"};
  return std::ranges::find(known, state) - std::begin(known);
}

} // namespace

const std::vector<std::string>& worst_states(const result_row& row) {
  return row.worst_breakers.empty() ? row.breakers : row.worst_breakers;
}

const std::string& worse_state(const std::string& a, const std::string& b) {
  return badness(b) > badness(a) ? b : a;
}

void join(result_row& row, const result_row& next) {
  join_columns(request_columns, row.requests, next.requests);
  for (const auto& [kind, n] : next.requests.errors)
    row.requests.errors[kind] += n;
  row.prompt += next.prompt;
  join_each(row.loads, next.loads, [](auto& to, const auto& x) {
    join_columns(load_row_columns, to, x);
  });
  join_each(row.services, next.services, [](auto& to, const auto& x) {
    join_columns(service_row_columns, to, x);
  });
  join_each(row.connections, next.connections, [](auto& to, const auto& x) {
    join_columns(connection_row_columns, to, x);
  });
  if (row.worst_breakers.empty())
    row.worst_breakers = row.breakers;
  join_each(row.worst_breakers, worst_states(next),
            [](auto& to, const auto& x) { to = worse_state(to, x); });
  row.breakers = next.breakers;
}

void range_sums::add(const result_row& next, std::uint32_t n) {
  if (seconds == 0) {
    row = next;
    row.latency = {};
  } else {
    join(row, next);
  }
  servers.resize(row.services.size());
  for (std::size_t i = 0; i < next.services.size(); ++i) {
    servers[i].busy += n * next.services[i].busy;
    servers[i].cores_used += n * next.services[i].cores_used;
    servers[i].servers += n * next.services[i].servers;
  }
  seconds += n;
}

} // namespace caisson::sim
