#include <simulator/world/result_row.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace caisson::sim {

namespace {

void join_counts(request_counts& to, const request_counts& x) {
  to.offered += x.offered;
  to.attempts += x.attempts;
  to.good += x.good;
  to.substituted += x.substituted;
  to.failed += x.failed;
  for (const auto& [kind, n] : x.errors)
    to.errors[kind] += n;
}

void join_load(load_row& to, const load_row& x) {
  to.offered += x.offered;
  to.good += x.good;
  to.failed += x.failed;
}

void join_service(service_row& to, const service_row& x) {
  to.arrivals += x.arrivals;
  to.refused += x.refused;
  to.completed += x.completed;
  to.failed += x.failed;
  to.queue = x.queue;
  to.busy = x.busy;
  to.cores_used = x.cores_used;
  to.queue_max = std::max(to.queue_max, x.queue_max);
  to.workers = x.workers;
}

void join_connections(connection_row& to, const connection_row& x) {
  to.used = x.used;
  to.used_max = std::max(to.used_max, x.used_max);
  to.waiting = x.waiting;
  to.waiting_max = std::max(to.waiting_max, x.waiting_max);
  to.refused += x.refused;
  to.expired += x.expired;
}

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
  join_counts(row.requests, next.requests);
  row.prompt += next.prompt;
  join_each(row.loads, next.loads, join_load);
  join_each(row.services, next.services, join_service);
  join_each(row.connections, next.connections, join_connections);
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
  workers.resize(row.services.size());
  for (std::size_t i = 0; i < next.services.size(); ++i) {
    workers[i].busy += n * next.services[i].busy;
    workers[i].cores_used += n * next.services[i].cores_used;
    workers[i].workers += n * next.services[i].workers;
  }
  seconds += n;
}

} // namespace caisson::sim
