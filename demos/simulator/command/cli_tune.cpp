#include <simulator/command/cli_tune.hpp>

#include <simulator/command/cli_parts.hpp>
#include <simulator/scenario/tune_config.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <limits>

namespace caisson::sim {

namespace {

constexpr auto tune_footer = R"(Examples:
  caisson tune shop.toml --vary service.db.workers=5..40 \
    --need 'p99<=250ms' --best min:service.db.workers
  caisson tune shop.toml --arm guarded --vary stack.db.layer[0].permits=2..50 \
    --vary load.users.timeout=100ms..5s --need 'success>=99.9%' --best p99
  caisson tune shop.toml --vary service.db.queue=0..500 --best p99 \
    --best success

Ranges need no step; one that ends at 20 times its start or more is searched by
ratios. The names of --need and --best are those of [expect], or settings
that are varied. With two --best the front of both is shown. A table [tune] in
the file can say the same.

All candidates meet the same seeds. The best ones are tested with seeds that
were not used to choose them. The same options give the same result, byte for
byte, on any number of cores, unless --time ends the search.
docs/simulator-commands.md has more.

Exit status: 0 settings were found that meet the needs, 1 there are none, or
they fail on unseen seeds, 2 the input is wrong or output cannot be written,
3 an internal error, 130 interrupted.)";

void add_goals(CLI::App& tune, tune_arguments& args) {
  auto add = [&](const std::string& name, std::vector<std::string>& into,
                 const std::string& type, const std::string& what) {
    tune.add_option(name, into, what)
      ->type_name(type)
      ->take_all()
      ->allow_extra_args(false)
      ->check(not_empty());
  };
  add("--vary", args.vary, "PATH=VALUES",
      "Search these values of a setting, such as\n"
      "service.db.workers=5..40; may be repeated");
  add("--need", args.needs, "BOUND",
      "What must hold, such as 'success>=99.9%' or\n"
      "'p99<=250ms'; may be repeated");
  add("--best", args.best, "NAME",
      "What to optimise, such as p99,\n"
      "max:goodput or min:service.db.workers; once or twice");
  add("--metric", args.metrics, "NAMES", "Show these numbers, too");
}

void add_sizes(CLI::App& tune, tune_texts& texts) {
  auto add = [&](const std::string& name, std::string& into,
                 const std::string& type, const std::string& what) {
    tune.add_option(name, into, what)->type_name(type)->check(not_empty());
  };
  add("--budget", texts.budget, "N",
      "Search with N runs (1 to 200000; default: 500, or\n"
      "30 for each seed and schedule if that is more)");
  add("--time", texts.time, "TIME",
      "Search for this time instead, such as 5m; what is found\n"
      "then depends on the machine");
  add("--seed", texts.seed, "N", "First seed, instead of that of the file");
  add("--seeds", texts.seeds, "N",
      "Run the better candidates with N seeds\n"
      "(1 to 1000; default: 16)");
  add("--unseen", texts.unseen, "N",
      "Test the best ones with N other seeds\n"
      "(0 to 1000; default: 16)");
  add("--schedules", texts.schedules, "N",
      "Run each seed N times, each with other random\n"
      "faults beside those of the file (1 to 100)");
}

duration search_time(const std::string& text) {
  auto out = parse_duration(text);
  if (!out || *out > std::chrono::hours(1000) || *out <= duration::zero())
    throw CLI::ValidationError{
      "--time", fmt::format("{} is not a time up to 1000h, such as 5min",
                            detail::quoted(text))};
  return *out;
}

} // namespace

void add_tune(CLI::App& app, tune_texts& texts) {
  auto& args = texts.args;
  auto tune = app.add_subcommand("tune",
                                 "Look for the best settings of a scenario");
  tune->add_option("FILE", args.file, "Scenario file (TOML)")
    ->required()
    ->check(not_empty());
  auto add = [&](const std::string& name, std::string& into,
                 const std::string& type, const std::string& what) {
    tune->add_option(name, into, what)->type_name(type)->check(not_empty());
  };
  add("--arm", args.arm, "NAME", "Tune this arm; needed if there are several");
  add_goals(*tune, args);
  add_sizes(*tune, texts);
  add_fault_bounds(*tune, texts.faults);
  add("--jobs", texts.jobs, "N",
      "Execute N runs at a time, each on a core (1 to 256;\n"
      "default: the number of cores)");
  add("--state", args.state, "DIR",
      "Keep results here (default: beside the first output)");
  add("--json", args.outputs.json, "FILE", "Write all results; - is stdout");
  add("--csv", args.outputs.csv, "FILE",
      "Write a row per candidate; - is stdout");
  tune->add_flag("--quiet", args.quiet, "Print no text");
  tune->add_flag("--no-progress", args.no_progress, "Draw no progress bar");
  tune->footer(tune_footer);
}

tune_arguments tune_arguments_of(const tune_texts& t) {
  auto out = t.args;
  auto read = [](const char* option, const std::string& text, std::int64_t lo,
                 std::int64_t hi) -> std::optional<std::uint32_t> {
    if (text.empty())
      return std::nullopt;
    return static_cast<std::uint32_t>(number_in(option, text, lo, hi));
  };
  out.budget = read("--budget", t.budget, 1, most_tune_runs);
  out.seeds = read("--seeds", t.seeds, 1, most_tune_seeds);
  out.unseen = read("--unseen", t.unseen, 0, most_tune_seeds);
  out.jobs = read("--jobs", t.jobs, 1, 256);
  out.schedules = read("--schedules", t.schedules, 1, 100).value_or(0);
  if (!t.seed.empty())
    out.seed = number_in<std::uint64_t>(
      "--seed", t.seed, 0, std::numeric_limits<std::uint64_t>::max());
  if (!t.time.empty())
    out.time = search_time(t.time);
  if (!t.time.empty() && !t.budget.empty())
    throw CLI::ValidationError{"--time", "cannot be combined with --budget"};
  if (out.schedules == 0 && t.faults.any())
    throw CLI::ValidationError{"--schedules",
                               "is missing: random fault options require it"};
  out.bounds = fault_bounds_of(t.faults);
  return out;
}

} // namespace caisson::sim
