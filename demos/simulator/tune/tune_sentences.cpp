#include <simulator/tune/tune_sentences.hpp>

#include <simulator/report/numbers.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace caisson::sim {

namespace {

std::string seeds_text(const tune_plan& p, std::size_t trials, bool unseen) {
  if (p.schedules == 0)
    return fmt::format("{} {}seed{}", grouped(trials), unseen ? "unseen " : "",
                       trials == 1 ? "" : "s");
  return fmt::format("{} runs with {}seeds and random faults", grouped(trials),
                     unseen ? "unseen " : "");
}

// `success 99.85 % instead of at least 99.90 %`
std::string missed_text(const tune_plan& p, const tune_evidence& e) {
  std::string out;
  for (const auto& need : p.targets.needs) {
    auto mean = e.columns[need.column].best;
    if (shortfall(mean, need) == 0)
      continue;
    const auto& column = p.columns[need.column];
    out += fmt::format("{}{} {} instead of at {} {}", out.empty() ? "" : ", ",
                       column.name, metric_text(mean, column.unit),
                       need.sense == tune_sense::less ? "most" : "least",
                       metric_text(*need.bound, column.unit));
  }
  // A mean is infinite as soon as one of its numbers is.
  for (const auto& need : p.targets.needs)
    if (out.empty() && std::isinf(e.columns[need.column].best))
      out = fmt::format("{} less than {} where it is not infinite",
                        p.columns[need.column].name,
                        metric_text(*need.bound, p.columns[need.column].unit));
  return out;
}

// `success (99.2 % sure)`: that in which it is rather better than worse.
std::string better_text(const tune_plan& p, const std::vector<double>& sure) {
  std::string out;
  for (std::size_t i = 0; i < sure.size(); ++i)
    if (sure[i] >= 0.5)
      out += fmt::format("{}{} ({} sure)", out.empty() ? "" : ", ",
                         p.columns[p.targets.objectives[i].column].name,
                         sure_text(sure[i]));
  return out;
}

// In what it is better than the present settings. Where these miss the needs,
// being worse in the objective is what it takes to meet them.
std::string gain_text(const tune_outcome& x, const tune_evidence& e) {
  auto comparable = x.has_better() && e.present_meets == e.best_meets;
  return comparable ? better_text(x.plan, e.better) : std::string{};
}

void write_needs(const tune_outcome& x, std::vector<std::string>& out) {
  const auto& e = *x.seen;
  if (x.plan.targets.needs.empty())
    return;
  if (!e.best_meets)
    out.push_back(
      fmt::format("Nothing that was tried meets the needs. The nearest has {}.",
                  missed_text(x.plan, e)));
  else
    out.push_back(fmt::format("The best settings meet the needs ({} sure){}.",
                              sure_text(e.best_sure),
                              e.present_meets ? ", and so do the present ones"
                                              : ", the present ones do not"));
}

void write_gain(const tune_outcome& x, std::vector<std::string>& out) {
  if (!x.has_better()) {
    out.emplace_back("The present settings are the best of all that were "
                     "tried.");
    return;
  }
  if (x.seen->trials < 2)
    return;
  if (auto gain = gain_text(x, *x.seen); !gain.empty())
    out.push_back("Better than the present settings: " + gain + ".");
  if (auto next = better_text(x.plan, x.seen->better_than_next);
      !next.empty() && x.choice.runner_up != 0)
    out.push_back(fmt::format("Better than the next best ({}): {}.",
                              x.plan.label(x.candidate(*x.choice.runner_up)),
                              next));
}

void write_test(const tune_outcome& x, std::vector<std::string>& out) {
  if (!x.unseen)
    return;
  const auto& e = *x.unseen;
  auto where = "On " + seeds_text(x.plan, e.trials, true);
  auto needs = x.plan.targets.needs.empty()
                 ? std::string{}
                 : fmt::format("needs met ({} sure)", sure_text(e.best_sure));
  auto gain = gain_text(x, e);
  if (!gain.empty())
    gain.insert(0, "better than the present settings: ");
  auto both = needs + (needs.empty() || gain.empty() ? "" : "; ") + gain;
  switch (x.verdict) {
    case tune_verdict::needs_fail:
      if (!x.seen->best_meets)
        out.push_back(fmt::format("{} it has {}{}{}.", where,
                                  missed_text(x.plan, e),
                                  gain.empty() ? "" : "; ", gain));
      else
        out.push_back(fmt::format(
          "{} this does not hold: {}. The settings fit the seeds that they "
          "were chosen with. Ask for a little more than you need, or for more "
          "--seeds.",
          where, missed_text(x.plan, e)));
      break;
    case tune_verdict::gain_fails:
      out.push_back(
        fmt::format("{} this does not hold: they are not better "
                    "than the present settings there. The "
                    "difference is chance; more --seeds would show it.",
                    where));
      break;
    case tune_verdict::holds:
      out.push_back(where + " "
                    + (x.seen->best_meets ? "this holds" : "they are met")
                    + (both.empty() ? std::string{} : ": " + both) + ".");
      break;
    case tune_verdict::untested:
      break;
  }
}

void write_bound_hits(const tune_outcome& x, std::vector<std::string>& out) {
  const auto& c = x.candidate(*x.choice.best);
  if (!c.in_space)
    return;
  for (std::size_t i = 0; i < x.plan.parameters.size(); ++i) {
    const auto& p = x.plan.parameters[i];
    auto ends = c.point[i] == 0 || c.point[i] + 1 == p.values.size();
    if (ends && p.values.size() > 1 && axis_of(p.values).ordered())
      out.push_back(fmt::format(
        "{} = {} is at the end of its range, {} to {}: there may be something "
        "better beyond it.",
        detail::printable(p.name), p.values[c.point[i]].text,
        p.values.front().text, p.values.back().text));
  }
}

} // namespace

std::string sure_text(double share) {
  if (share > 0.999)
    return ">99.9 %";
  if (share < 0.001)
    return "<0.1 %";
  return percent_to(share, 1);
}

std::string target_text(const tune_plan& p, const tune_target& t) {
  const auto& column = p.columns[t.column];
  auto less = t.sense == tune_sense::less;
  return t.bound
           ? fmt::format("{} {} {}", column.name,
                         less ? "<=" : ">=", metric_text(*t.bound, column.unit))
           : fmt::format("{} {}", less ? "least" : "most", column.name);
}

std::vector<std::string> tune_sentences(const tune_outcome& x) {
  std::vector<std::string> out;
  if (!x.seen)
    return out;
  write_needs(x, out);
  write_gain(x, out);
  write_test(x, out);
  return out;
}

std::vector<std::string> tune_hints(const tune_outcome& x) {
  std::vector<std::string> out;
  if (!x.seen)
    return out;
  write_bound_hits(x, out);
  if (x.seen->trials < 8)
    out.push_back(
      fmt::format("{} say{} little about chance: give more --seeds.",
                  seeds_text(x.plan, x.seen->trials, false),
                  x.seen->trials == 1 ? "s" : ""));
  if (x.result.refused > 0)
    out.push_back(
      fmt::format("{} combination{} of values {} left out as invalid.",
                  grouped(x.result.refused), x.result.refused == 1 ? "" : "s",
                  x.result.refused == 1 ? "was" : "were"));
  return out;
}

} // namespace caisson::sim
