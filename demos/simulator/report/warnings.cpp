#include <simulator/report/warnings.hpp>

#include <simulator/scenario/faults.hpp>

#include <fmt/format.h>

#include <chrono>
#include <optional>

namespace caisson::sim {

namespace {

struct rate_change {
  std::string load;
  duration at = duration::zero();
};

// The last change of a rate that a load's profile makes before the end.
std::optional<rate_change> last_change(const arm_config& c) {
  std::optional<rate_change> out;
  for (const auto& load : c.loads) {
    if (load.recording)
      continue;
    for (std::size_t i = 1; i < load.profile.size(); ++i) {
      auto at = duration_sum(load.start, load.profile[i].at);
      if (load.profile[i].rate != load.profile[i - 1].rate && at < c.length
          && at < load.stop && (!out || at > out->at))
        out = rate_change{load.name, at};
    }
  }
  return out;
}

bool no_window_fits(const arm_config& c) {
  auto from = recovery_start(c).value_or(duration::zero());
  auto first = std::chrono::ceil<std::chrono::seconds>(from);
  return duration_sum(first, verdict_window)
         > std::chrono::floor<std::chrono::seconds>(c.length);
}

// What there is none of if nothing says when recovery begins.
std::string fault_text(const arm_config& c) {
  return c.faults.empty() ? "fault" : "fault at a set time";
}

} // namespace

std::vector<std::string> recovery_warnings(const arm_config& c) {
  auto from = recovery_start(c);
  // A run that is shorter than a window has no verdict that one could miss.
  if (!from || c.length < verdict_window || !no_window_fits(c))
    return {};
  return {fmt::format(
    "no window of {} fits between {}, which is {}, and length, which is {}: "
    "the verdict is that of the whole run",
    to_text(duration{verdict_window}),
    c.recovery_from ? "recovery_from" : "the end of the last fault",
    to_text(*from), to_text(c.length))};
}

std::vector<std::string> recovery_warnings(const arm_config& c,
                                           const arm_result& r) {
  auto out = recovery_warnings(c);
  auto trouble = r.verdict != verdict_kind::no_fault
                 && (r.verdict != verdict_kind::recovered || !r.relapses.empty()
                     || !r.recovery_from);
  if (c.recovery_from || !trouble || r.interrupted || !out.empty())
    return out;
  auto change = last_change(c);
  if (change && change->at > r.recovery_from.value_or(duration::zero()))
    out.push_back(fmt::format("load {} changes its rate at {}, {}: set "
                              "recovery_from to when recovery should begin",
                              change->load, to_text(change->at),
                              r.recovery_from
                                ? "after the last fault"
                                : "and there is no " + fault_text(c)));
  else if (!r.recovery_from)
    out.push_back(fmt::format("there is no {} and no recovery_from: the "
                              "verdict is about the whole run, from 0s on",
                              fault_text(c)));
  return out;
}

std::vector<std::string> load_warnings(const arm_result& r) {
  if (r.interrupted || r.totals.offered > 0)
    return {};
  return {r.warmup > duration::zero()
            ? "no requests were sent after the warm-up"
            : "no requests were sent"};
}

std::vector<std::string> fault_warnings(const arm_config& c,
                                        const arm_result& r) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < r.counted_faults.size(); ++i)
    if (r.counted_faults[i].cut_off)
      out.push_back(fmt::format(
        "fault[{}] ({} {}) came {} times, and did not come again after that", i,
        fault_name(c.faults[i].kind), place_of(c.faults[i]), most_failures));
  return out;
}

} // namespace caisson::sim
