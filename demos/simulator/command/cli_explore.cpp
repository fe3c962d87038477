#include <simulator/command/cli_explore.hpp>

#include <simulator/command/cli_parts.hpp>

#include <cstdint>
#include <limits>
#include <utility>

namespace caisson::sim {

namespace {

constexpr auto explore_footer = R"(Examples:
  caisson explore shop.toml
  caisson explore shop.toml --runs 1000 --faults 5 --recovery
  caisson explore shop.toml --kind crash,partition --target db --longest 10s
  caisson explore shop.toml --map

Each run has faults of its own, drawn at random, and a seed of its own. It is
checked that every request ends once, that counts add up, that nothing is held
when all is over, and what [expect] says. What breaks a rule is made smaller and
written as a scenario that repeats it. The same options give the same findings,
on any number of cores. docs/simulator-commands.md has more.

Exit status: 0 nothing was found, 1 something was, 2 the input is wrong or
output cannot be written, 3 an internal error, 130 interrupted.)";

// The map has its own faults, no random ones, and finds nothing.
void refuse_with_map(const explore_texts& t) {
  const std::pair<const char*, bool> useless[] = {
    {"--runs", !t.runs.empty()},     {"--faults", !t.faults.most.empty()},
    {"--recovery", t.args.recovery}, {"--findings", !t.findings.empty()},
    {"--shrink", !t.shrink.empty()}, {"--out", !t.args.directory.empty()},
  };
  for (const auto& [option, is_set] : useless)
    if (is_set)
      throw CLI::ValidationError{option, "cannot be combined with --map"};
}

} // namespace

void add_explore(CLI::App& app, explore_texts& texts) {
  auto& args = texts.args;
  auto to = app.add_subcommand(
    "explore", "Look for faults that a scenario does not survive");
  to->add_option("FILE", args.file, "Scenario file (TOML)")
    ->required()
    ->check(not_empty());
  add_arm_option(*to, args);
  auto add = [&](const std::string& name, std::string& into,
                 const std::string& type, const std::string& what) {
    to->add_option(name, into, what)->type_name(type)->check(not_empty());
  };
  add("--runs", texts.runs, "N",
      "Execute N runs of each arm (1 to 1000000; default: 100)");
  add("--seed", texts.seed, "N", "First seed, instead of that of the file");
  add("--jobs", texts.jobs, "N",
      "Execute N runs at a time, each on a core (1 to 256;\n"
      "default: the number of cores)");
  add_fault_bounds(*to, texts.faults);
  to->add_flag("--recovery", args.recovery,
               "A run that does not recover is a finding, too");
  to->add_flag("--map", args.map,
               "Show the longest fault of each kind that each service\n"
               "survives, instead of random faults");
  add("--findings", texts.findings, "N",
      "End after N findings (1 to 100; default: 5)");
  add("--shrink", texts.shrink, "N",
      "Execute at most N runs to make a finding smaller\n"
      "(0 to 10000; default: 200)");
  add("--out", args.directory, "DIR",
      "Write scenarios of findings here (default: NAME.found)");
  add("--json", args.json, "FILE", "Write all results; - is stdout");
  to->add_flag("--no-progress", args.no_progress, "Draw no progress bar");
  to->footer(explore_footer);
}

explore_arguments explore_arguments_of(const explore_texts& t) {
  auto out = t.args;
  if (out.map)
    refuse_with_map(t);
  out.bounds = fault_bounds_of(t.faults);
  if (!t.runs.empty())
    out.runs = number_in<std::uint32_t>("--runs", t.runs, 1, 1'000'000);
  if (!t.jobs.empty())
    out.jobs = number_in<std::uint32_t>("--jobs", t.jobs, 1, 256);
  if (!t.findings.empty())
    out.most_findings = number_in<std::uint32_t>("--findings", t.findings, 1,
                                                 100);
  if (!t.shrink.empty())
    out.shrink_runs = number_in<std::uint32_t>("--shrink", t.shrink, 0, 10'000);
  if (!t.seed.empty())
    out.seed = number_in<std::uint64_t>(
      "--seed", t.seed, 0, std::numeric_limits<std::int64_t>::max());
  return out;
}

} // namespace caisson::sim
