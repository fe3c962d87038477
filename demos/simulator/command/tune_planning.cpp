#include <simulator/command/tune_planning.hpp>

#include <simulator/play/command_texts.hpp>
#include <simulator/play/metric_check.hpp>
#include <simulator/report/numbers.hpp>
#include <simulator/scenario/metric_names.hpp>
#include <simulator/scenario/sweep_path.hpp>
#include <simulator/tune/halton.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace caisson::sim {

namespace {

// Shown with what is asked for, so that it is seen what it costs.
constexpr std::string_view always_shown[] = {"success", "goodput",
                                             "latency.p99", "amplification"};

class tune_planner {
public:
  explicit tune_planner(const tune_arguments& args) : args_(args) {}

  tune_plan plan() {
    p_.file = args_.file;
    p_.base = std::filesystem::path{args_.file}.parent_path();
    p_.root = read_scenario_settings(args_.file);
    auto world = scenario_from(p_.root, p_.file, p_.base);
    p_.title = world.title;
    choose_arm(world);
    read_config(world);
    choose_parameters();
    choose_sizes(world);
    choose_targets();
    add_columns();
    check_columns();
    check_budget();
    check_ends();
    // Throws if there are none.
    if (p_.schedules > 0)
      (void)fault_menu{p_.arm, p_.bounds};
    return std::move(p_);
  }

private:
  // -- what is varied ---------------------------------------------------------

  void choose_arm(scenario& world) {
    std::vector<std::string> arms;
    if (!args_.arm.empty())
      arms.push_back(args_.arm);
    else if (world.tune.arm)
      arms.push_back(*world.tune.arm);
    choose_arms(world, arms, args_.file);
    std::vector<std::string> names;
    for (const auto& arm : world.arms)
      names.push_back(arm.name);
    if (names.size() > 1)
      refuse_option(problem_kind::missing, "--arm",
                    fmt::format("which arm is tuned? There are {}",
                                fmt::join(names, ", ")));
    p_.arm = std::move(world.arms.at(0));
    p_.arm_is_named = !arm_names(p_.root).empty();
  }

  // Paths of the file are those of the arm that is tuned.
  void read_config(const scenario& world) {
    config_ = world.tune;
    auto found = p_.root.find("tune");
    if (found == p_.root.end() || args_.arm.empty())
      return;
    problems wrong;
    config_ = read_tune({std::get<settings>(found->second.value),
                         setting_path{} / "tune", found->second.place},
                        p_.root, p_.arm.name, wrong);
    if (!wrong.empty())
      throw config_error{std::move(wrong)};
  }

  void choose_parameters() {
    auto how = tune_reading(p_.arm_is_named ? p_.arm.name : std::string{});
    p_.parameters = with_parameters(config_.parameters, args_.vary, "--vary",
                                    p_.root, how);
    if (p_.parameters.empty())
      refuse_option(problem_kind::missing, "--vary",
                    "nothing is varied: give --vary PATH=VALUES, or a table "
                    "[tune.vary] in the file");
    if (p_.parameters.size() > most_dimensions)
      refuse_option(problem_kind::range, "--vary",
                    fmt::format("{} settings are varied, allowed: at most {}",
                                p_.parameters.size(), most_dimensions));
    for (auto& x : p_.parameters) {
      put_in_order(x.values);
      p_.present.push_back(present_value(x.path));
    }
    check_arms();
  }

  // Each value once; ascending, if all are numbers or all are durations.
  static void put_in_order(std::vector<sweep_value>& values) {
    std::set<std::string> seen;
    std::erase_if(values, [&](const sweep_value& v) {
      return !seen.insert(written_text(v.value)).second;
    });
    auto numbers = std::ranges::all_of(values, [&](const sweep_value& v) {
      return std::isfinite(v.number) && v.unit == values.front().unit;
    });
    if (!numbers)
      return;
    std::ranges::stable_sort(values, {}, &sweep_value::number);
    // `1s` and `1000ms` are the same.
    auto same = [](const sweep_value& x, const sweep_value& y) {
      return x.number == y.number;
    };
    values.erase(std::unique(values.begin(), values.end(), same), values.end());
  }

  [[nodiscard]] std::optional<sweep_value>
  present_value(const setting_path& path) const {
    auto found = value_at_path(p_.root, path);
    if (!found && path.parts().front() == setting_path::part{"arm"})
      found = value_at_path(p_.root, path.without_first(2));
    return found ? std::optional{sweep_value_of(*found)} : std::nullopt;
  }

  void check_arms() const {
    for (const auto& x : p_.parameters) {
      const auto& parts = x.path.parts();
      if (parts.front() == setting_path::part{"arm"}
          && parts.at(1) != setting_path::part{p_.arm.name})
        refuse_option(
          problem_kind::relation, "--vary",
          fmt::format("{} changes nothing, as only the arm {} is run",
                      detail::quoted(x.name), p_.arm.name));
    }
  }

  // -- what it is after -------------------------------------------------------

  std::vector<tune_goal>
  goals(const std::vector<std::string>& texts,
        const std::vector<tune_goal>& otherwise, const std::string& option,
        std::optional<tune_goal> (*read)(std::string_view, const setting_path&,
                                         std::string_view, problems&)) {
    if (texts.empty())
      return otherwise;
    problems wrong;
    std::vector<tune_goal> out;
    for (const auto& text : texts)
      if (auto g = read(text, setting_path{} / option, {}, wrong))
        out.push_back(std::move(*g));
    if (!wrong.empty())
      throw config_error{std::move(wrong)};
    return out;
  }

  void choose_targets() {
    auto needs = goals(args_.needs, config_.needs, "--need", &read_tune_need);
    auto best = goals(args_.best, config_.objectives, "--best",
                      &read_tune_objective);
    if (best.empty())
      refuse_option(problem_kind::missing, "--best",
                    "nothing to optimise: give --best NAME, such as p99 or "
                    "min:service.db.workers, or best in [tune]");
    if (best.size() > most_objectives)
      refuse_option(problem_kind::range, "--best",
                    too_many_objectives(best.size()));
    for (const auto& g : needs)
      p_.targets.needs.push_back(target_of(g, "--need"));
    for (const auto& g : best)
      p_.targets.objectives.push_back(target_of(g, "--best"));
    const auto& o = p_.targets.objectives;
    if (o.size() == 2 && o[0].column == o[1].column)
      refuse_option(problem_kind::relation, "--best",
                    fmt::format("{} is given more than once",
                                detail::quoted(best[1].text)));
  }

  tune_target target_of(const tune_goal& g, const std::string& option) {
    auto column = column_of(g.name, option);
    const auto& c = p_.columns[column];
    auto usual = c.parameter ? tune_sense::less : usual_sense(c.name);
    if (!g.sense && !usual)
      refuse_option(
        problem_kind::missing, option,
        fmt::format("is a lower or a higher {} better? Write min:{} or "
                    "max:{}",
                    detail::quoted(g.name), g.name, g.name));
    return {column, g.sense.value_or(usual.value_or(tune_sense::less)),
            g.bound};
  }

  // A setting may be called as it was written, by its path, or shortly if no
  // metric is called so.
  std::size_t column_of(const std::string& name, const std::string& option) {
    tune_column c{name, unit_of(name), {}};
    auto known = metric_names();
    auto is_metric = std::ranges::find(known, name) != known.end();
    auto shorts = short_names(p_.parameters);
    for (std::size_t i = 0; i < p_.parameters.size(); ++i) {
      const auto& x = p_.parameters[i];
      if (name == x.name || name == to_text(x.path)
          || (name == shorts[i] && !is_metric)) {
        c = {x.name, metric_unit::none, i};
        if (!axis_of(x.values).ordered())
          refuse_option(problem_kind::type, option,
                        fmt::format("the values of {} are neither numbers nor "
                                    "durations, so none is the best",
                                    detail::quoted(name)));
        if (x.values.front().unit == sweep_unit::seconds)
          c.unit = metric_unit::seconds;
      }
    }
    auto same = std::ranges::find(p_.columns, c.name, &tune_column::name);
    if (same != p_.columns.end())
      return static_cast<std::size_t>(same - p_.columns.begin());
    p_.columns.push_back(std::move(c));
    option_of_.push_back(option);
    return p_.columns.size() - 1;
  }

  void add_columns() {
    for (const auto& name : metric_names_in("--metric", args_.metrics))
      column_of(name, "--metric");
    if (args_.metrics.empty())
      for (const auto& name : config_.metrics)
        column_of(name, "--metric");
    for (auto name : always_shown)
      column_of(std::string{name}, "--metric");
  }

  void check_columns() const {
    problems wrong;
    for (std::size_t i = 0; i < p_.columns.size(); ++i) {
      if (p_.columns[i].parameter)
        continue;
      metric_check check{{p_.columns[i].name}, option_of_[i]};
      check.check_arm(p_.arm);
      for (auto& p : check.found())
        wrong.push_back(std::move(p));
    }
    if (!wrong.empty())
      throw config_error{std::move(wrong)};
  }

  // -- how much of it ---------------------------------------------------------

  void choose_sizes(const scenario& world) {
    p_.seed = args_.seed.value_or(world.seed);
    p_.seeds = args_.seeds.value_or(config_.seeds.value_or(p_.seeds));
    p_.unseen = args_.unseen.value_or(config_.unseen.value_or(p_.unseen));
    p_.time = args_.time;
    p_.schedules = args_.schedules;
    p_.bounds = args_.bounds;
    p_.budget = budget();
    auto more = std::uint64_t{p_.seeds} + p_.unseen;
    if (p_.seed > std::numeric_limits<std::uint64_t>::max() - more)
      refuse_option(problem_kind::range, "--seed",
                    fmt::format("{} plus {} seeds exceeds the largest seed",
                                p_.seed, more));
  }

  [[nodiscard]] std::uint32_t budget() const {
    if (args_.budget)
      return *args_.budget;
    // That of the file is for a search that counts runs.
    if (config_.budget && !p_.time)
      return *config_.budget;
    auto usual = std::max<std::uint64_t>(500, 30 * p_.trials());
    return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(usual, most_tune_runs));
  }

  void check_budget() const {
    auto least = 2 * p_.trials();
    if (p_.budget < least)
      refuse_option(problem_kind::range, "--budget",
                    fmt::format("{} runs are too few: the present settings and "
                                "one other candidate need {}",
                                grouped(p_.budget), grouped(least)));
    if (p_.budget > most_tune_runs)
      refuse_option(problem_kind::range, "--budget",
                    fmt::format("{} runs are too many, allowed: at most {}",
                                grouped(p_.budget), grouped(most_tune_runs)));
  }

  // That no value can be used at all is known before anything is run. What
  // only cannot be together with others is left out later.
  void check_ends() const {
    constexpr std::size_t most_checked = 100;
    std::set<problem> wrong;
    for (const auto& x : p_.parameters) {
      auto step = axis_of(x.values).ordered() || x.values.size() > most_checked
                    ? std::max<std::size_t>(1, x.values.size() - 1)
                    : 1;
      for (std::size_t i = 0; i < x.values.size(); i += step) {
        auto root = p_.root;
        set_at(root, x.path, x.values[i].value);
        try {
          (void)p_.arm_of(root);
        } catch (const config_error& e) {
          for (const auto& p : e.all())
            if (p.kind != problem_kind::relation)
              wrong.insert(p);
        }
      }
    }
    if (!wrong.empty())
      throw config_error{{wrong.begin(), wrong.end()}};
  }

  const tune_arguments& args_;
  tune_config config_;
  tune_plan p_;
  /// By column.
  std::vector<std::string> option_of_;
};

} // namespace

tune_plan tune_plan_of(const tune_arguments& args) {
  return tune_planner{args}.plan();
}

} // namespace caisson::sim
