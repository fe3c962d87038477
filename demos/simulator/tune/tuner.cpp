#include <simulator/tune/tuner.hpp>

#include <simulator/explore/fault_texts.hpp>
#include <simulator/play/world_hash.hpp>

#include <caisson/base/hash.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace caisson::sim {

namespace {

std::string key_of_faults(const std::vector<fault_config>& faults) {
  if (faults.empty())
    return {};
  auto value = detail::fnv1a_start;
  for (const auto& f : faults)
    value = detail::fnv1a(canonical_text(fault_setting(f)), value);
  return fmt::format("-{:016x}", value);
}

std::vector<fault_config> fitted_faults(const std::vector<fault_config>& faults,
                                        const arm_config& arm) {
  std::vector<fault_config> out;
  out.reserve(faults.size());
  for (const auto& f : faults)
    out.push_back(fitted(f, arm));
  return out;
}

} // namespace

tuner::tuner(const tune_plan& plan, run_executor& runner, std::size_t jobs,
             std::string version)
  : plan_(plan), runner_(runner), jobs_(jobs), version_(std::move(version)) {}

tune_result tuner::search(std::function<bool()> enough) {
  auto first = plan_.budget
               - std::min<std::size_t>(plan_.budget, plan_.trials());
  tune_search_options o{.trials = plan_.trials(),
                        .budget = plan_.budget,
                        .first = (first + 1) / 2,
                        .key = plan_.key(),
                        .enough = std::move(enough)};
  if (plan_.time)
    o.budget = static_cast<std::size_t>(most_tune_runs);
  auto space = plan_.space();
  auto whole = (space.points(plan_.budget) + 1) * plan_.trials();
  runner_.expect(std::min<std::size_t>(plan_.budget, whole)
                 + 4 * plan_.unseen_trials());
  tune_search s{std::move(space), plan_.targets, std::move(o),
                [this](auto& all, const auto& which, std::size_t trials) {
                  return play(all, which, trials);
                }};
  tune_result out{.found = s.run(plan_.present_candidate())};
  out.refused = static_cast<std::size_t>(
    std::ranges::count(out.found.candidates, false, &tune_candidate::allowed));
  out.failures = runner_.failures();
  return out;
}

void tuner::test(const std::vector<std::size_t>& which, tune_result& into) {
  std::vector<trial_run> runs;
  for (auto i : which)
    for (std::size_t k = 0; k < plan_.unseen_trials(); ++k)
      runs.push_back({i, plan_.trials() + k});
  runner_.expect(runner_.requested_runs() - runner_.reused_runs()
                 + runs.size());
  const auto& all = into.found.candidates;
  auto results = play_all(all, runs);
  into.failures = runner_.failures();
  if (std::ranges::any_of(results, [](const auto& r) { return !r; })) {
    into.found.interrupted = true;
    return;
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto c = runs[i].candidate;
    into.unseen[c].push_back(row_of(all[c], *results[i]));
  }
}

// -- the player of the search -------------------------------------------------

bool tuner::play(std::vector<tune_candidate>& all,
                 const std::vector<std::size_t>& which, std::size_t trials) {
  std::vector<trial_run> runs;
  for (auto i : which)
    if (!runner_.stopped() && is_allowed(all[i], i))
      for (auto k = all[i].rows.size(); k < trials; ++k)
        runs.push_back({i, k});
  auto results = play_all(all, runs);
  auto complete = true;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto& c = all[runs[i].candidate];
    // Rows must not have gaps.
    if (results[i] && c.rows.size() == runs[i].trial)
      c.rows.push_back(row_of(c, *results[i]));
    else
      complete = false;
  }
  return complete && !runner_.stopped();
}

bool tuner::is_allowed(tune_candidate& c, std::size_t number) {
  if (!c.allowed || worlds_.contains(number))
    return c.allowed;
  try {
    auto root = plan_.root_of(c);
    worlds_.emplace(number, world_hash(root, plan_.arm_of(root), version_));
  } catch (const config_error&) {
    c.allowed = false;
  }
  return c.allowed;
}

std::vector<std::optional<run_result>>
tuner::play_all(const std::vector<tune_candidate>& all,
                const std::vector<trial_run>& runs) {
  // Drawn before several threads ask for them.
  for (const auto& run : runs)
    (void)trial(run.trial);
  return runner_.run(
    runs.size(),
    [&](std::size_t i) { return job_of(all[runs[i].candidate], runs[i]); },
    jobs_);
}

const tune_trial& tuner::trial(std::size_t i) {
  auto found = trials_.find(i);
  if (found == trials_.end())
    found = trials_.emplace(i, plan_.trial(i)).first;
  return found->second;
}

run_request tuner::job_of(const tune_candidate& c, const trial_run& run) {
  const auto& t = trials_.at(run.trial);
  auto world = [this, &c, run] {
    return recent_.get(run.candidate,
                       [&] { return plan_.arm_of(plan_.root_of(c)); });
  };
  run_request job{
    .key = run_key(worlds_.at(run.candidate), plan_.arm.name, t.seed),
    .label = plan_.label(c),
    .seed = t.seed,
    .arm = world};
  if (t.faults.empty())
    return job;
  job.key += key_of_faults(t.faults);
  job.arm = [world, &t] {
    auto arm = *world();
    auto more = fitted_faults(t.faults, arm);
    arm.faults.insert(arm.faults.end(), more.begin(), more.end());
    return std::make_shared<const arm_config>(std::move(arm));
  };
  return job;
}

std::vector<double> tuner::row_of(const tune_candidate& c,
                                  const run_result& r) const {
  std::vector<double> out;
  auto values = plan_.values_of(c);
  for (const auto& column : plan_.columns) {
    auto x = std::numeric_limits<double>::quiet_NaN();
    if (column.parameter) {
      if (auto value = values[*column.parameter])
        x = value->number;
    } else if (auto found = r.metrics.find(column.name);
               found != r.metrics.end()) {
      x = found->second;
    }
    out.push_back(x);
  }
  return out;
}

} // namespace caisson::sim
