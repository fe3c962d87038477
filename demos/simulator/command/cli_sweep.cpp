#include <simulator/command/cli_sweep.hpp>

#include <simulator/command/cli_parts.hpp>
#include <simulator/command/cli_remote.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace caisson::sim {

namespace {

using namespace std::chrono_literals;

constexpr auto sweep_footer = R"(Examples:
  caisson sweep shop.toml --set service.db.workers=5..20/5
  caisson sweep shop.toml --set service.db.workers=4,8,16 \
    --set load.users.rate=100..500/100 --seeds 5 --html sweep.html
  caisson sweep shop.toml --set service.db.order=fifo,lifo --metric good,p99
  caisson sweep shop.toml --worker 127.0.0.1:4001 --worker 127.0.0.1:4002

A path names a setting of the file, such as service.db.workers, fault[0].factor
or arm.guarded.stack.few.layer[0].permits. Values are a list, or ranges with a
step. Several --set make a grid. A table [sweep] in the file can say the same.

What has been run is kept in the directory of --state, or else beside the
first output file, and is not run again: Ctrl-C loses nothing. Results are
the same, byte for byte, on any number of cores and workers.
docs/simulator-commands.md has more.

Exit status: 0 success, 1 a check of a run failed, 2 the input is wrong or
output cannot be written or no worker is left, 3 an internal error, 130
interrupted.)";

void add_lists(CLI::App& sweep, sweep_arguments& args) {
  sweep
    .add_option("--set", args.sets,
                "Run with these values of a setting, such as\n"
                "service.db.workers=5..20/5; may be repeated")
    ->type_name("PATH=VALUES")
    ->take_all()
    ->allow_extra_args(false)
    ->check(not_empty());
  sweep
    .add_option("--metric", args.metrics,
                "Show these numbers, such as goodput,p99; names as in\n"
                "[expect] (default: success,goodput,p99)")
    ->type_name("NAMES")
    ->take_all()
    ->allow_extra_args(false)
    ->check(not_empty());
}

void add_remote_options(CLI::App& sweep, sweep_texts& texts) {
  sweep
    .add_option("--worker", texts.workers,
                "Also use the `caisson worker` there; may be repeated")
    ->type_name("HOST:PORT")
    ->take_all()
    ->allow_extra_args(false)
    ->check(not_empty());
  sweep
    .add_option("--worker-timeout", texts.timeout,
                "A worker that is silent for this time is lost, and its\n"
                "runs are executed elsewhere (default: 10s)")
    ->type_name("TIME")
    ->check(not_empty());
  sweep
    .add_option("--worker-wait", texts.wait,
                "With --jobs 0: give up after this time without a\n"
                "connected worker (default: 1min)")
    ->type_name("TIME")
    ->check(not_empty());
  add_certificate_options(sweep, texts.args.remote_workers.certificates);
  sweep.add_flag("--insecure", texts.args.remote_workers.insecure,
                 "Connect to other machines without certificates");
}

std::vector<worker_address> workers_in(const std::vector<std::string>& texts) {
  std::vector<worker_address> out;
  for (const auto& text : texts) {
    out.push_back(address_in("--worker", text, 1));
    if (std::ranges::count(out, out.back()) > 1)
      throw CLI::ValidationError{
        "--worker", fmt::format("{} is given more than once", text)};
  }
  if (out.size() > 1000)
    throw CLI::ValidationError{"--worker", "more than 1000 are given"};
  return out;
}

void need_workers(const sweep_texts& texts) {
  if (!texts.workers.empty())
    return;
  auto refuse = [](const std::string& option) {
    throw CLI::ValidationError{option, "requires --worker"};
  };
  const auto& c = texts.args.remote_workers.certificates;
  if (!texts.timeout.empty())
    refuse("--worker-timeout");
  if (!texts.wait.empty())
    refuse("--worker-wait");
  if (!c.certificate.empty())
    refuse("--certificate");
  if (!c.key.empty())
    refuse("--key");
  if (!c.authority.empty())
    refuse("--ca");
  if (texts.args.remote_workers.insecure)
    refuse("--insecure");
}

} // namespace

void add_sweep(CLI::App& app, sweep_texts& texts) {
  auto& args = texts.args;
  auto sweep = app.add_subcommand(
    "sweep", "Run a scenario with many values of its settings");
  sweep->add_option("FILE", args.file, "Scenario file (TOML)")
    ->required()
    ->check(not_empty());
  add_lists(*sweep, args);
  add_arm_option(*sweep, args);
  auto add = [&](const std::string& name, std::string& into,
                 const std::string& type, const std::string& what) {
    sweep->add_option(name, into, what)->type_name(type)->check(not_empty());
  };
  add("--seed", texts.seed, "N", "First seed, instead of that of the file");
  add("--seeds", texts.seeds, "N", "Run everything with N seeds (1 to 100000)");
  add("--jobs", texts.jobs, "N",
      "Execute N runs at a time, each on a core (1 to 256;\n"
      "default: the number of cores); with --worker also 0");
  add("--state", args.state, "DIR",
      "Keep results here (default: beside the first output)");
  add("--json", args.json, "FILE", "Write all results; - is stdout");
  add("--csv", args.csv, "FILE", "Write a row per run; - is stdout");
  add("--html", args.html, "FILE",
      "Write a page with maps or lines; - is stdout");
  add_remote_options(*sweep, texts);
  sweep->add_flag("--quiet", args.quiet, "Print no table");
  sweep->add_flag("--no-progress", args.no_progress, "Draw no progress bar");
  sweep->footer(sweep_footer);
}

sweep_arguments sweep_arguments_of(const sweep_texts& texts) {
  auto out = texts.args;
  need_workers(texts);
  out.remote_workers.workers = workers_in(texts.workers);
  auto least_jobs = out.remote_workers.workers.empty() ? 1u : 0u;
  if (!texts.timeout.empty())
    out.remote_workers.timeout = duration_in("--worker-timeout", texts.timeout,
                                             3s, 1h);
  if (!texts.wait.empty())
    out.remote_workers.wait = duration_in("--worker-wait", texts.wait, 0s,
                                          1000h);
  if (!texts.seeds.empty())
    out.seeds = number_in<std::uint32_t>("--seeds", texts.seeds, 1, 100'000);
  if (!texts.jobs.empty())
    out.jobs = number_in<std::uint32_t>("--jobs", texts.jobs, least_jobs, 256);
  if (!texts.seed.empty())
    out.seed = number_in<std::uint64_t>(
      "--seed", texts.seed, 0, std::numeric_limits<std::uint64_t>::max());
  return out;
}

} // namespace caisson::sim
