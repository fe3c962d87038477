#include <sim/command/sweep_command.hpp>

#include <sim/command/command_texts.hpp>
#include <sim/command/interruption.hpp>
#include <sim/command/output_file.hpp>
#include <sim/command/progress.hpp>
#include <sim/report/expectations.hpp>
#include <sim/report/numbers.hpp>
#include <sim/scenario/sweep_path.hpp>
#include <sim/sweep/cell_store.hpp>
#include <sim/sweep/sweep_report.hpp>
#include <sim/sweep/sweeper.hpp>
#include <sim/sweep/world_hash.hpp>

#include <caisson/detail/settings_text.hpp>
#include <caisson/settings.hpp>
#include <caisson/toml.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <ostream>
#include <set>
#include <string_view>
#include <utility>

namespace caisson::sim {

namespace {

constexpr std::string_view usual_metrics[] = {"success", "goodput",
                                              "latency.p99"};

[[noreturn]] void refuse(problem_kind kind, const std::string& option,
                         std::string message) {
  throw config_error{{{kind, setting_path{} / option, std::move(message), {}}}};
}

// -- the plan -----------------------------------------------------------------

settings read_file(const std::string& file) {
  problems found;
  auto root = read_toml_file(file, found);
  if (!found.empty()) {
    // With what else is wrong with it.
    if (!root.empty())
      (void)scenario_from(root, file, std::filesystem::path{file}.parent_path(),
                          found);
    throw config_error{std::move(found)};
  }
  return root;
}

std::vector<sweep_parameter> parameters_of(const sweep_arguments& args,
                                           const scenario& s,
                                           const settings& root) {
  auto out = s.sweep.parameters;
  problems found;
  std::set<setting_path> given;
  for (const auto& text : args.sets) {
    auto p = read_sweep_parameter(text, "--set", root, found);
    if (!p)
      continue;
    if (!given.insert(p->path).second)
      found.push_back(
        {problem_kind::relation, p->path, "is given more than once", "--set"});
    auto same = std::ranges::find(out, p->path, &sweep_parameter::path);
    if (same == out.end())
      out.push_back(std::move(*p));
    else
      *same = std::move(*p);
  }
  if (!found.empty())
    throw config_error{std::move(found)};
  if (out.empty())
    refuse(problem_kind::missing, "--set",
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
  for (std::string_view rest : args.metrics)
    for (;;) {
      auto comma = rest.find(',');
      auto name = detail::trimmed(rest.substr(0, comma));
      if (name.empty())
        refuse(problem_kind::syntax, "--metric", "a name is empty");
      add(full_metric_name(name));
      if (comma == rest.npos)
        break;
      rest.remove_prefix(comma + 1);
    }
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
    refuse(problem_kind::range, "--set",
           fmt::format("there are more than {} combinations of values",
                       grouped(most_sweep_points)));
  auto runs = p.points() * p.arms.size();
  if (runs > most_sweep_cells / p.seeds)
    refuse(problem_kind::range, "--seeds",
           fmt::format("{} combinations with {} arms and {} seeds are more "
                       "than {} runs",
                       grouped(p.points()), grouped(p.arms.size()),
                       grouped(p.seeds), grouped(most_sweep_cells)));
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
    refuse(problem_kind::range, "--seed",
           fmt::format("there are no {} seeds from {} on", p.seeds, p.seed));
  check_size(p);
  return p;
}

// -- checks -------------------------------------------------------------------

// Looks for metrics that no world has. That one of them has it is fine: others
// may lack its gate, or its replica.
class metric_check {
public:
  explicit metric_check(const sweep_plan& p) : missing_(p.metrics) {}

  // Looks for those that are missing yet.
  void look_in(const std::vector<arm_config>& arms) {
    std::erase_if(missing_, [&](const auto& name) {
      return std::ranges::any_of(
        arms, [&](const auto& arm) { return has(arm, name); });
    });
  }

  // What was wrong with them where they were first looked for.
  [[nodiscard]] problems found() const {
    problems out;
    for (const auto& name : missing_)
      out.push_back(first_.at(name));
    return out;
  }

private:
  bool has(arm_config arm, const std::string& name) {
    arm.expect = {};
    arm.expect.bounds.push_back(
      {.metric = name, .key = setting_path{} / "--metric"});
    auto wrong = expectation_problems(arm);
    if (!wrong.empty())
      first_.try_emplace(name, std::move(wrong.front()));
    return wrong.empty();
  }

  std::vector<std::string> missing_;
  std::map<std::string, problem> first_;
};

// Builds all worlds once, so that no value is refused after hours. Returns
// their hashes.
std::vector<std::uint64_t> check_points(const sweep_plan& p,
                                        const command_parts& parts) {
  std::vector<std::uint64_t> hashes;
  std::set<problem> found;
  metric_check metrics{p};
  for (std::size_t point = 0; point < p.points(); ++point) {
    if (parts.stop && *parts.stop)
      return {};
    try {
      auto arms = p.arms_at(point);
      metrics.look_in(arms);
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

// Nothing is changed by what is set in an arm that is not played.
void warn_of_other_arms(std::ostream& err, const sweep_plan& p) {
  for (const auto& x : p.parameters) {
    const auto& parts = x.path.parts();
    if (parts.size() < 2 || parts.front() != setting_path::part{"arm"})
      continue;
    const auto& arm = std::get<std::string>(parts[1]);
    if (std::ranges::find(p.arms, arm) == p.arms.end())
      err << fmt::format("caisson: warning: {} changes nothing, as arm {} is "
                         "not played\n",
                         detail::printable(x.name), detail::printable(arm));
  }
}

// An arm that says something itself is not reached by what is set around it.
void warn_of_arms(std::ostream& err, const sweep_plan& p) {
  warn_of_other_arms(err, p);
  for (const auto& x : p.parameters)
    for (const auto& arm : p.arms) {
      auto own = (setting_path{} / "arm" / arm).joined_with(x.path);
      auto hidden = has_value_at(p.root, own);
      const auto& parts = x.path.parts();
      if (parts.size() > 2 && parts.front() == setting_path::part{"stack"})
        hidden = hidden
                 || has_value_at(p.root, setting_path{} / "arm" / arm / "stack"
                                           / std::get<std::string>(parts[1]));
      if (hidden)
        err << fmt::format("caisson: warning: {} does not change arm {}, which "
                           "sets that itself\n",
                           detail::printable(x.name), detail::printable(arm));
    }
}

// -- outputs ------------------------------------------------------------------

class sweep_outputs {
public:
  sweep_outputs(const sweep_arguments& args, std::ostream& out)
    : takes_stdout_(args.json == "-" || args.csv == "-" || args.html == "-") {
    open(json_, args.json, out);
    open(csv_, args.csv, out);
    open(html_, args.html, out);
  }

  [[nodiscard]] bool takes_stdout() const { return takes_stdout_; }

  void write(const sweep_report& r, const sweep_source& source) {
    if (json_)
      write_sweep_json(json_->stream(), r);
    if (csv_)
      write_sweep_csv(csv_->stream(), r);
    if (html_)
      write_sweep_html(html_->stream(), r, source);
    for (auto file : {&json_, &csv_, &html_})
      if (*file)
        (*file)->commit();
  }

private:
  static void open(std::optional<output_file>& file, const std::string& path,
                   std::ostream& out) {
    if (!path.empty())
      file.emplace(path, out);
  }

  bool takes_stdout_;
  std::optional<output_file> json_;
  std::optional<output_file> csv_;
  std::optional<output_file> html_;
};

// Empty if nothing is kept.
std::string state_of(const sweep_arguments& args) {
  if (!args.state.empty())
    return args.state;
  for (const auto& path : {args.json, args.csv, args.html})
    if (!path.empty() && path != "-")
      return path + ".state";
  return {};
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

void tell_end(std::ostream& err, const sweep_report& r, std::size_t kept,
              const std::string& state) {
  if (kept > 0)
    err << fmt::format("caisson: {} of {} runs were there already, in {}\n",
                       grouped(kept), grouped(r.cells.size()),
                       detail::printable(state));
  if (!r.interrupted)
    return;
  auto done = static_cast<std::uint64_t>(std::ranges::count_if(
    r.cells, [](const auto& cell) { return cell.has_value(); }));
  err << fmt::format("caisson: interrupted: {} of {} runs are done{}\n",
                     grouped(done), grouped(r.cells.size()),
                     state.empty() ? "; with --state DIR they would be kept"
                                   : "; the same command goes on from there");
}

sweep_report play(const sweep_plan& plan,
                  const std::vector<std::uint64_t>& worlds,
                  const sweep_arguments& args, std::ostream& err,
                  const command_parts& parts) {
  auto state = state_of(args);
  std::optional<cell_store> store;
  if (!state.empty())
    store.emplace(state);
  progress_bar bar{err, parts.terminal && !args.no_progress, parts.columns};
  sweeper all{plan, worlds, store ? &*store : nullptr, bar, parts};
  auto r = all.play_all(args.jobs.value_or(parts.jobs));
  tell_end(err, r, all.kept(), state);
  return r;
}

} // namespace

status sweep_command(const sweep_arguments& args, std::ostream& out,
                     std::ostream& err, const command_parts& parts) {
  std::optional<signal_watch> watch;
  if (parts.catch_signals)
    watch.emplace();
  auto plan = plan_of(args, read_file(args.file));
  auto worlds = check_points(plan, parts);
  if (worlds.size() < plan.points() * plan.arms.size())
    return status::interrupted;
  warn_of_arms(err, plan);
  sweep_outputs files{args, out};
  sweep_source source{text_of_file(args.file), repeating(args, plan),
                      parts.version};
  auto r = play(plan, worlds, args, err, parts);
  if (!files.takes_stdout() && !args.quiet)
    write_sweep_table(out, r);
  for (const auto& text : r.failures)
    err << "failed: " << detail::printable(text) << '\n';
  files.write(r, source);
  if (r.interrupted)
    return status::interrupted;
  return r.failures.empty() ? status::good : status::failed;
}

} // namespace caisson::sim
