#include <sim/command/cli.hpp>

#include <sim/command/check_command.hpp>
#include <sim/command/output_file.hpp>
#include <sim/command/run_command.hpp>

#include <caisson/detail/settings_text.hpp>
#include <caisson/settings.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <ostream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace caisson::sim {

namespace {

constexpr auto about =
  R"(Caisson's simulator: plays load and faults on a graph of services in
virtual time, with different resilience policies side by side.
)";

constexpr auto main_footer = R"(Examples:
  caisson check demos/scenarios/boutique.toml
  caisson run demos/scenarios/boutique.toml

The format of scenario files is described in docs/simulator.md.

Exit status: 0 all is well, 1 an expectation failed, 2 bad input or usage or
output that cannot be written, 3 an internal error, 130 interrupted.)";

constexpr auto run_footer = R"(Examples:
  caisson run boutique.toml
  caisson run boutique.toml --arm naive --arm caisson --json result.json
  caisson run boutique.toml --html report.html
  caisson run boutique.toml --seeds 20 --quiet

The same file and seed give the same results, byte for byte, on any number of
cores, except for those below "-- speed". docs/simulator-output.md describes the
formats of --json, --csv and --html. Ctrl-C ends a run and shows what was done
so far.

Exit status: 0 all is well, 1 an expectation failed, 2 the input is wrong or
output cannot be written, 130 interrupted.)";

constexpr auto check_footer = R"(Example:
  caisson check demos/scenarios/*.toml

Exit status: 0 all files are fine, 2 one is not.)";

// Such a value is what a script gives whose variable is not set.
CLI::Validator not_empty() {
  return {[](std::string& text) {
            return text.empty() ? std::string{"the value is empty"}
                                : std::string{};
          },
          {}};
}

// Numbers are read by ourselves: CLI11 takes -1 for a large one and 010 for 8.
struct number_texts {
  std::string seed;
  std::string seeds;
  std::string jobs;
};

void add_numbers(CLI::App& run, number_texts& texts) {
  run.add_option("--seed", texts.seed, "Seed, instead of that of the file")
    ->type_name("N")
    ->check(not_empty());
  run
    .add_option("--seeds", texts.seeds,
                "Play so many seeds, from the first one on, and show the\n"
                "share of runs per verdict (1 to 100000)")
    ->type_name("N")
    ->check(not_empty());
  run
    .add_option("--jobs", texts.jobs,
                "Play so many arms at a time, each on a core (1 to 256;\n"
                "default: as many as there are cores); one with --log")
    ->type_name("N")
    ->check(not_empty());
}

void add_run(CLI::App& app, run_arguments& args, number_texts& texts) {
  auto run = app.add_subcommand("run", "Play a scenario and show what happens");
  run->add_option("FILE", args.file, "Scenario file (TOML)")
    ->required()
    ->check(not_empty());
  run->add_option("--arm", args.arms, "Play only this arm; may be repeated")
    ->type_name("NAME")
    ->take_all()
    ->allow_extra_args(false)
    ->check(not_empty());
  add_numbers(*run, texts);
  auto add_output = [&](const std::string& name, std::string& path,
                        const std::string& what) {
    run->add_option(name, path, what)->type_name("FILE")->check(not_empty());
  };
  add_output("--json", args.json, "Write all results; - is stdout");
  add_output("--csv", args.csv, "Write a row per second; - is stdout");
  add_output("--html", args.html,
             "Write a page to look at in a browser: graph,\ncharts, sample "
             "requests; - is stdout");
  add_output("--log", args.log, "Write the event log; - is stdout");
  run->add_flag("--quiet", args.quiet,
                "Print only verdicts and expectations that failed");
  run->add_flag("--no-progress", args.no_progress, "Draw no progress bar");
  run->add_flag("--no-speed", args.no_speed,
                "Leave out what differs from run to run");
  run->add_flag("--ascii", args.ascii, "Draw with ASCII characters only");
  run->footer(run_footer);
}

void add_check(CLI::App& app, std::vector<std::string>& files) {
  auto check = app.add_subcommand("check",
                                  "Say what is wrong with scenario files");
  check->add_option("FILE", files, "Scenario files (TOML)")
    ->required()
    ->check(not_empty());
  check->footer(check_footer);
}

template <class T>
T number(const std::string& option, const std::string& text, T lo, T hi) {
  T x{};
  if (detail::read_number(text, x) != detail::reading::good || x < lo || x > hi)
    throw CLI::ValidationError{option,
                               fmt::format("{} is not an integer from {} to {}",
                                           detail::quoted(text), lo, hi)};
  return x;
}

void read_numbers(const number_texts& texts, run_arguments& args) {
  if (!texts.seeds.empty())
    args.seeds = number<std::uint32_t>("--seeds", texts.seeds, 1, 100'000);
  if (!texts.jobs.empty())
    args.jobs = number<std::uint32_t>("--jobs", texts.jobs, 1, 256);
  // So that the last seed is a number, too.
  auto most = std::numeric_limits<std::uint64_t>::max() - (args.seeds - 1);
  if (!texts.seed.empty())
    args.seed = number<std::uint64_t>("--seed", texts.seed, 0, most);
}

bool same_file(const std::string& a, const std::string& b) {
  // Absolute, as of a file that does not exist `x` would stay another than
  // `./x`.
  namespace fs = std::filesystem;
  auto full = [](const std::string& path) {
    // What has no place in the file system, such as a pipe, is only itself.
    std::error_code ignored;
    auto found = fs::weakly_canonical(fs::absolute(path), ignored);
    return ignored ? fs::path{path} : found;
  };
  return full(a) == full(b);
}

// No output may overwrite another one or the scenario.
void check_outputs(const run_arguments& args) {
  std::vector<std::pair<std::string, std::string>> taken{{"FILE", args.file}};
  for (auto& [name, path] :
       {std::pair{"--json", args.json}, std::pair{"--csv", args.csv},
        std::pair{"--html", args.html}, std::pair{"--log", args.log}}) {
    if (path.empty())
      continue;
    for (const auto& [other, other_path] : taken)
      if (same_file(path, other_path))
        throw CLI::ValidationError{
          name, fmt::format("{} is the same file as that of {}", path, other)};
    taken.emplace_back(name, path);
  }
}

// CLI11 would only say that one is required.
void check_subcommand(int argc, const char* const* argv) {
  static constexpr std::string_view known[] = {"run", "check"};
  auto first = std::string_view{argc > 1 ? argv[1] : "-"};
  if (!first.starts_with('-')
      && std::ranges::find(known, first) == std::end(known))
    throw CLI::ValidationError{
      "caisson", detail::not_one_of(detail::quoted(first), known)};
}

status parse_and_do(int argc, const char* const* argv, std::ostream& out,
                    std::ostream& err, const command_parts& parts) {
  CLI::App app{about, "caisson"};
  app.footer(main_footer);
  app.set_version_flag("--version", "caisson " + parts.version);
  app.require_subcommand(1);
  run_arguments args;
  std::vector<std::string> files;
  number_texts texts;
  add_run(app, args, texts);
  add_check(app, files);
  try {
    check_subcommand(argc, argv);
    app.parse(argc, argv);
    if (app.got_subcommand("run")) {
      read_numbers(texts, args);
      check_outputs(args);
    }
  } catch (const CLI::ParseError& e) {
    return app.exit(e, out, err) == 0 ? status::good : status::bad_input;
  }
  if (app.got_subcommand("check"))
    return check_command(files, out, err, parts);
  return run_command(args, out, err, parts);
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

} // namespace

int command_main(int argc, const char* const* argv, std::ostream& out,
                 std::ostream& err, const command_parts& parts) {
  auto result = guarded(argc, argv, out, err, parts);
  if (auto error = flush_error(out)) {
    err << "standard output: " << cannot_be_written(*error) << '\n';
    if (result != status::internal_error)
      result = status::bad_input;
  }
  return static_cast<int>(result);
}

} // namespace caisson::sim
