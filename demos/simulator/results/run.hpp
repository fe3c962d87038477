// A run as a whole: how it went, and the columns.
#pragma once

#include <simulator/results/column.hpp>
#include <simulator/results/verdict_kind.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

namespace caisson::sim {

/// A time in which a run that had been healthy was not.
struct relapse {
  /// The last second of the first bad window: the one that made it bad.
  std::uint32_t at = 0;
  /// The second from which on it was healthy again; nothing if it never was.
  std::optional<std::uint32_t> until;

  friend bool operator==(const relapse&, const relapse&) = default;
};

/// What is only known of a run as a whole, besides its latencies.
struct run_summary {
  /// Begun, but without an answer when the run ended.
  std::uint64_t unanswered = 0;
  /// Answered more than once; anything but 0 is a bug of Caisson.
  std::uint64_t answered_twice = 0;

  verdict_kind verdict = verdict_kind::degraded;
  /// From when on recovery was looked for; nothing if there was no fault.
  std::optional<duration> recovery_from;
  /// The second from which on it was healthy until the end.
  std::optional<std::uint32_t> recovered_at;
  /// In their order; those after a first good window.
  std::vector<relapse> relapses;
};

/// From `recovery_from`, or the start if there was no fault, until
/// `recovered_at`; not negative. Nothing if it has not recovered.
[[nodiscard]] constexpr std::optional<duration>
recovery_time(const run_summary& r) {
  if (!r.recovered_at)
    return std::nullopt;
  auto at = duration{std::chrono::seconds{*r.recovered_at}};
  return std::max(duration::zero(),
                  at - r.recovery_from.value_or(duration::zero()));
}

inline constexpr auto had_fault = [](auto& r, auto&) {
  return r.verdict != verdict_kind::no_fault;
};

/// JSON has the counts by the table. The verdict and its times, of which some
/// are lists or null, have a place of their own there.
inline constexpr result_column<run_summary> run_columns[] = {
  {"unanswered",
   &run_summary::unanswered,
   column_kind::sum,
   "requests without an answer when the run ended",
   {.sense = tune_sense::less}},
  {"answered_twice", &run_summary::answered_twice, column_kind::sum,
   "always 0, unless there is a bug in Caisson", called(no_metric)},
  {"recovery",
   [](auto& r) {
     auto t = recovery_time(r);
     return t ? to_seconds(*t) : std::numeric_limits<double>::infinity();
   },
   column_kind::run_time,
   "seconds from `recovery_from` to `recovered_at`; infinite if never, 0 with "
   "the verdict `no fault`",
   {.unit = metric_unit::seconds, .sense = tune_sense::less, .brief = 1},
   had_fault},
  {"recovered_at",
   [](auto& r) {
     return r.recovered_at ? real(*r.recovered_at)
                           : std::numeric_limits<double>::infinity();
   },
   column_kind::run_time,
   "the second from which on the run was healthy until its end; infinite if "
   "never, 0 with the verdict `no fault`",
   {.unit = metric_unit::seconds, .sense = tune_sense::less},
   had_fault},
  {"relapses",
   [](auto& r) { return real(r.relapses.size()); },
   column_kind::sum,
   "how often the run relapsed",
   {.sense = tune_sense::less}},
};

} // namespace caisson::sim
