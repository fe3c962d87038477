#include <ctl/numbers.hpp>

#include <caisson/base/time.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace caisson::ctl {

namespace {

constexpr number_unit units[] = {{"_permille", 0, 10},
                                 {"_ppm", 0, 10'000},
                                 {"_us", 1'000, 0},
                                 {"_ms", 1'000'000, 0},
                                 {"_ns", 1, 0}};

// Those without a unit; answers do not distinguish gauges from counters.
constexpr std::string_view gauges[] = {"accepts",
                                       "alarm",
                                       "automatic_state",
                                       "budget_left",
                                       "entries",
                                       "failure_streak",
                                       "failures_in_a_row",
                                       "flushing",
                                       "held",
                                       "in_flight",
                                       "in_flight_limit",
                                       "in_progress",
                                       "keys",
                                       "leases",
                                       "levels_off",
                                       "limit",
                                       "loading",
                                       "mirroring",
                                       "on",
                                       "openings_in_a_row",
                                       "outstanding",
                                       "permits",
                                       "probes_in_flight",
                                       "requests",
                                       "running",
                                       "samples",
                                       "stage",
                                       "stage_answers",
                                       "state",
                                       "subscribers",
                                       "threshold",
                                       "timers",
                                       "tokens",
                                       "unwritten",
                                       "verifying",
                                       "waiting",
                                       "waiting_for_worker",
                                       "window_total",
                                       "with_canary"};

// What an operator looks at first: what is there now, what goes wrong, how much
// there is of it all.
constexpr std::string_view important[] = {
  "in_progress",  "in_flight",    "waiting",     "limit",    "tokens",
  "failure_rate", "slow_rate",    "budget_left", "calls",    "failed",
  "rejected",     "shed",         "expired",     "opened",   "retried",
  "refused_full", "late_results", "succeeded",   "attempts", "admitted",
  "passed",       "hits",         "misses",      "stale"};

} // namespace

std::size_t rank_of(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(important, name)
                                  - std::begin(important));
}

const number_unit* take_unit(std::string& name) {
  for (const auto& u : units) {
    auto at = name.rfind(u.part);
    auto end = at + u.part.size();
    if (at == name.npos || (end < name.size() && name[end] != '_'))
      continue;
    name.erase(at, u.part.size());
    return &u;
  }
  return nullptr;
}

std::string with_unit(const number_unit* u, std::int64_t x) {
  if (!u)
    return fmt::to_string(x);
  if (u->ns > 0)
    return rounded_text(
      duration_times(duration{u->ns}, static_cast<double>(x)));
  return fmt::format("{:.3g} %", static_cast<double>(x) / u->percent);
}

bool is_gauge(std::string_view name) {
  return std::ranges::find(gauges, name) != std::end(gauges);
}

} // namespace caisson::ctl
