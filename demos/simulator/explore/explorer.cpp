#include <simulator/explore/explorer.hpp>

#include <simulator/explore/drawn_faults.hpp>
#include <simulator/explore/found_scenario.hpp>
#include <simulator/play/ordered_work.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace caisson::sim {

namespace {

const violation* broken_in(const std::vector<violation>& all,
                           const std::string& rule) {
  auto found = std::ranges::find(all, rule, &violation::rule);
  return found == all.end() ? nullptr : &*found;
}

bool covers(const finding& f, const std::string& rule) {
  return f.broken.rule == rule || broken_in(f.also, rule) != nullptr;
}

} // namespace

explorer::explorer(const explore_plan& plan, progress_bar& bar,
                   const command_parts& parts, finding_handler keep)
  : plan_(plan), bar_(bar), parts_(parts), keep_(std::move(keep)) {
  for (const auto& arm : plan.arms)
    menus_.emplace_back(arm, plan.bounds);
}

exploration explorer::explore(std::size_t jobs) {
  exploration all;
  ordered_work<outcome> work{plan_.total_runs(), jobs};
  if (!stopped())
    work.run(
      [&](std::size_t i) { return play_run(i); },
      [&](std::size_t i, outcome o) { return take(i, std::move(o), all); });
  bar_.clear();
  all.interrupted = stopped();
  return all;
}

// -- running ------------------------------------------------------------------

// Arms with the same services and loads are given the same faults.
explorer::faults explorer::faults_of(std::size_t index) const {
  if (run_of(index) == 0)
    return {};
  return drawn_faults(menus_[arm_of(index)], plan_.seed + run_of(index));
}

arm_result explorer::play(const arm_config& arm, std::uint64_t seed,
                          std::function<void(double)> progress) const {
  run_options o{.seed = seed,
                .progress = std::move(progress),
                .stop = parts_.stop,
                .abandon = parts_.catch_signals,
                .verify = true,
                .step = one_row,
                .log = {}};
  return parts_.play(arm, o);
}

arm_result explorer::play_with(std::size_t arm, const faults& more,
                               std::uint64_t seed) const {
  auto world = plan_.arms[arm];
  world.faults.insert(world.faults.end(), more.begin(), more.end());
  return play(world, seed, {});
}

explorer::outcome explorer::play_run(std::size_t index) {
  auto world = plan_.arms[arm_of(index)];
  auto more = faults_of(index);
  world.faults.insert(world.faults.end(), more.begin(), more.end());
  auto r = play(world, plan_.seed + run_of(index),
                [this, index](double share) { show(index, share); });
  std::lock_guard guard{mutex_};
  shares_.erase(index);
  ++played_;
  if (r.interrupted)
    return {.interrupted = true, .broken = {}};
  return {.interrupted = false,
          .broken = broken_rules(world, r, plan_.recovery)};
}

// -- findings -----------------------------------------------------------------

finding* explorer::find_known(std::size_t arm, const std::string& rule,
                              exploration& all) const {
  for (auto& f : all.findings)
    if (f.arm == arm && covers(f, rule))
      return &f;
  return nullptr;
}

bool explorer::take(std::size_t index, outcome o, exploration& all) {
  if (o.interrupted)
    return false;
  ++all.played;
  if (!o.broken.empty())
    ++all.broken;
  for (const auto& x : o.broken)
    if (all.findings.size() < plan_.most_findings && !stopped()
        && !find_known(arm_of(index), x.rule, all))
      find(index, x, all);
  for (auto& f : all.findings)
    f.times += f.arm == arm_of(index)
               && std::ranges::any_of(o.broken, [&](const violation& x) {
                    return covers(f, x.rule);
                  });
  return !stopped() && all.findings.size() < plan_.most_findings;
}

void explorer::find(std::size_t index, const violation& broken,
                    exploration& all) {
  finding f;
  f.arm = arm_of(index);
  f.run = run_of(index);
  f.seed = plan_.seed + f.run;
  f.found = faults_of(index);
  f.broken = broken;
  std::size_t runs = 0;
  shrinker s{menus_[f.arm],
             [&](const faults& some) -> std::optional<bool> {
               show_shrinking(f, runs++);
               auto r = play_with(f.arm, some, f.seed);
               if (r.interrupted)
                 return std::nullopt;
               auto now = broken_rules(plan_.arms[f.arm], r, plan_.recovery);
               return broken_in(now, broken.rule) != nullptr;
             },
             plan_.shrink_runs};
  f.shrunk = s.shrink(f.found);
  confirm(f);
  keep_(f);
  all.findings.push_back(std::move(f));
}

// Runs the scenario that is written, which must give the same as the world
// that it is made from.
void explorer::confirm(finding& f) {
  const auto& arm = plan_.arms[f.arm];
  f.scenario = found_scenario(plan_.root, plan_.base, arm, f.shrunk.least,
                              f.seed, plan_.directory,
                              f.broken.rule == recovery_rule);
  auto r = play_with(f.arm, f.shrunk.least, f.seed);
  f.digest = r.digest;
  if (r.interrupted)
    return;
  for (auto& x : broken_rules(arm, r, plan_.recovery))
    if (x.rule == f.broken.rule)
      f.broken = x;
    else
      f.also.push_back(std::move(x));
  auto again = parse_scenario(f.scenario, "found", plan_.directory);
  auto second = play(again.arms.at(0), again.seed, {});
  auto broken = broken_rules(again.arms[0], second, plan_.recovery);
  f.repeats = !second.interrupted && second.digest == r.digest
              && broken_in(broken, f.broken.rule);
}

// -- progress -----------------------------------------------------------------

void explorer::show(std::size_t index, double share) {
  if (!parts_.terminal)
    return;
  std::lock_guard guard{mutex_};
  shares_[index] = share;
  auto sum = static_cast<double>(played_);
  for (const auto& [which, fraction] : shares_)
    sum += fraction;
  auto first = shares_.begin()->first;
  bar_.show({plan_.arms[arm_of(first)].name, played_, plan_.total_runs(),
             plan_.seed + run_of(first)},
            sum / static_cast<double>(plan_.total_runs()));
}

void explorer::show_shrinking(const finding& f, std::size_t runs) {
  if (!parts_.terminal)
    return;
  std::lock_guard guard{mutex_};
  bar_.show({"shrinking", runs, plan_.shrink_runs, f.seed},
            static_cast<double>(played_)
              / static_cast<double>(plan_.total_runs()));
}

} // namespace caisson::sim
