#include <simulator/command/explore_command.hpp>

#include <simulator/command/check_command.hpp>
#include <simulator/explore/explorer.hpp>
#include <simulator/explore/survival_report.hpp>
#include <simulator/play/command_texts.hpp>
#include <simulator/play/interruption.hpp>
#include <simulator/play/output_file.hpp>
#include <simulator/play/progress.hpp>

#include <caisson/settings.hpp>
#include <caisson/settings/toml.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <limits>
#include <ostream>
#include <system_error>
#include <utility>

namespace caisson::sim {

namespace fs = std::filesystem;

namespace {

fs::path directory_of(const explore_arguments& args) {
  return args.directory.empty()
           ? fs::path{fs::path{args.file}.stem().string() + ".found"}
           : fs::path{args.directory};
}

std::string finding_in(const fs::path& directory, std::size_t i) {
  return (directory / fmt::format("{}.toml", i)).string();
}

// -- the plan -----------------------------------------------------------------

// The last seed must be one that a file can have.
void check_explore_seed(const explore_plan& p) {
  constexpr auto most = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (p.seed > most - p.runs)
    throw config_error{
      {{problem_kind::range,
        setting_path{} / "--seed",
        fmt::format("the seeds of {} runs from {} on exceed {}", p.runs, p.seed,
                    most),
        {}}}};
}

explore_plan explore_plan_of(const explore_arguments& args,
                             const command_parts& parts) {
  explore_plan p;
  p.file = args.file;
  p.base = fs::path{args.file}.parent_path();
  auto world = load_checked(args.file, parts);
  problems found;
  p.root = read_toml_file(args.file, found);
  if (!found.empty())
    throw config_error{std::move(found)};
  choose_arms(world, args.arms, args.file);
  p.title = world.title;
  p.arms = std::move(world.arms);
  p.bounds = args.bounds;
  p.seed = args.seed.value_or(world.seed);
  p.runs = args.runs;
  p.shrink_runs = args.shrink_runs;
  p.most_findings = args.most_findings;
  p.recovery = args.recovery;
  p.directory = directory_of(args);
  check_explore_seed(p);
  return p;
}

// -- files --------------------------------------------------------------------

// The directory of the findings: made before the first run, so that one that
// cannot be made costs no time, and removed if nothing was found.
class found_directory {
public:
  explicit found_directory(fs::path path) : path_(std::move(path)) {
    std::error_code failed;
    created_ = fs::create_directories(path_, failed);
    if (failed)
      throw config_error{{{problem_kind::syntax,
                           {},
                           cannot_be_written(failed.value()),
                           path_.string()}}};
  }

  ~found_directory() {
    std::error_code ignored;
    if (created_)
      fs::remove(path_, ignored); // Only if it is empty.
  }

  found_directory(const found_directory&) = delete;
  found_directory& operator=(const found_directory&) = delete;

  void write(const explore_plan& p, finding& f, std::ostream& out) {
    f.file = finding_in(path_, ++written_);
    output_file file{f.file, out};
    file.stream() << found_file(p, f);
    file.commit();
  }

private:
  fs::path path_;
  bool created_ = false;
  std::size_t written_ = 0;
};

class explore_output {
public:
  explore_output(const std::string& path, std::ostream& out, std::size_t width)
    : out_(out), width_(width), takes_stdout_(path == "-") {
    if (!path.empty())
      json_.emplace(path, out);
  }

  template <class Found>
  void write(const explore_plan& p, const Found& found,
             void (*text)(std::ostream&, const explore_plan&, const Found&,
                          std::size_t),
             void (*json)(std::ostream&, const explore_plan&, const Found&)) {
    if (!takes_stdout_)
      text(out_, p, found, width_);
    if (!json_)
      return;
    ends_at_once now{json_->is_direct()};
    json(json_->stream(), p, found);
    json_->commit();
  }

private:
  std::ostream& out_;
  std::size_t width_;
  bool takes_stdout_;
  std::optional<output_file> json_;
};

// -- what is asked for --------------------------------------------------------

status draw_map(const explore_plan& plan, explore_output& files,
                std::size_t jobs, progress_bar& bar,
                const command_parts& parts) {
  auto m = survival_prober{plan, bar, parts}.probe_all(jobs);
  files.write(plan, m, &write_survival, &write_survival_json);
  return m.interrupted ? status::interrupted : status::good;
}

status explore_faults(const explore_plan& plan, explore_output& files,
                      std::size_t jobs, std::ostream& out, progress_bar& bar,
                      const command_parts& parts) {
  found_directory directory{plan.directory};
  explorer all{plan, bar, parts,
               [&](finding& f) { directory.write(plan, f, out); }};
  auto x = all.explore(jobs);
  files.write(plan, x, &write_exploration, &write_exploration_json);
  if (x.interrupted)
    return status::interrupted;
  return x.findings.empty() ? status::good : status::failed;
}

} // namespace

std::string finding_path(const explore_arguments& args, std::size_t i) {
  return finding_in(directory_of(args), i);
}

status explore_command(const explore_arguments& args, std::ostream& out,
                       std::ostream& err, const command_parts& parts) {
  std::optional<signal_watch> watch;
  if (parts.catch_signals)
    watch.emplace();
  auto plan = explore_plan_of(args, parts);
  explore_output files{args.json, out, parts.out_columns()};
  auto jobs = args.jobs.value_or(parts.jobs);
  progress_bar bar{err, parts.terminal && !args.no_progress, parts.columns};
  auto result = args.map ? draw_map(plan, files, jobs, bar, parts)
                         : explore_faults(plan, files, jobs, out, bar, parts);
  if (result == status::interrupted)
    err << "caisson: interrupted: this is what was found so far\n";
  return result;
}

} // namespace caisson::sim
