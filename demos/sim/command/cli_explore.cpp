#include <sim/command/cli_explore.hpp>

#include <sim/command/cli_parts.hpp>
#include <sim/scenario/faults.hpp>

#include <caisson/settings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

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
on any number of cores. docs/simulator.md has more.

Exit status: 0 nothing was found, 1 something was, 2 the input is wrong or
output cannot be written, 130 interrupted.)";

constexpr std::array every_kind{
  fault_kind::slow,      fault_kind::errors,   fault_kind::stall,
  fault_kind::crash,     fault_kind::capacity, fault_kind::flush,
  fault_kind::partition, fault_kind::loss,     fault_kind::delay};

void add_bounds(CLI::App& to, explore_texts& texts) {
  auto add = [&](const std::string& name, auto& into, const std::string& type,
                 const std::string& what) {
    return to.add_option(name, into, what)->type_name(type)->check(not_empty());
  };
  add("--faults", texts.faults, "N",
      "So many faults in a run, at most (1 to 20; default: 3)");
  add("--kind", texts.kinds, "NAMES",
      "Only these kinds, such as crash,slow (default: all)")
    ->take_all()
    ->allow_extra_args(false);
  add("--target", texts.targets, "NAMES",
      "Only faults of these services and replicas, and of\n"
      "messages from or to them or these loads")
    ->take_all()
    ->allow_extra_args(false);
  add("--from", texts.from, "TIME",
      "No fault before this (default: a tenth of the length)");
  add("--to", texts.to, "TIME",
      "and none after this (default: three quarters of it)");
  add("--longest", texts.longest, "TIME",
      "No fault longer than this (default: half of that)");
  add("--factor", texts.factor, "X",
      "slow: at most this factor (1.5 to 1000000; default: 20)");
  add("--rate", texts.rate, "X",
      "errors, loss: at most this share (0.01 to 1; default: 1)");
  add("--delay", texts.delay, "TIME",
      "delay: at most this (1ms to 100h; default: 1s)");
}

std::vector<std::string> names_in(const std::string& option,
                                  const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (std::string_view rest : texts)
    for (;;) {
      auto comma = rest.find(',');
      auto name = detail::trimmed(rest.substr(0, comma));
      if (name.empty())
        throw CLI::ValidationError{option, "a name is empty"};
      out.emplace_back(name);
      if (comma == rest.npos)
        break;
      rest.remove_prefix(comma + 1);
    }
  return out;
}

std::vector<fault_kind> kinds_named(const std::vector<std::string>& texts) {
  std::vector<std::string_view> known;
  known.reserve(std::size(every_kind));
  for (auto kind : every_kind)
    known.push_back(fault_name(kind));
  std::vector<fault_kind> out;
  for (const auto& name : names_in("--kind", texts)) {
    auto found = std::ranges::find(known, name);
    if (found == known.end())
      throw CLI::ValidationError{
        "--kind", detail::not_one_of(detail::quoted(name), known)};
    out.push_back(every_kind[static_cast<std::size_t>(found - known.begin())]);
  }
  return out;
}

duration explore_time(const std::string& option, const std::string& text,
                      duration lo) {
  auto out = parse_duration(text);
  if (!out || *out < lo || *out > std::chrono::hours(100))
    throw CLI::ValidationError{
      option, fmt::format("{} is not a time from {} to 100h, such as 10s",
                          detail::quoted(text), to_text(lo))};
  return *out;
}

fault_bounds bounds_of(const explore_texts& t) {
  using namespace std::chrono_literals;
  fault_bounds out;
  if (!t.faults.empty())
    out.most = number_in<std::uint32_t>("--faults", t.faults, 1, 20);
  out.kinds = kinds_named(t.kinds);
  out.targets = names_in("--target", t.targets);
  if (!t.from.empty())
    out.from = explore_time("--from", t.from, 0s);
  if (!t.to.empty())
    out.to = explore_time("--to", t.to, 1ms);
  if (!t.longest.empty())
    out.longest = explore_time("--longest", t.longest, 1us);
  if (!t.factor.empty())
    out.factor = number_in<double>("--factor", t.factor, 1.5, 1e6);
  if (!t.rate.empty())
    out.rate = number_in<double>("--rate", t.rate, 0.01, 1);
  if (!t.delay.empty())
    out.delay = explore_time("--delay", t.delay, 1ms);
  return out;
}

} // namespace

void add_explore(CLI::App& app, explore_texts& texts) {
  auto& args = texts.args;
  auto to = app.add_subcommand(
    "explore", "Look for faults that a scenario does not stand");
  to->add_option("FILE", args.file, "Scenario file (TOML)")
    ->required()
    ->check(not_empty());
  add_arm_option(*to, args);
  auto add = [&](const std::string& name, std::string& into,
                 const std::string& type, const std::string& what) {
    to->add_option(name, into, what)->type_name(type)->check(not_empty());
  };
  add("--runs", texts.runs, "N",
      "Play so many runs of each arm (1 to 1000000; default: 100)");
  add("--seed", texts.seed, "N", "First seed, instead of that of the file");
  add("--jobs", texts.jobs, "N",
      "Play so many runs at a time, each on a core (1 to 256;\n"
      "default: as many as there are cores)");
  add_bounds(*to, texts);
  to->add_flag("--recovery", args.recovery,
               "A run that does not recover is a finding, too");
  to->add_flag("--map", args.map,
               "Show the longest fault of each kind that each service\n"
               "survives, instead of random faults");
  add("--findings", texts.findings, "N",
      "End after so many findings (1 to 100; default: 5)");
  add("--shrink", texts.shrink, "N",
      "Play so many runs, at most, to make a finding smaller\n"
      "(0 to 10000; default: 200)");
  add("--out", args.directory, "DIR",
      "Write scenarios of findings here (default: NAME.found)");
  add("--json", args.json, "FILE", "Write all results; - is stdout");
  to->add_flag("--no-progress", args.no_progress, "Draw no progress bar");
  to->footer(explore_footer);
}

explore_arguments explore_arguments_of(const explore_texts& t) {
  auto out = t.args;
  out.bounds = bounds_of(t);
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
