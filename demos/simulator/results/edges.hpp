// Edges and their connections: what is recorded of each, and the columns.
#pragma once

#include <simulator/results/column.hpp>

#include <optional>
#include <string>

namespace caisson::sim {

/// The limited connections of a route, of all callers to all replicas, without
/// the warm-up. The texts of the columns say what its numbers are.
struct connection_summary {
  std::uint64_t asked = 0;
  std::uint64_t waited = 0;
  std::uint64_t refused = 0;
  std::uint64_t expired = 0;
  std::uint64_t abandoned = 0;
  std::uint64_t opened = 0;
  duration mean_wait = duration::zero();
  double mean_used = 0;
  std::uint64_t used_max = 0;
  std::uint64_t waiting_max = 0;
};

/// The connections of a route within a row, of all callers to all replicas.
struct connection_row {
  std::uint64_t used = 0;
  std::uint64_t used_max = 0;
  std::uint64_t waiting = 0;
  std::uint64_t waiting_max = 0;
  std::uint64_t refused = 0;
  std::uint64_t expired = 0;

  friend bool operator==(const connection_row&, const connection_row&)
    = default;
};

/// The messages of a route that may lose some, or that takes its time with them
/// otherwise than by a latency, that may cross zones, or whose connections are
/// limited; without the warm-up.
struct edge_summary {
  /// The name of the route.
  std::string name;
  std::uint64_t calls = 0;
  std::uint64_t lost_calls = 0;
  std::uint64_t lost_answers = 0;
  std::uint64_t repeated = 0;
  std::uint64_t crossed = 0;
  /// Whether both ends are in zones.
  bool zoned = false;
  /// If they are limited.
  std::optional<connection_summary> connections = {};
};

/// One route within a row, of the details of a run.
struct edge_row {
  /// Calls that callers made, without the attempts of policies.
  std::uint64_t calls = 0;
  /// Calls that ended with an error, or that a client has given up.
  std::uint64_t failed = 0;
};

/// Whether calls may cross zones.
inline constexpr auto is_zoned = [](auto& e, auto&) { return e.zoned; };

inline constexpr result_column<edge_summary> edge_columns[] = {
  {"calls", &edge_summary::calls, column_kind::sum,
   "calls that callers sent, those of their retriers included",
   shown(absent, absent, 1)},
  {"lost_calls", &edge_summary::lost_calls, column_kind::sum,
   "calls that did not arrive, of `calls` and `repeated` together"},
  {"lost_answers", &edge_summary::lost_answers, column_kind::sum,
   "answers that did not arrive, to calls and repeated calls"},
  {"repeated", &edge_summary::repeated, column_kind::sum,
   "calls that the network sent once more because their answer was "
   "lost (`duplication`); they are not in `calls`"},
  {"crossed", &edge_summary::crossed, column_kind::sum,
   "only between zones: those of `calls` that went to another zone",
   shown(absent, absent, 1), is_zoned},
  {"crossed_share",
   [](auto& e) { return ratio(e.crossed, e.calls, 0); },
   column_kind::ratio,
   "only between zones: crossed divided by calls; 0 if there was none",
   {.unit = metric_unit::share, .text = 1, .heading = "share"},
   is_zoned},
};

inline constexpr result_column<edge_row> edge_row_columns[] = {
  {"calls",
   &edge_row::calls,
   column_kind::sum,
   {},
   on_page(shown(absent, 1), {.second = 1})},
  {"failed", &edge_row::failed, column_kind::sum,
   "only on the page: those that ended with an error or by the client's "
   "timeout",
   on_page(shown(absent, 1), {.second = 1})},
};

inline constexpr result_column<connection_summary> connection_columns[] = {
  {"asked", &connection_summary::asked, column_kind::sum,
   "calls that needed one"},
  {"waited", &connection_summary::waited, column_kind::sum,
   "those of `asked` that waited"},
  {"refused", &connection_summary::refused, column_kind::sum,
   "found no place to wait"},
  {"expired", &connection_summary::expired, column_kind::sum,
   "waited for too long"},
  {"abandoned", &connection_summary::abandoned, column_kind::sum,
   "their caller gave up before they had one that was open"},
  {"opened", &connection_summary::opened, column_kind::sum,
   "connections that were opened"},
  {"mean_wait", &connection_summary::mean_wait, column_kind::mean,
   "until a call had a connection, without the time to open it; over "
   "all calls that got one",
   called("wait", metric_unit::seconds)},
  {"mean_used", &connection_summary::mean_used, column_kind::mean,
   "connections in use, mean over time", called("used")},
  {"used_max", &connection_summary::used_max, column_kind::largest,
   "the most connections in use"},
  {"waiting_max", &connection_summary::waiting_max, column_kind::largest,
   "the most calls that waited at the same time"},
};

/// A metric of connections can be that of some rows if both tables have it.
inline constexpr result_column<connection_row> connection_row_columns[] = {
  {"used", &connection_row::used, column_kind::level,
   "connections in use at its end",
   on_page(shown(1, 1), {.second = 1, .heading = "in use"})},
  {"used_max", &connection_row::used_max, column_kind::largest,
   "the most of them within it", shown(1, absent)},
  {"waiting", &connection_row::waiting, column_kind::level,
   "calls that wait for one at its end",
   on_page(shown(1, 1), {.second = 1, .heading = "wait"})},
  {"waiting_max", &connection_row::waiting_max, column_kind::largest,
   "the most of them within it", shown(1, 3)},
  {"refused", &connection_row::refused, column_kind::sum,
   "calls that found no place to wait", shown(1, absent)},
  {"expired", &connection_row::expired, column_kind::sum,
   "calls that waited for too long", shown(1, absent)},
  {"no_connection", [](auto& c) { return real(c.refused + c.expired); },
   column_kind::sum, "only on the page: `refused` and `expired` together",
   on_page(shown(absent, 2), {.second = 1, .heading = "got none"})},
};

} // namespace caisson::sim
