#include <sim/report/headline.hpp>

#include <sim/report/numbers.hpp>
#include <sim/report/verdict.hpp>
#include <sim/scenario/faults.hpp>
#include <sim/scenario/replicas.hpp>
#include <sim/world/world_plan.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace caisson::sim {

namespace {

// Of its workers, on average, for a service to count as fully busy.
constexpr double all_busy = 0.95;
// From here on a service gets more than it can do, or more than before.
constexpr double clearly_more = 1.15;

using row_span = std::span<const second_row>;

// The rows of the whole seconds in [from, to).
row_span rows_between(const arm_result& r, duration from, duration to) {
  using std::chrono::seconds;
  auto index = [&](seconds s) {
    return static_cast<std::size_t>(
      std::clamp<std::int64_t>(s.count(), 0, std::ssize(r.seconds)));
  };
  auto begin = index(std::chrono::ceil<seconds>(from));
  auto end = index(std::chrono::floor<seconds>(to));
  return row_span{r.seconds}.subspan(begin, end > begin ? end - begin : 0);
}

template <class F>
double sum_of(row_span xs, F of) {
  double out = 0;
  for (const auto& x : xs)
    out += static_cast<double>(of(x));
  return out;
}

double offered_in(row_span xs) {
  return sum_of(xs, [](auto& x) { return x.requests.offered; });
}

// Whole percents, as more would pretend that the next seed has the same.
std::string share_text(double part, double whole) {
  if (whole <= 0)
    return "none";
  auto share = std::min(1.0, part / whole);
  if (share <= 0)
    return "none";
  if (share < 0.01)
    return "less than 1 %";
  if (share >= 0.99)
    return fmt::format("{:.1f} %", std::floor(share * 1000 + 1e-9) / 10);
  return fmt::format("{:.0f} %", std::floor(share * 100 + 1e-9));
}

std::string answered_in(row_span xs) {
  auto good = sum_of(xs, [](auto& x) { return x.requests.good; });
  return share_text(good, offered_in(xs));
}

// -- the arm's times ----------------------------------------------------------

std::optional<duration> first_fault(const arm_config& arm) {
  std::optional<duration> out;
  for (const auto& f : arm.faults)
    if (!f.mtbf)
      out = out ? std::min(*out, f.at) : f.at;
  return out;
}

std::string after_the_fault(const arm_config& arm) {
  auto planned = planned_faults(arm);
  if (planned == 0)
    return "to the end";
  return planned == 1 ? "after the fault is gone" : "after the faults are gone";
}

// The last tenth of the load, of at least five seconds and after the search for
// recovery has begun.
row_span last_rows(const arm_result& r) {
  using namespace std::chrono_literals;
  auto from = r.length - std::clamp<duration>(r.length / 10, 5s, 30s);
  from = std::max({from, r.recovery_from.value_or(duration::zero()), r.warmup});
  return rows_between(r, from, r.length);
}

row_span healthy_rows(const arm_config& arm, const arm_result& r) {
  auto end = first_fault(arm);
  return end ? rows_between(r, r.warmup, *end) : row_span{};
}

// -- what holds it ------------------------------------------------------------

double mean_busy(row_span xs, std::size_t service) {
  return sum_of(xs, [&](auto& x) { return x.services[service].busy; })
         / static_cast<double>(xs.size());
}

double mean_workers(const arm_config& arm, row_span xs, std::size_t service) {
  if (!arm.services[service].autoscale)
    return all_workers(arm.services[service]);
  return sum_of(xs, [&](auto& x) { return x.services[service].workers; })
         / static_cast<double>(xs.size());
}

// A service that is fully busy although all that it calls are not; the one with
// the longest queue if there are several.
std::optional<std::size_t> bottleneck(const arm_config& arm, row_span xs) {
  auto n = arm.services.size();
  if (xs.empty() || xs.front().services.size() < n)
    return std::nullopt;
  std::vector<bool> busy(n);
  for (std::size_t i = 0; i < n; ++i)
    busy[i] = arm.services[i].workers != no_limit
              && mean_busy(xs, i) >= all_busy * mean_workers(arm, xs, i);
  auto waits = busy;
  for (const auto& x : world_plan{arm}.routes)
    for (std::size_t i = 0; i < n; ++i)
      if (busy[x.to] && !x.from_client && arm.services[i].name == x.from)
        waits[i] = false;
  std::optional<std::size_t> out;
  auto queue = [&](std::size_t i) { return xs.back().services[i].queue; };
  for (std::size_t i = 0; i < n; ++i)
    if (waits[i] && (!out || queue(i) > queue(*out)))
      out = i;
  return out;
}

double arrivals_in(row_span xs, std::size_t service) {
  return sum_of(xs, [&](auto& x) { return x.services[service].arrivals; });
}

// How much more the service gets per request than when all was well.
double swollen(const arm_config& arm, const arm_result& r, row_span xs,
               std::size_t service) {
  auto before = healthy_rows(arm, r);
  auto now = arrivals_in(xs, service) / std::max(1.0, offered_in(xs));
  if (auto usual = arrivals_in(before, service); usual > 0)
    return now / (usual / std::max(1.0, offered_in(before)));
  auto attempts = sum_of(xs, [](auto& x) { return x.requests.attempts; });
  return attempts / std::max(1.0, offered_in(xs));
}

std::string hold_text(const arm_config& arm, const arm_result& r, row_span xs,
                      std::size_t service) {
  const auto& name = arm.services[service].name;
  auto ended = sum_of(xs, [&](auto& x) {
    return x.services[service].completed + x.services[service].failed;
  });
  auto load = arrivals_in(xs, service) / std::max(1.0, ended);
  if (load >= clearly_more)
    return fmt::format("{} {} at {:.1f} times its capacity {}",
                       swollen(arm, r, xs, service) >= clearly_more
                         ? "retries hold"
                         : "the load holds",
                       name, load, after_the_fault(arm));
  return fmt::format("{} stays fully busy {}, with a queue of {}", name,
                     after_the_fault(arm),
                     grouped(xs.back().services[service].queue));
}

std::optional<std::string> breakers_text(row_span xs) {
  if (xs.empty())
    return std::nullopt;
  const auto& states = xs.back().breakers;
  auto open = std::ranges::count_if(states,
                                    [](auto& s) { return s != "closed"; });
  if (open == 0)
    return std::nullopt;
  return fmt::format("{} of {} breakers are not closed", open, states.size());
}

std::optional<std::string> main_error(row_span xs) {
  std::map<std::string_view, std::uint64_t> kinds;
  for (const auto& x : xs)
    for (const auto& [kind, n] : x.requests.errors)
      kinds[kind] += n;
  if (kinds.empty())
    return std::nullopt;
  auto most = std::ranges::max_element(
    kinds, {}, [](const auto& kind) { return kind.second; });
  return fmt::format("most others end with {}", most->first);
}

// -- sentences ----------------------------------------------------------------

std::string unwell_text(const arm_config& arm, const arm_result& r) {
  auto xs = last_rows(r);
  auto end = fmt::format("at the end {} of the requests are answered well",
                         answered_in(xs));
  if (auto service = bottleneck(arm, xs))
    return fmt::format("{}; {}", hold_text(arm, r, xs, *service), end);
  if (auto text = breakers_text(xs))
    return fmt::format("{}; {}", end, *text);
  if (auto text = main_error(xs))
    return fmt::format("{}; {}", end, *text);
  return end;
}

std::string recovered_text(const arm_config& arm, const arm_result& r) {
  using namespace std::chrono_literals;
  auto begin = first_fault(arm);
  auto after = recovery_time(r).value_or(duration::zero());
  auto at = std::chrono::seconds{r.recovered_at.value_or(0)};
  if (!begin || !r.recovery_from)
    return fmt::format("well from {} on; before that {} of the requests are "
                       "answered well",
                       short_seconds(at),
                       answered_in(rows_between(r, r.warmup, at)));
  auto faults = planned_faults(arm) == 1 ? "the fault is" : "the faults are";
  if (after > 1s)
    return fmt::format("well again {} after {} gone; until then {} of the "
                       "requests are answered well",
                       short_seconds(after), faults,
                       answered_in(rows_between(r, *begin, at)));
  auto during = rows_between(r, *begin, *r.recovery_from);
  auto good = sum_of(during, [](auto& x) { return x.requests.good; });
  if (good >= 0.9 * offered_in(during))
    return fmt::format("rides it out: {} of the requests are answered well "
                       "until {} gone",
                       share_text(good, offered_in(during)), faults);
  return fmt::format("well again as soon as {} gone; until then {} of the "
                     "requests are answered well",
                     faults, answered_in(during));
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
  switch (r.verdict) {
    case verdict_kind::no_fault:
      return fmt::format("well throughout: {} of the requests are answered "
                         "well",
                         share_text(static_cast<double>(r.totals.good),
                                    static_cast<double>(r.totals.offered)));
    case verdict_kind::recovered:
      return recovered_text(arm, r) + relapse_text(r);
    default:
      return unwell_text(arm, r) + relapse_text(r);
  }
}

} // namespace caisson::sim
