#include <simulator/report/headline.hpp>

#include <simulator/report/metric_parts.hpp>
#include <simulator/report/numbers.hpp>
#include <simulator/report/ranges.hpp>
#include <simulator/scenario/faults.hpp>
#include <simulator/scenario/replicas.hpp>
#include <simulator/world/world_plan.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

namespace caisson::sim {

namespace {

// Of its servers, on average, for a service to count as fully busy.
constexpr double all_busy = 0.95;
// From here on a service gets more than it can do, or more than before.
constexpr double clearly_more = 1.15;

// Whole percents, as more would pretend that the next seed has the same; close
// to all of them one digit more.
std::string share_text(double part, double whole) {
  if (whole <= 0)
    return "none";
  auto share = std::min(1.0, part / whole);
  if (share <= 0)
    return "none";
  if (share < 0.01)
    return "less than 1 %";
  return percent_to(share, share >= 0.99 ? 1 : 0);
}

// What succeeded in time, of what was offered.
struct answers {
  double good = 0;
  double offered = 0;
};

answers answers_in(const arm_result& r, duration from, duration to) {
  auto range = seconds_between(from, to);
  answers out;
  for (std::size_t i = range.from; i < range.to && i < r.tallies.size(); ++i) {
    out.good += static_cast<double>(r.tallies[i].good);
    out.offered += static_cast<double>(r.tallies[i].offered);
  }
  return out;
}

std::string share_text(const answers& x) {
  return share_text(x.good, x.offered);
}

// -- the arm's times ----------------------------------------------------------

std::string hold_end_text(const arm_config& arm) {
  auto planned = planned_faults(arm);
  if (planned == 0)
    return "to the end";
  return planned == 1 ? "after the fault is gone" : "after the faults are gone";
}

range_sums last_of(const arm_result& r) {
  return sums_in(r, last_seconds(r.length, r.warmup, r.recovery_from));
}

// Nothing without a fault.
range_sums healthy_of(const arm_config& arm, const arm_result& r) {
  auto range = healthy_seconds(arm);
  return range ? sums_in(r, *range) : range_sums{};
}

// -- what holds it ------------------------------------------------------------

double mean_busy(const range_sums& x, std::size_t service) {
  return real(x.servers[service].busy) / x.seconds;
}

double mean_servers(const arm_config& arm, const range_sums& x,
                    std::size_t service) {
  if (!arm.services[service].autoscale)
    return all_servers(arm.services[service]);
  return real(x.servers[service].servers) / x.seconds;
}

// It has no server or no core to spare.
bool fully_busy(const arm_config& arm, const range_sums& x,
                std::size_t service) {
  const auto& s = arm.services[service];
  return (s.servers != no_limit
          && mean_busy(x, service) >= all_busy * mean_servers(arm, x, service))
         || (s.cores != no_limit
             && real(x.servers[service].cores_used)
                  >= all_busy * all_cores(s) * x.seconds);
}

// A service that is fully busy although all that it calls are not; the one with
// the longest queue if there are several.
std::optional<std::size_t> bottleneck(const arm_config& arm,
                                      const range_sums& x) {
  auto n = arm.services.size();
  if (x.seconds == 0 || x.row.services.size() < n)
    return std::nullopt;
  std::vector<bool> busy(n);
  for (std::size_t i = 0; i < n; ++i)
    busy[i] = fully_busy(arm, x, i);
  auto waits = busy;
  for (const auto& way : world_plan{arm}.routes)
    for (std::size_t i = 0; i < n; ++i)
      if (busy[way.to] && !way.from_client && arm.services[i].name == way.from)
        waits[i] = false;
  std::optional<std::size_t> out;
  auto queue = [&](std::size_t i) { return x.row.services[i].queue; };
  for (std::size_t i = 0; i < n; ++i)
    if (waits[i] && (!out || queue(i) > queue(*out)))
      out = i;
  return out;
}

double offered_in(const range_sums& x) {
  return real(x.row.requests.offered);
}

double arrivals_in(const range_sums& x, std::size_t service) {
  return service < x.row.services.size()
           ? real(x.row.services[service].arrivals)
           : 0;
}

// How much more the service gets per request than when it was healthy.
double load_growth(const arm_config& arm, const arm_result& r,
                   const range_sums& x, std::size_t service) {
  auto before = healthy_of(arm, r);
  auto now = arrivals_in(x, service) / std::max(1.0, offered_in(x));
  if (auto usual = arrivals_in(before, service); usual > 0)
    return now / (usual / std::max(1.0, offered_in(before)));
  return real(x.row.requests.attempts) / std::max(1.0, offered_in(x));
}

std::string hold_text(const arm_config& arm, const arm_result& r,
                      const range_sums& x, std::size_t service) {
  const auto& name = arm.services[service].name;
  const auto& row = x.row.services[service];
  auto load = arrivals_in(x, service)
              / std::max(1.0, real(row.completed + row.failed));
  if (load >= clearly_more)
    return fmt::format("{} {} at {:.1f} times its capacity {}",
                       load_growth(arm, r, x, service) >= clearly_more
                         ? "retries hold"
                         : "the load holds",
                       name, load, hold_end_text(arm));
  return fmt::format("{} stays fully busy {}, with a queue of {}", name,
                     hold_end_text(arm), grouped(row.queue));
}

std::optional<std::string> breakers_text(const range_sums& x) {
  const auto& states = x.row.breakers;
  auto open = std::ranges::count_if(states,
                                    [](auto& s) { return s != "closed"; });
  if (open == 0)
    return std::nullopt;
  return fmt::format("{} of {} breakers are not closed", open, states.size());
}

std::optional<std::string> main_error(const range_sums& x) {
  const auto& kinds = x.row.requests.errors;
  if (kinds.empty())
    return std::nullopt;
  auto most = std::ranges::max_element(
    kinds, {}, [](const auto& kind) { return kind.second; });
  return fmt::format("most others end with {}", most->first);
}

// -- sentences ----------------------------------------------------------------

std::string unhealthy_text(const arm_config& arm, const arm_result& r) {
  auto last = last_of(r);
  // A last fault can leave no time after it.
  auto end = offered_in(last) > 0
               ? fmt::format(
                 "at the end {} of the requests succeed in time",
                 share_text(real(last.row.requests.good), offered_in(last)))
               : fmt::format(
                 "in all, {} of the requests succeeded in time",
                 share_text(real(r.totals.good), real(r.totals.offered)));
  if (auto service = bottleneck(arm, last))
    return fmt::format("{}; {}", hold_text(arm, r, last, *service), end);
  if (auto text = breakers_text(last))
    return fmt::format("{}; {}", end, *text);
  if (auto text = main_error(last))
    return fmt::format("{}; {}", end, *text);
  return end;
}

std::string recovered_text(const arm_config& arm, const arm_result& r) {
  using namespace std::chrono_literals;
  auto begin = first_planned_fault(arm);
  auto after = recovery_time(r).value_or(duration::zero());
  auto at = std::chrono::seconds{r.recovered_at.value_or(0)};
  if (!begin || !r.recovery_from)
    return fmt::format("healthy from {} on; before that {} of the requests "
                       "succeeded in time",
                       short_seconds(at),
                       share_text(answers_in(r, r.warmup, at)));
  auto faults = planned_faults(arm) == 1 ? "the fault is" : "the faults are";
  if (after > 1s)
    return fmt::format("healthy again {} after {} gone; until then {} of the "
                       "requests succeeded in time",
                       short_seconds(after), faults,
                       share_text(answers_in(r, *begin, at)));
  auto during = answers_in(r, *begin, *r.recovery_from);
  if (during.good >= 0.9 * during.offered)
    return fmt::format("stays healthy: {} of the requests succeed in time "
                       "until {} gone",
                       share_text(during), faults);
  return fmt::format("healthy again as soon as {} gone; until then {} of the "
                     "requests succeeded in time",
                     faults, share_text(during));
}

std::string relapse_text(const arm_result& r) {
  if (r.relapses.empty() || r.verdict == verdict_kind::no_fault)
    return {};
  auto at = std::chrono::seconds{r.relapses.front().at};
  if (r.relapses.size() == 1)
    return fmt::format("; it relapsed at {}", short_seconds(at));
  return fmt::format("; it relapsed {} times, first at {}", r.relapses.size(),
                     short_seconds(at));
}

} // namespace

std::string headline(const arm_config& arm, const arm_result& r) {
  if (r.interrupted)
    return fmt::format("was interrupted at {}", short_seconds(r.length));
  if (r.totals.offered == 0)
    return "no requests were sent";
  switch (r.verdict) {
    case verdict_kind::no_fault:
      return fmt::format("healthy throughout: {} of the requests succeed in "
                         "time",
                         share_text(static_cast<double>(r.totals.good),
                                    static_cast<double>(r.totals.offered)));
    case verdict_kind::recovered:
      return recovered_text(arm, r) + relapse_text(r);
    default:
      return unhealthy_text(arm, r) + relapse_text(r);
  }
}

} // namespace caisson::sim
