#include <simulator/command/cli.hpp>

#include <simulator/command/check_command.hpp>
#include <simulator/command/cli_explore.hpp>
#include <simulator/command/cli_import.hpp>
#include <simulator/command/cli_parts.hpp>
#include <simulator/command/cli_sweep.hpp>
#include <simulator/command/cli_tune.hpp>
#include <simulator/command/cli_worker.hpp>
#include <simulator/command/run_command.hpp>
#include <simulator/play/output_file.hpp>
#include <simulator/scenario/row_step.hpp>

#include <caisson/settings.hpp>
#include <caisson/settings/settings_text.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

namespace {

constexpr auto about =
  R"(Caisson's simulator: runs load and faults on a graph of services in
virtual time, with different resilience policies side by side. `caisson ctl` and
`caisson top` are for running programs.
)";

constexpr auto main_footer = R"(Examples:
  caisson check demos/scenarios/boutique.toml
  caisson run demos/scenarios/boutique.toml
  caisson sweep demos/scenarios/sizing.toml
  caisson worker --listen 127.0.0.1:4001
  caisson explore demos/scenarios/payment.toml
  caisson tune demos/scenarios/sizing.toml --help
  caisson import traces.json --out shop.toml
  caisson ctl --help
  caisson top

docs/simulator.md is a tutorial, docs/scenario-format.md describes the files.

Exit status: 0 success, 1 an expectation or a check of a run failed, 2 bad
input or usage or output that cannot be written, 3 an internal error, 130
interrupted.)";

constexpr auto run_footer = R"(Examples:
  caisson run boutique.toml
  caisson run boutique.toml --arm naive --arm caisson --json result.json
  caisson run boutique.toml --html report.html
  caisson run boutique.toml --seeds 20 --quiet
  caisson run boutique.toml --trace trace.json --trace-from 40s --trace-to 42s

The same file and seed give the same results, byte for byte, on any number of
cores, except for those below "-- speed". docs/simulator-output.md describes the
formats of --json, --csv, --html, --trace and --spans. Ctrl-C ends a run and
shows what was done so far.

Exit status: 0 success, 1 an expectation or a check of a run failed, 2 the
input is wrong or output cannot be written, 3 an internal error, 130
interrupted.)";

constexpr auto check_footer = R"(Example:
  caisson check demos/scenarios/*.toml

Exit status: 0 all files are fine, 2 one is not, 3 an internal error.)";

// Those of `command_parts::ctl`, with options of their own.
struct other_command {
  const char* name;
  const char* what;
};

constexpr other_command other_commands[] = {
  {"ctl", "Look at the gates of a running program, and control them"},
  {"top", "Show the gates of a running program, live"}};

bool is_other_command(std::string_view name) {
  return std::ranges::find(other_commands, name, &other_command::name)
         != std::end(other_commands);
}

// Numbers and times are parsed here: CLI11 takes -1 for a large number
// and 010 for 8.
struct number_texts {
  std::string seed;
  std::string seeds;
  std::string jobs;
  std::string rows;
  std::string trace_from;
  std::string trace_to;
};

void add_numbers(CLI::App& run, number_texts& texts) {
  run.add_option("--seed", texts.seed, "Seed, instead of that of the file")
    ->type_name("N")
    ->check(not_empty());
  run
    .add_option("--seeds", texts.seeds,
                "Run N seeds, from the first one on, and show the\n"
                "share of runs per verdict (1 to 100000)")
    ->type_name("N")
    ->check(not_empty());
  run
    .add_option("--jobs", texts.jobs,
                "Run N arms at a time, each on a core (1 to 256;\n"
                "default: the number of cores); one with --log")
    ->type_name("N")
    ->check(not_empty());
  run
    .add_option("--rows", texts.rows,
                "Length of a row of results, such as 1min (default:\n"
                "that of the file, or 1s, and more for long runs)")
    ->type_name("TIME")
    ->check(not_empty());
}

void add_trace_times(CLI::App& run, number_texts& texts) {
  run
    .add_option("--trace-from", texts.trace_from,
                "Trace requests that begin from here on, such as 10s\n"
                "(default: 200 ms before the first fault, or the end\n"
                "of the warm-up)")
    ->type_name("TIME")
    ->check(not_empty());
  run
    .add_option("--trace-to", texts.trace_to,
                "Trace requests that begin before this (default: one\n"
                "second later)")
    ->type_name("TIME")
    ->check(not_empty());
}

void add_run(CLI::App& app, run_arguments& args, number_texts& texts) {
  auto run = app.add_subcommand("run", "Run a scenario and show what happens");
  run->add_option("FILE", args.file, "Scenario file (TOML)")
    ->required()
    ->check(not_empty());
  add_arm_option(*run, args);
  add_numbers(*run, texts);
  auto add_output = [&](const std::string& name, std::string& path,
                        const std::string& what) {
    run->add_option(name, path, what)->type_name("FILE")->check(not_empty());
  };
  add_output("--json", args.json, "Write all results; - is stdout");
  run->add_flag("--no-rows", args.no_rows, "Leave the rows out of --json");
  add_output("--csv", args.csv, "Write the rows as CSV; - is stdout");
  add_output("--html", args.html,
             "Write a page to look at in a browser: graph,\ncharts, sample "
             "requests; - is stdout");
  add_output("--log", args.log, "Write the event log; - is stdout");
  add_output("--trace", args.trace,
             "Write a trace of the first seed for a viewer such\nas "
             "ui.perfetto.dev; - is stdout");
  add_output("--spans", args.spans,
             "Write the same requests as spans of OpenTelemetry\n(OTLP's JSON "
             "form); - is stdout");
  add_trace_times(*run, texts);
  run->add_flag("--verify", args.verify,
                "Continue until the world is quiescent, and check that\n"
                "nothing is held then and that counts add up");
  run->add_flag("--quiet", args.quiet,
                "Print only verdicts and expectations that failed");
  run->add_flag("--brief", args.brief,
                "Omit what only helps to check the simulator: digests,\n"
                "Little's law and speed");
  run->add_flag("--no-progress", args.no_progress, "Draw no progress bar");
  run->add_flag("--no-speed", args.no_speed,
                "Omit what differs from run to run, such as timing");
  run->add_flag("--ascii", args.ascii, "Draw with ASCII characters only");
  run->footer(run_footer);
}

void add_check(CLI::App& app, std::vector<std::string>& files) {
  auto check = app.add_subcommand("check", "Validate scenario files");
  check->add_option("FILE", files, "Scenario files (TOML)")
    ->required()
    ->check(not_empty());
  check->footer(check_footer);
}

std::optional<duration> time_in(const std::string& option,
                                const std::string& text,
                                const run_arguments& args) {
  if (text.empty())
    return std::nullopt;
  if (args.trace.empty() && args.spans.empty())
    throw CLI::ValidationError{option, "requires --trace or --spans"};
  auto out = parse_duration(text);
  if (!out || *out == unlimited)
    throw CLI::ValidationError{
      option, fmt::format("{} is not a time such as 10s or 1.5s",
                          detail::quoted(text))};
  return out;
}

void read_rows(const number_texts& texts, run_arguments& args) {
  if (args.no_rows && args.json.empty())
    throw CLI::ValidationError{"--no-rows", "requires --json"};
  if (texts.rows.empty())
    return;
  args.step = read_step(texts.rows);
  if (!args.step)
    throw CLI::ValidationError{
      "--rows", fmt::format("{} is not a time such as 10s or 1min, allowed: {}",
                            detail::quoted(texts.rows), allowed_steps)};
}

void read_numbers(const number_texts& texts, run_arguments& args) {
  if (!texts.seeds.empty())
    args.seeds = number_in<std::uint32_t>("--seeds", texts.seeds, 1, 100'000);
  if (!texts.jobs.empty())
    args.jobs = number_in<std::uint32_t>("--jobs", texts.jobs, 1, 256);
  read_rows(texts, args);
  args.trace_from = time_in("--trace-from", texts.trace_from, args);
  args.trace_to = time_in("--trace-to", texts.trace_to, args);
  // So that the last seed is a number, too.
  auto most = std::numeric_limits<std::uint64_t>::max() - (args.seeds - 1);
  if (!texts.seed.empty())
    args.seed = number_in<std::uint64_t>("--seed", texts.seed, 0, most);
}

using action = std::function<status(std::ostream&, std::ostream&,
                                    const command_parts&)>;

// One that was added to the command line. Once that was parsed, it reads its
// options and says what to do.
struct subcommand {
  std::string name;
  std::function<action()> read;
};

subcommand run_in(CLI::App& app) {
  auto args = std::make_shared<run_arguments>();
  auto texts = std::make_shared<number_texts>();
  add_run(app, *args, *texts);
  return {"run", [args, texts] {
            read_numbers(*texts, *args);
            check_outputs(args->file, {{"--json", args->json},
                                       {"--csv", args->csv},
                                       {"--html", args->html},
                                       {"--log", args->log},
                                       {"--trace", args->trace},
                                       {"--spans", args->spans}});
            return std::bind_front(run_command, *args);
          }};
}

subcommand check_in(CLI::App& app) {
  auto files = std::make_shared<std::vector<std::string>>();
  add_check(app, *files);
  return {"check", [files] { return std::bind_front(check_command, *files); }};
}

subcommand sweep_in(CLI::App& app) {
  auto texts = std::make_shared<sweep_texts>();
  add_sweep(app, *texts);
  return {"sweep", [texts] {
            auto args = sweep_arguments_of(*texts);
            check_outputs(args.file, {{"--json", args.json},
                                      {"--csv", args.csv},
                                      {"--html", args.html},
                                      {"--state", args.state}});
            return std::bind_front(sweep_command, args);
          }};
}

subcommand worker_in(CLI::App& app) {
  auto texts = std::make_shared<worker_texts>();
  add_worker(app, *texts);
  return {"worker", [texts] {
            return std::bind_front(worker_command, worker_arguments_of(*texts));
          }};
}

subcommand explore_in(CLI::App& app) {
  auto texts = std::make_shared<explore_texts>();
  add_explore(app, *texts);
  return {"explore", [texts] {
            auto args = explore_arguments_of(*texts);
            std::vector<named_path> outputs{{"--json", args.json},
                                            {"--out", args.directory}};
            for (std::uint32_t i = 1; !args.map && i <= args.most_findings; ++i)
              outputs.emplace_back("--out", finding_path(args, i));
            check_outputs(args.file, outputs);
            return std::bind_front(explore_command, args);
          }};
}

subcommand tune_in(CLI::App& app) {
  auto texts = std::make_shared<tune_texts>();
  add_tune(app, *texts);
  return {"tune", [texts] {
            auto args = tune_arguments_of(*texts);
            check_outputs(args.file, {{"--json", args.outputs.json},
                                      {"--csv", args.outputs.csv},
                                      {"--state", args.state}});
            return std::bind_front(tune_command, args);
          }};
}

subcommand import_in(CLI::App& app) {
  auto texts = std::make_shared<import_texts>();
  add_import(app, *texts);
  return {"import", [texts] {
            auto args = import_arguments_of(*texts);
            for (const auto& file : args.files)
              check_outputs(file, {{"--out", args.out}});
            return std::bind_front(import_command, args);
          }};
}

// CLI11 would only say that one is required.
void check_subcommand(int argc, const char* const* argv,
                      const std::vector<subcommand>& all) {
  auto first = std::string_view{argc > 1 ? argv[1] : "-"};
  if (first.starts_with('-') || is_other_command(first)
      || std::ranges::find(all, first, &subcommand::name) != all.end())
    return;
  std::vector<std::string_view> known;
  known.reserve(all.size() + std::size(other_commands));
  for (const auto& x : all)
    known.push_back(x.name);
  for (const auto& x : other_commands)
    known.emplace_back(x.name);
  throw CLI::ValidationError{"caisson",
                             detail::not_one_of(detail::quoted(first), known)};
}

status parse_and_do(int argc, const char* const* argv, std::ostream& out,
                    std::ostream& err, const command_parts& parts) {
  CLI::App app{about, "caisson"};
  app.footer(main_footer);
  app.set_version_flag("--version", "caisson " + parts.version);
  app.require_subcommand(1);
  const std::vector<subcommand> all{
    run_in(app),     check_in(app), sweep_in(app), worker_in(app),
    explore_in(app), tune_in(app),  import_in(app)};
  for (const auto& x : other_commands)
    app.add_subcommand(x.name, x.what);
  action chosen;
  try {
    check_subcommand(argc, argv, all);
    app.parse(argc, argv);
    for (const auto& x : all)
      if (app.got_subcommand(x.name))
        chosen = x.read();
  } catch (const CLI::ParseError& e) {
    return app.exit(e, out, err) == 0 ? status::good : status::bad_input;
  }
  return chosen(out, err, parts);
}

status guarded(int argc, const char* const* argv, std::ostream& out,
               std::ostream& err, const command_parts& parts) {
  try {
    return parse_and_do(argc, argv, out, err, parts);
  } catch (const config_error& e) {
    err << e.what() << '\n';
    return status::bad_input;
  } catch (const std::runtime_error& e) {
    err << "caisson: " << detail::printable(e.what()) << '\n';
    return status::bad_input;
  } catch (const std::exception& e) {
    err << "caisson: internal error: " << detail::printable(e.what()) << '\n';
  } catch (...) {
    err << "caisson: internal error\n";
  }
  return status::internal_error;
}

status ctl(int argc, const char* const* argv, std::ostream& out,
           std::ostream& err, const command_parts& parts) {
  if (parts.ctl)
    return static_cast<status>(parts.ctl(argc, argv, out, err));
  err << "caisson: " << argv[0]
      << " is not part of this build: it needs caisson::control "
         "(CAISSON_BUILD_CONTROL)\n";
  return status::bad_input;
}

} // namespace

int command_main(int argc, const char* const* argv, std::ostream& out,
                 std::ostream& err, const command_parts& parts) {
  auto is_other = argc > 1 && is_other_command(argv[1]);
  // Or what is written last would end the process.
  if (parts.catch_signals && !is_other)
    signal(SIGPIPE, SIG_IGN);
  auto result = is_other ? ctl(argc - 1, argv + 1, out, err, parts)
                         : guarded(argc, argv, out, err, parts);
  if (auto error = flush_error(out)) {
    if (*error == EPIPE && result != status::internal_error)
      return static_cast<int>(status::interrupted);
    err << "standard output: " << cannot_be_written(*error) << '\n';
    if (result != status::internal_error)
      result = status::bad_input;
  }
  return static_cast<int>(result);
}

} // namespace caisson::sim
