// Services: what is recorded of each, and the columns.
#pragma once

#include <simulator/results/column.hpp>

#include <string>
#include <vector>

namespace caisson::sim {

/// One service, over the whole run without the warm-up, all of its replicas
/// together. The texts of the columns say what its numbers are.
struct service_summary {
  std::string name;
  std::uint64_t arrivals = 0;
  std::uint64_t refused = 0;
  std::uint64_t shed = 0;
  std::uint64_t down = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t abandoned = 0;
  std::uint64_t lost = 0;
  std::uint64_t late = 0;
  std::uint64_t started = 0;
  std::uint64_t waited = 0;
  duration mean_wait = duration::zero();
  duration mean_service = duration::zero();
  duration mean_sojourn = duration::zero();
  /// How many cores it has; 0 if that is unlimited.
  std::uint64_t cores = 0;
  double utilization = 0;
  double mean_inside = 0;
  std::uint64_t queue_max = 0;
  std::uint64_t busy_max = 0;
  /// Little's law: |L - λW| / L, where L is the integral of the number inside
  /// and λW the sum of the times that requests spent inside, each kept by
  /// itself. 0 up to rounding, or what was recorded is wrong.
  double little_error = 0;
  /// Each replica by itself, called `service#1` and so on; empty if there is
  /// only one.
  std::vector<service_summary> replicas = {};
  /// Where it is; empty if there are no zones, or of several replicas.
  std::string zone = {};
};

/// One service within a row.
struct service_row {
  std::uint64_t arrivals = 0;
  std::uint64_t refused = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t queue = 0;
  std::uint64_t busy = 0;
  /// Of all if cores are limited; else 0.
  std::uint64_t cores_used = 0;
  std::uint64_t queue_max = 0;
  std::uint64_t busy_max = 0;
  /// Microseconds times servers, and times cores if they are limited.
  std::uint64_t busy_time = 0;
  std::uint64_t core_time = 0;
  /// Microseconds times the servers that there were, if that changes.
  std::uint64_t server_time = 0;
  /// If that changes; else 0.
  std::uint64_t servers = 0;

  friend bool operator==(const service_row&, const service_row&) = default;
};

inline constexpr result_column<service_summary> service_columns[] = {
  {"arrivals", &service_summary::arrivals, column_kind::sum,
   "arriving requests, including `refused` and `down`"},
  {"refused", &service_summary::refused, column_kind::sum,
   "had no place in the queue, or were shed"},
  {"refused_share", [](auto& s) { return ratio(s.refused, s.arrivals, 0); },
   column_kind::ratio, "refused divided by arrivals", as_share},
  {"shed", &service_summary::shed, column_kind::sum,
   "those of `refused` that CoDel dropped after a wait"},
  {"down", &service_summary::down, column_kind::sum,
   "found the service crashed"},
  {"completed", &service_summary::completed, column_kind::sum,
   "answered with success"},
  {"failed", &service_summary::failed, column_kind::sum,
   "answered with an error, its own or that of a call"},
  {"abandoned", &service_summary::abandoned, column_kind::sum,
   "dropped because the caller had given up"},
  {"lost", &service_summary::lost, column_kind::sum, "lost in a crash"},
  {"late", &service_summary::late, column_kind::sum,
   "those of `completed` and `failed` after the caller's deadline, or "
   "after the service knew that the caller had given up"},
  {"started", &service_summary::started, column_kind::sum,
   "requests whose work began"},
  {"waited", &service_summary::waited, column_kind::sum,
   "those of `started` that had to wait before"},
  {"waited_share", [](auto& s) { return ratio(s.waited, s.started, 0); },
   column_kind::ratio, "waited divided by started", as_share},
  {"mean_wait", &service_summary::mean_wait, column_kind::mean,
   "in the queue before their work began, over all started requests, "
   "including those that did not wait; a second wait, of `async` "
   "services after calls, is not in it, nor in `waited`, but in "
   "`mean_sojourn`",
   called("wait", metric_unit::seconds)},
  {"mean_service", &service_summary::mean_service, column_kind::mean,
   "with a server, over all started requests that have left; unless "
   "the service is `async`, this includes calls",
   called("time", metric_unit::seconds)},
  {"mean_sojourn", &service_summary::mean_sojourn, column_kind::mean,
   "from arrival to leaving, over all admitted requests that have left",
   called("sojourn", metric_unit::seconds)},
  {"utilization", &service_summary::utilization, column_kind::mean,
   "with `cores`: cores at work, mean over time, divided by `cores`, "
   "where one counts as at work while a fault stops its work; else "
   "busy servers, mean over time, divided by `workers`; 0 if both are "
   "unlimited; with `autoscale` divided by the mean of the servers "
   "that there were, where one that is to be removed counts until it "
   "has ended its request",
   as_share},
  {"mean_inside", &service_summary::mean_inside, column_kind::mean,
   "requests inside, mean over time", called("inside")},
  {"queue_max", &service_summary::queue_max, column_kind::largest,
   "the longest queue"},
  {"busy_max", &service_summary::busy_max, column_kind::largest,
   "the most servers busy at the same time; with unlimited `workers`, how many "
   "would be enough for no request to wait"},
  {"little_error", &service_summary::little_error, column_kind::ratio,
   "the relative error of Little's law; 0, unless there is a bug"},
};

/// A metric of a service can be that of some rows if both tables have it.
inline constexpr result_column<service_row, service_summary>
  service_row_columns[] = {
    {"arrivals", &service_row::arrivals, column_kind::sum,
     "count within the row", on_page(shown(4, 1), {.second = 1})},
    {"refused", &service_row::refused, column_kind::sum, "count within the row",
     on_page(shown(4, 1), {.second = 3})},
    {"completed", &service_row::completed, column_kind::sum,
     "count within the row", on_page(shown(4, 1), {.second = 2})},
    {"failed", &service_row::failed, column_kind::sum, "count within the row",
     on_page(shown(4, 1), {.second = 2})},
    {"queue", &service_row::queue, column_kind::level,
     "requests waiting for a server at its end",
     on_page(traced(shown(1, 1), "waiting"), {.second = 4})},
    {"busy", &service_row::busy, column_kind::level, "busy servers at its end",
     on_page(traced(shown(3, 1), "busy servers"), {.second = 4})},
    {"queue_max", &service_row::queue_max, column_kind::largest,
     "the longest queue within it", shown(2, 2)},
    {"busy_max", &service_row::busy_max, column_kind::largest,
     "the most busy servers within it", shown(5, absent)},
    {"busy_time", &service_row::busy_time, column_kind::sum,
     "microseconds that servers were busy within it, all of them together; "
     "one counts as busy while a fault stops its work",
     shown(absent, 1)},
    {"core_time", &service_row::core_time, column_kind::sum,
     "only with `cores`: microseconds that cores, of all replicas, were at "
     "work within it, or would have been without a fault",
     shown(absent, 1), [](auto&, auto& service) { return service.cores > 0; }},
    {"server_time", &service_row::server_time, column_kind::sum,
     "only with `autoscale`: microseconds times the servers that there were, "
     "including those that are to be removed and still busy",
     shown(absent, 1), [](auto& row, auto&) { return row.servers > 0; }},
    {"workers", &service_row::servers, column_kind::level,
     "only with `autoscale`: how many there are at its end", shown(absent, 1),
     [](auto& row, auto&) { return row.servers > 0; }},
    {"cores_used", &service_row::cores_used, column_kind::level,
     "only with `cores`: how many of them, of all replicas, are at "
     "work at its end",
     traced(shown(absent, 1), "busy cores"),
     [](auto&, auto& service) { return service.cores > 0; }},
};

} // namespace caisson::sim
