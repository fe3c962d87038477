#include <simulator/command/sweep_command.hpp>

#include <simulator/command/result_files.hpp>
#include <simulator/play/command_texts.hpp>
#include <simulator/play/interruption.hpp>
#include <simulator/play/metric_check.hpp>
#include <simulator/play/progress.hpp>
#include <simulator/play/world_hash.hpp>
#include <simulator/report/numbers.hpp>
#include <simulator/scenario/sweep_path.hpp>
#include <simulator/sweep/result_store.hpp>
#include <simulator/sweep/sweep_files.hpp>
#include <simulator/sweep/sweep_html.hpp>
#include <simulator/sweep/sweep_table.hpp>
#include <simulator/sweep/sweeper.hpp>

#include <caisson/settings.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <ostream>
#include <set>
#include <string_view>
#include <utility>

namespace caisson::sim {

namespace {

constexpr std::string_view usual_metrics[] = {"success", "goodput",
                                              "latency.p99"};

// -- the plan -----------------------------------------------------------------

std::vector<sweep_parameter> parameters_of(const sweep_arguments& args,
                                           const scenario& s,
                                           const settings& root) {
  auto out = with_parameters(s.sweep.parameters, args.sets, "--set", root);
  if (out.empty())
    refuse_option(
      problem_kind::missing, "--set",
      "nothing is swept: give --set PATH=VALUES, or a table [sweep.set] "
      "in the file");
  return out;
}

std::vector<std::string> metrics_of(const sweep_arguments& args,
                                    const sweep_config& config) {
  std::vector<std::string> out;
  auto add = [&](std::string name) {
    if (std::ranges::find(out, name) == out.end())
      out.push_back(std::move(name));
  };
  for (const auto& name : metric_names_in("--metric", args.metrics))
    add(name);
  if (out.empty())
    for (const auto& name : config.metrics)
      add(name);
  if (out.empty())
    for (auto name : usual_metrics)
      add(std::string{name});
  return out;
}

void check_size(const sweep_plan& p) {
  if (p.points() > most_sweep_points)
    refuse_option(problem_kind::range, "--set",
                  fmt::format("there are more than {} combinations of values",
                              grouped(most_sweep_points)));
  auto runs = p.points() * p.arms.size();
  if (runs > most_sweep_runs / p.seeds)
    refuse_option(
      problem_kind::range, "--seeds",
      fmt::format("{} combinations with {} arms and {} seeds are more "
                  "than {} runs",
                  grouped(p.points()), grouped(p.arms.size()), grouped(p.seeds),
                  grouped(most_sweep_runs)));
}

sweep_plan plan_of(const sweep_arguments& args, const settings& root) {
  sweep_plan p;
  p.file = args.file;
  p.root = root;
  p.base = std::filesystem::path{args.file}.parent_path();
  auto world = scenario_from(root, args.file, p.base);
  p.title = world.title;
  p.parameters = parameters_of(args, world, root);
  p.metrics = metrics_of(args, world.sweep);
  choose_arms(world, args.arms, args.file);
  for (const auto& arm : world.arms)
    p.arms.push_back(arm.name);
  p.seed = args.seed.value_or(world.seed);
  p.seeds = args.seeds.value_or(world.sweep.seeds.value_or(1));
  if (p.seed > std::numeric_limits<std::uint64_t>::max() - (p.seeds - 1))
    refuse_option(problem_kind::range, "--seed",
                  fmt::format("{} plus {} seeds exceeds the largest seed",
                              p.seed, p.seeds));
  check_size(p);
  return p;
}

// -- checks -------------------------------------------------------------------

// Builds all worlds once, so that no value is refused after hours. Returns
// their hashes.
std::vector<std::uint64_t> check_points(const sweep_plan& p,
                                        const command_parts& parts) {
  std::vector<std::uint64_t> hashes;
  std::set<problem> found;
  metric_check metrics{p.metrics, "--metric"};
  for (std::size_t point = 0; point < p.points(); ++point) {
    if (parts.stop && *parts.stop)
      return {};
    try {
      auto arms = p.arms_at(point);
      for (const auto& arm : arms)
        metrics.check_arm(arm);
      auto root = p.root_at(point);
      for (const auto& arm : arms)
        hashes.push_back(world_hash(root, arm, parts.version));
    } catch (const config_error& e) {
      found.insert(e.all().begin(), e.all().end());
      if (found.size() > most_listed_problems)
        break;
    }
  }
  if (!found.empty())
    throw config_error{{found.begin(), found.end()}};
  if (auto missing = metrics.found(); !missing.empty())
    throw config_error{std::move(missing)};
  return hashes;
}

// Nothing is changed by what is set in an arm that is not run.
void warn_of_other_arms(std::ostream& err, const sweep_plan& p) {
  for (const auto& x : p.parameters) {
    const auto& parts = x.path.parts();
    if (parts.size() < 2 || parts.front() != setting_path::part{"arm"})
      continue;
    const auto& arm = std::get<std::string>(parts[1]);
    if (std::ranges::find(p.arms, arm) == p.arms.end())
      err << fmt::format(
        "caisson: warning: {} changes nothing, as arm {} is not run\n",
        detail::printable(x.name), detail::printable(arm));
  }
}

// The rows of a grid in which a setting has no effect.
void warn_of_alternatives(std::ostream& err, const sweep_plan& p) {
  for (const auto& x : p.parameters)
    for (const auto& other : p.parameters)
      if (auto values = values_excluding(other, x); !values.empty())
        err << fmt::format("caisson: warning: {} changes nothing where {} is "
                           "{}\n",
                           detail::printable(x.name),
                           detail::printable(other.name),
                           detail::printable(detail::listed_names(values)));
}

// What an arm sets, so that `path` changes nothing in it; empty if nothing is.
// An arm replaces a stack as a whole.
std::string hiding(const sweep_plan& p, const std::string& arm,
                   const setting_path& path) {
  auto in_arm = setting_path{} / "arm" / arm;
  auto own = in_arm.joined_with(path);
  const auto& parts = path.parts();
  auto is_stack = parts.size() > 2
                  && parts.front() == setting_path::part{"stack"};
  auto replaced = is_stack
                  && has_value_at(p.root, in_arm / "stack"
                                            / std::get<std::string>(parts[1]));
  if (replaced || has_value_at(p.root, own)
      || std::ranges::find(p.parameters, own, &sweep_parameter::path)
           != p.parameters.end())
    return "that";
  if (parts.size() < 3 || !std::holds_alternative<std::string>(parts[0])
      || !std::holds_alternative<std::string>(parts[1]))
    return {};
  auto around = setting_path{} / std::get<std::string>(parts[0])
                / std::get<std::string>(parts[1]);
  auto found = value_at_path(p.root, in_arm.joined_with(around));
  auto table = found ? std::get_if<settings>(&found->value) : nullptr;
  if (table)
    for (const auto& [key, value] : *table)
      if (excludes(around / key, value, path))
        return to_text(around / key);
  return {};
}

// An arm that sets something itself is not affected by what is set around it.
void warn_of_arms(std::ostream& err, const sweep_plan& p) {
  warn_of_other_arms(err, p);
  for (const auto& x : p.parameters)
    for (const auto& arm : p.arms)
      if (auto what = hiding(p, arm, x.path); !what.empty())
        err << fmt::format("caisson: warning: {} does not change arm {}, which "
                           "sets {} itself\n",
                           detail::printable(x.name), detail::printable(arm),
                           detail::printable(what));
}

std::string repeating(const sweep_arguments& args, const sweep_plan& p) {
  auto out = "caisson sweep " + quoted_for_shell(args.file);
  for (const auto& text : args.sets)
    out += " --set " + quoted_for_shell(text);
  for (const auto& name : args.metrics)
    out += " --metric " + quoted_for_shell(name);
  for (const auto& arm : args.arms)
    out += " --arm " + quoted_for_shell(arm);
  return out
         + fmt::format(" --seed {} --seeds {} --html sweep.html", p.seed,
                       p.seeds);
}

void write_end(std::ostream& err, const sweep_report& r, std::size_t kept,
               const std::string& state) {
  if (kept > 0)
    err << fmt::format("caisson: {} of {} runs were stored already, in {}\n",
                       grouped(kept), grouped(r.runs.size()),
                       detail::printable(state));
  auto done = static_cast<std::uint64_t>(std::ranges::count_if(
    r.runs, [](const auto& run) { return run.has_value(); }));
  auto idle = static_cast<std::uint64_t>(std::ranges::count_if(
    r.runs, [](const auto& run) { return run && run->idle; }));
  err << idle_warning(idle, done);
  if (!r.interrupted)
    return;
  err << fmt::format("caisson: interrupted: {} of {} runs are done{}\n",
                     grouped(done), grouped(r.runs.size()),
                     state.empty() ? "; with --state DIR they would be kept"
                                   : "; the same command continues from there");
}

result_paths paths_of(const sweep_arguments& args) {
  return {args.json, args.csv, args.html};
}

sweep_report play(const sweep_plan& plan,
                  const std::vector<std::uint64_t>& worlds,
                  const sweep_arguments& args, std::ostream& err,
                  const command_parts& parts) {
  auto state = state_directory(args.state, paths_of(args));
  std::optional<result_store> store;
  if (!state.empty())
    store.emplace(state);
  progress_bar bar{err, parts.terminal && !args.no_progress, parts.columns};
  sweeper all{plan, worlds, store ? &*store : nullptr, bar, err, parts};
  sweep_executors executors{.jobs = args.jobs.value_or(parts.jobs),
                            .remote_workers = args.remote_workers};
  if (!args.remote_workers.workers.empty())
    executors.build = own_identity(parts.version);
  auto r = all.play_all(executors);
  write_end(err, r, all.reused_runs(), state);
  return r;
}

} // namespace

status sweep_command(const sweep_arguments& args, std::ostream& out,
                     std::ostream& err, const command_parts& parts) {
  std::optional<signal_watch> watch;
  if (parts.catch_signals)
    watch.emplace();
  auto plan = plan_of(args, read_scenario_settings(args.file));
  auto worlds = check_points(plan, parts);
  if (worlds.size() < plan.points() * plan.arms.size())
    return status::interrupted;
  warn_of_alternatives(err, plan);
  warn_of_arms(err, plan);
  result_files files{paths_of(args), out};
  sweep_source source{text_of_file(args.file), repeating(args, plan),
                      parts.version};
  auto r = play(plan, worlds, args, err, parts);
  if (!files.takes_stdout() && !args.quiet)
    write_sweep_table(out, r, parts.out_columns());
  for (const auto& text : r.failures)
    err << "failed: " << detail::printable(text) << '\n';
  files.write([&](auto& to) { write_sweep_json(to, r); },
              [&](auto& to) { write_sweep_csv(to, r); },
              [&](auto& to) { write_sweep_html(to, r, source); });
  if (r.interrupted)
    return status::interrupted;
  return r.failures.empty() ? status::good : status::failed;
}

} // namespace caisson::sim
