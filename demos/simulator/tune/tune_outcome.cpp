#include <simulator/tune/tune_outcome.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace caisson::sim {

namespace {

// Evenly spaced, with both ends.
std::vector<std::size_t> sample_evenly(const std::vector<std::size_t>& front) {
  if (front.size() <= most_on_front)
    return front;
  std::vector<std::size_t> out;
  out.reserve(most_on_front);
  for (std::size_t i = 0; i < most_on_front; ++i)
    out.push_back(front[i * (front.size() - 1) / (most_on_front - 1)]);
  return out;
}

std::vector<tune_contender> select(const std::vector<tune_contender>& all,
                                   const std::vector<std::size_t>& ids) {
  std::vector<tune_contender> out;
  out.reserve(ids.size());
  for (auto i : ids)
    out.push_back(*std::ranges::find(all, i, &tune_contender::id));
  return out;
}

// With two objectives, only what meets the needs as well as the first one does
// is weighed.
std::vector<tune_contender>
equally_able(std::vector<tune_contender> all, std::size_t trials,
             const tune_targets& targets, std::size_t first) {
  auto leader = *std::ranges::find(all, first, &tune_contender::id);
  auto missed = shortfall(*leader.rows, trials, targets);
  auto sure = leader.sure >= sure_enough;
  std::erase_if(all, [&](const tune_contender& c) {
    return shortfall(*c.rows, trials, targets) > missed
           || (sure && c.sure < sure_enough);
  });
  return all;
}

// -- evidence -----------------------------------------------------------------

class evidence_maker {
public:
  evidence_maker(const tune_plan& p, std::size_t trials, draw_key key)
    : plan_(p), trials_(trials), chance_(trials, key) {}

  tune_evidence make(const tune_rows& present, const tune_rows& best,
                     const tune_rows* next) const {
    tune_evidence out{.trials = trials_};
    for (std::size_t i = 0; i < plan_.columns.size(); ++i)
      out.columns.push_back(comparison_of(present, best, i));
    const auto& targets = plan_.targets;
    out.present_meets = shortfall(present, trials_, targets) == 0;
    out.best_meets = shortfall(best, trials_, targets) == 0;
    out.present_sure = chance_.sure_of_needs(present, targets);
    out.best_sure = chance_.sure_of_needs(best, targets);
    for (const auto& o : targets.objectives) {
      out.better.push_back(chance_.difference(best, present, o).sure);
      if (next)
        out.better_than_next.push_back(chance_.difference(best, *next, o).sure);
    }
    return out;
  }

private:
  [[nodiscard]] tune_comparison comparison_of(const tune_rows& present,
                                              const tune_rows& best,
                                              std::size_t column) const {
    auto sense = usual_sense(plan_.columns[column].name);
    tune_target as{.column = column, .sense = sense.value_or(tune_sense::less)};
    return {.present = mean_of(present, trials_, column),
            .present_interval = chance_.interval(present, column),
            .best = mean_of(best, trials_, column),
            .best_interval = chance_.interval(best, column),
            .difference = chance_.difference(best, present, as)};
  }

  const tune_plan& plan_;
  std::size_t trials_;
  bootstrap chance_;
};

const tune_rows* rows_in(const std::map<std::size_t, tune_rows>& all,
                         std::optional<std::size_t> which) {
  auto found = which ? all.find(*which) : all.end();
  return found == all.end() ? nullptr : &found->second;
}

tune_verdict verdict_of(const tune_outcome& x) {
  if (!x.unseen)
    return tune_verdict::untested;
  if (!x.unseen->best_meets)
    return tune_verdict::needs_fail;
  // What meets the needs may be worse otherwise.
  if (!x.has_better() || !x.seen->present_meets || !x.unseen->present_meets)
    return tune_verdict::holds;
  const auto& present = x.result.unseen.at(0);
  const auto& best = x.result.unseen.at(*x.choice.best);
  const auto& seen_present = x.candidate(0).rows;
  const auto& seen_best = x.candidate(*x.choice.best).rows;
  for (const auto& o : x.plan.targets.objectives) {
    // Of two objectives one may be given up for the other.
    auto was_better = estimate_of(seen_best, x.seen->trials, o)
                      < estimate_of(seen_present, x.seen->trials, o);
    auto is_better = estimate_of(best, x.unseen->trials, o)
                     < estimate_of(present, x.unseen->trials, o);
    if (was_better && !is_better)
      return tune_verdict::gain_fails;
  }
  return tune_verdict::holds;
}

} // namespace

std::vector<std::size_t> tune_choice::tested() const {
  std::set<std::size_t> out{0};
  out.insert(front.begin(), front.end());
  for (auto x : {best, runner_up})
    if (x)
      out.insert(*x);
  return {out.begin(), out.end()};
}

tune_choice choice_of(const tune_plan& p, const tune_search_result& found) {
  tune_choice out;
  auto all = found.contenders(p.targets, p.key());
  if (all.empty())
    return out;
  auto order = best_first(all, found.trials, p.targets);
  out.best = order[0];
  auto traded = p.targets.trade_off();
  auto two = p.targets.objectives.size() == 2;
  if (two)
    all = equally_able(std::move(all), found.trials, p.targets, order[0]);
  auto front = front_of(all, found.trials, traded);
  if (two)
    out.best = knee_of(select(all, front), found.trials, traded);
  for (auto i : order)
    if (i != *out.best && !out.runner_up)
      out.runner_up = i;
  out.front = sample_evenly(front);
  return out;
}

std::string_view verdict_text(tune_verdict v) {
  switch (v) {
    case tune_verdict::holds:
      return "holds";
    case tune_verdict::needs_fail:
      return "needs fail";
    case tune_verdict::gain_fails:
      return "gain fails";
    case tune_verdict::untested:
      break;
  }
  return "untested";
}

bool tune_outcome::meets() const {
  return seen && seen->best_meets && (!unseen || unseen->best_meets);
}

tune_outcome outcome_of(const tune_plan& p, tune_result result,
                        tune_choice choice) {
  tune_outcome out{
    .plan = p, .result = std::move(result), .choice = std::move(choice)};
  if (!out.choice.best)
    return out;
  const auto& found = out.result.found;
  auto next = out.choice.runner_up;
  out.seen = evidence_maker{p, found.trials, p.key()}.make(
    out.candidate(0).rows, out.candidate(*out.choice.best).rows,
    next ? &out.candidate(*next).rows : nullptr);
  auto present = rows_in(out.result.unseen, 0);
  auto best = rows_in(out.result.unseen, out.choice.best);
  if (present && best)
    out.unseen = evidence_maker{p, p.unseen_trials(), p.key().with("unseen")}
                   .make(*present, *best, rows_in(out.result.unseen, next));
  out.verdict = verdict_of(out);
  return out;
}

} // namespace caisson::sim
