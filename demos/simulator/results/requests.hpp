// Requests of clients, of all loads or one: the records and their columns.
#pragma once

#include <simulator/results/column.hpp>
#include <simulator/results/latency.hpp>

#include <map>
#include <string>

namespace caisson::sim {

/// Requests of loads. Those of the warm-up are not in totals, but in rows.
struct request_counts {
  /// Begun by clients.
  std::uint64_t offered = 0;
  /// Arrivals from clients, before the policies in front of a service.
  std::uint64_t attempts = 0;
  /// Answered with success, in time.
  std::uint64_t good = 0;
  /// Those of `good` that were answered by a fallback's value.
  std::uint64_t substituted = 0;
  /// Answered with an error or not in time. The rest is unanswered.
  std::uint64_t failed = 0;
  /// `failed` by kind: the name of an `errc`, or `failed` for a service's own
  /// error, `timeout` where the client gave up.
  std::map<std::string, std::uint64_t> errors;

  friend bool operator==(const request_counts&, const request_counts&)
    = default;
};

/// The requests of one load within a row; as in `request_counts`.
struct load_row {
  std::uint64_t offered = 0;
  std::uint64_t good = 0;
  std::uint64_t failed = 0;

  friend bool operator==(const load_row&, const load_row&) = default;
};

/// The requests of one load, over the whole run without the warm-up; as in
/// `request_counts`, but attempts are not counted by load.
struct load_summary {
  std::string name;
  std::uint64_t offered = 0;
  std::uint64_t good = 0;
  std::uint64_t substituted = 0;
  std::uint64_t failed = 0;
  std::map<std::string, std::uint64_t> errors = {};
  /// Of those answered with success.
  latency_summary latency = {};

  [[nodiscard]] std::uint64_t unanswered() const {
    return offered - good - failed;
  }
};

/// Of what was offered; of all if nothing was.
inline constexpr auto success_ratio = [](auto& n) {
  return ratio(n.good, n.offered, 1);
};

/// Of a count, per second.
template <auto Field>
inline constexpr auto rate = [](auto& n, double seconds) {
  return seconds > 0 ? real(n.*Field) / seconds : 0.0;
};

/// Over some time: the whole run without its warm-up, or some of its seconds.
inline constexpr result_column<request_counts> request_columns[] = {
  {"success",
   success_ratio,
   column_kind::ratio,
   "good divided by offered; 1 if nothing was offered",
   {.unit = metric_unit::share,
    .sense = tune_sense::more,
    .text = 2,
    .brief = 1,
    .page = {.card = 1}}},
  {"offered",
   &request_counts::offered,
   column_kind::sum,
   "requests that clients began",
   {.csv = 1, .html = 1, .text = 1, .page = {.second = 1, .curve = 1}}},
  {"attempts", &request_counts::attempts, column_kind::sum,
   "arrivals from clients at a service, including retries by clients "
   "and by the policies on their edges, excluding calls that these "
   "policies rejected; a batch counts once per item",
   on_page(shown(1, 1), {.second = 1, .curve = 1})},
  {"good", &request_counts::good, column_kind::sum,
   "requests answered with success, in time for the client",
   on_page(shown(1, 1, absent, tune_sense::more), {.second = 1, .curve = 1})},
  {"substituted", &request_counts::substituted, column_kind::sum,
   "requests in `good` that got a fallback's value", shown(absent, 1)},
  {"failed", &request_counts::failed, column_kind::sum,
   "requests that ended with an error or a timeout, after their last "
   "attempt",
   on_page(shown(1, 1, absent, tune_sense::less), {.second = 1})},
  {"amplification",
   [](auto& n) { return ratio(n.attempts, n.offered, 1); },
   column_kind::ratio,
   "attempts divided by offered; 1 if nothing was offered",
   {.sense = tune_sense::less,
    .text = 4,
    .page = {.card = 2, .heading = "attempts per request"},
    .heading = "attempts/request"}},
  {"offered_rate", rate<&request_counts::offered>, column_kind::rate,
   "offered per second"},
  {"attempts_rate", rate<&request_counts::attempts>, column_kind::rate,
   "attempts per second"},
  {"goodput",
   rate<&request_counts::good>,
   column_kind::rate,
   "good per second",
   {.sense = tune_sense::more, .text = 3, .heading = "goodput/s"}},
  {"failed_rate",
   rate<&request_counts::failed>,
   column_kind::rate,
   "failed per second",
   {.sense = tune_sense::less}},
};

inline constexpr result_column<load_summary> load_columns[] = {
  {"success",
   success_ratio,
   column_kind::ratio,
   "good divided by offered; 1 if nothing was offered",
   {.unit = metric_unit::share,
    .sense = tune_sense::more,
    .of_rows = true,
    .text = 2,
    .brief = 1}},
  {"offered", &load_summary::offered, column_kind::sum,
   "requests that its clients began", shown(absent, absent, 1)},
  {"good",
   &load_summary::good,
   column_kind::sum,
   "requests answered with success, in time for the client",
   {.sense = tune_sense::more}},
  {"substituted", &load_summary::substituted, column_kind::sum,
   "requests in `good` that got a fallback's value"},
  {"failed",
   &load_summary::failed,
   column_kind::sum,
   "requests that ended with an error or a timeout, after their last attempt",
   {.sense = tune_sense::less}},
  {"offered_rate",
   rate<&load_summary::offered>,
   column_kind::rate,
   "offered per second",
   {.of_rows = true}},
  {"goodput",
   rate<&load_summary::good>,
   column_kind::rate,
   "good per second",
   {.sense = tune_sense::more, .of_rows = true}},
  {"failed_rate",
   rate<&load_summary::failed>,
   column_kind::rate,
   "failed per second",
   {.sense = tune_sense::less, .of_rows = true}},
};

inline constexpr result_column<load_row> load_row_columns[] = {
  {"offered", &load_row::offered, column_kind::sum, "count within the row",
   on_page(shown(absent, 1), {.second = 1})},
  {"good", &load_row::good, column_kind::sum, "count within the row",
   on_page(shown(absent, 1), {.second = 1})},
  {"failed", &load_row::failed, column_kind::sum, "count within the row",
   on_page(shown(absent, 1), {.second = 1})},
};

} // namespace caisson::sim
