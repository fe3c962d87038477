#include <simulator/command/run_command.hpp>

#include <simulator/command/check_command.hpp>
#include <simulator/play/command_texts.hpp>
#include <simulator/play/interruption.hpp>
#include <simulator/play/output_file.hpp>
#include <simulator/play/player.hpp>
#include <simulator/play/progress.hpp>
#include <simulator/report/csv.hpp>
#include <simulator/report/html.hpp>
#include <simulator/report/json.hpp>
#include <simulator/report/spans_file.hpp>
#include <simulator/report/speed_text.hpp>
#include <simulator/report/text.hpp>
#include <simulator/report/trace_file.hpp>
#include <simulator/scenario/row_step.hpp>

#include <caisson/settings.hpp>

#include <fmt/format.h>

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <ostream>
#include <string_view>

namespace caisson::sim {

namespace {

// Of this process alone, in bytes. What getrusage() returns begins with what
// the process had that has started it.
std::uint64_t peak_memory() {
  std::ifstream status{"/proc/self/status"};
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == "VmHWM:" && status >> kib)
      return kib * 1024;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

// The files that were asked for. Made before the run, so that one that cannot
// be written costs no time.
class outputs {
public:
  outputs(const run_arguments& args, std::ostream& out)
    : no_rows_(args.no_rows),
      takes_stdout_(args.json == "-" || args.csv == "-" || args.html == "-"
                    || args.log == "-" || args.trace == "-"
                    || args.spans == "-") {
    open(json_, args.json, out);
    open(csv_, args.csv, out);
    open(html_, args.html, out);
    open(log_, args.log, out);
    open(trace_, args.trace, out);
    open(spans_, args.spans, out);
  }

  [[nodiscard]] bool takes_stdout() const { return takes_stdout_; }
  [[nodiscard]] bool want_rows() const { return (json_ && !no_rows_) || csv_; }
  [[nodiscard]] bool want_page() const { return html_.has_value(); }
  [[nodiscard]] std::ostream* log() { return log_ ? &log_->stream() : nullptr; }

  void write(const report& r, const html_source& source,
             std::string_view version) {
    auto files = {&json_, &csv_, &html_, &log_, &trace_, &spans_};
    ends_at_once now{std::ranges::any_of(
      files, [](auto* file) { return *file && (*file)->is_direct(); })};
    if (json_)
      (no_rows_ ? write_json_totals : write_json)(json_->stream(), r);
    if (csv_)
      write_csv(csv_->stream(), r);
    if (html_)
      write_html(html_->stream(), r, source);
    if (trace_)
      write_trace(trace_->stream(), r, version);
    if (spans_)
      write_spans(spans_->stream(), r, version);
    for (auto file : files)
      if (*file)
        (*file)->commit();
  }

private:
  static void open(std::optional<output_file>& file, const std::string& path,
                   std::ostream& out) {
    if (!path.empty())
      file.emplace(path, out);
  }

  bool no_rows_;
  bool takes_stdout_;
  std::optional<output_file> json_;
  std::optional<output_file> csv_;
  std::optional<output_file> html_;
  std::optional<output_file> log_;
  std::optional<output_file> trace_;
  std::optional<output_file> spans_;
};

// The same for all arms, also if not all are run.
std::uint32_t step_of(const scenario& s, const run_arguments& args) {
  if (args.step || s.rows)
    return args.step ? *args.step : *s.rows;
  auto longest = duration::zero();
  for (const auto& arm : s.arms)
    longest = std::max(longest, duration_sum(arm.length, arm.drain));
  return usual_step(longest);
}

report blank_report(scenario s, const run_arguments& args) {
  report out;
  out.title = std::move(s.title);
  out.file = args.file;
  out.seed = args.seed.value_or(s.seed);
  out.seeds = args.seeds;
  out.arms = std::move(s.arms);
  return out;
}

std::string repeating(const run_arguments& args, const scenario& s) {
  auto out = "caisson run " + quoted_for_shell(args.file);
  for (const auto& arm : args.arms)
    out += " --arm " + quoted_for_shell(arm);
  out += fmt::format(" --seed {}", args.seed.value_or(s.seed));
  if (args.seeds > 1)
    out += fmt::format(" --seeds {}", args.seeds);
  if (args.step)
    out += fmt::format(" --rows {}s", *args.step);
  return out + " --html report.html";
}

void print(const report& r, const run_arguments& args, std::ostream& out,
           std::size_t width) {
  if (args.quiet)
    write_verdicts(out, r);
  else
    write_text(out, r, args.ascii, width, args.brief);
  if (!r.failures.empty() && !args.quiet)
    out << '\n';
  write_failures(out, r);
  if (!args.quiet && !args.brief && !args.no_speed)
    write_speed(out, r, peak_memory());
}

} // namespace

status run_command(const run_arguments& args, std::ostream& out,
                   std::ostream& err, const command_parts& parts) {
  auto world = load_checked(args.file, parts);
  auto step = step_of(world, args);
  choose_arms(world, args.arms, args.file);
  std::optional<trace_settings> trace;
  if (!args.trace.empty() || !args.spans.empty())
    trace = trace_time(world.arms, args.trace_from, args.trace_to,
                       args.trace.empty() ? most_in_spans
                                          : trace_settings{}.most);
  std::optional<signal_watch> watch;
  if (parts.catch_signals)
    watch.emplace();
  outputs files{args, out};
  html_source source;
  if (files.want_page())
    source = {text_of_file(args.file), repeating(args, world), parts.version};
  auto r = blank_report(std::move(world), args);
  r.step = files.want_rows() || files.want_page() || trace ? step : one_row;
  {
    progress_bar bar{err, parts.terminal && !args.no_progress, parts.columns};
    player{r,
           bar,
           parts,
           {.jobs = files.log() ? 1 : args.jobs.value_or(parts.jobs),
            .rows = files.want_rows(),
            .page = files.want_page(),
            .trace = trace,
            .verify = args.verify,
            .log = files.log()}}
      .play_all();
  }
  if (files.takes_stdout())
    write_failures(err, r);
  else
    print(r, args, out, parts.out_columns());
  write_interruption(err, r);
  for (const auto& text : trace_warnings(r))
    err << "caisson: " << text << '\n';
  files.write(r, source, parts.version);
  if (r.interrupted)
    return status::interrupted;
  return r.failures.empty() ? status::good : status::failed;
}

} // namespace caisson::sim
