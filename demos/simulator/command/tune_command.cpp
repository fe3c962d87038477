#include <simulator/command/tune_command.hpp>

#include <simulator/command/tune_planning.hpp>
#include <simulator/play/interruption.hpp>
#include <simulator/play/progress.hpp>
#include <simulator/report/numbers.hpp>
#include <simulator/sweep/result_store.hpp>
#include <simulator/tune/tune_files.hpp>
#include <simulator/tune/tune_table.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <chrono>
#include <ostream>
#include <utility>

namespace caisson::sim {

namespace {

std::vector<std::string> metrics_played(const tune_plan& p) {
  std::vector<std::string> out;
  for (const auto& c : p.columns)
    if (!c.parameter)
      out.push_back(c.name);
  return out;
}

std::function<bool()> time_limit(const tune_plan& p) {
  using clock = std::chrono::steady_clock;
  if (!p.time)
    return {};
  return [end = clock::now() + *p.time] { return clock::now() >= end; };
}

void write_runs(std::ostream& err, const run_executor& runner,
                const tune_outcome& x, const std::string& state) {
  if (runner.reused_runs() > 0)
    err << fmt::format("caisson: {} of {} runs were stored already, in {}\n",
                       grouped(runner.reused_runs()),
                       grouped(runner.requested_runs()),
                       detail::printable(state));
  err << idle_warning(runner.idle_runs(), runner.requested_runs());
  if (x.result.found.interrupted)
    err << fmt::format("caisson: interrupted: this is the best so far{}\n",
                       state.empty()
                         ? "; with --state DIR the runs would be "
                           "kept"
                         : "; the same command continues from there");
}

tune_outcome find_best(const tune_plan& plan, run_executor& runner,
                       std::size_t jobs, const command_parts& parts) {
  tuner t{plan, runner, jobs, parts.version};
  auto result = t.search(time_limit(plan));
  auto choice = choice_of(plan, result.found);
  if (plan.unseen > 0 && !result.found.interrupted)
    t.test(choice.tested(), result);
  return outcome_of(plan, std::move(result), std::move(choice));
}

} // namespace

status tune_command(const tune_arguments& args, std::ostream& out,
                    std::ostream& err, const command_parts& parts) {
  std::optional<signal_watch> watch;
  if (parts.catch_signals)
    watch.emplace();
  auto plan = tune_plan_of(args);
  result_files files{args.outputs, out};
  auto state = state_directory(args.state, args.outputs);
  std::optional<result_store> store;
  if (!state.empty())
    store.emplace(state);
  progress_bar bar{err, parts.terminal && !args.no_progress, parts.columns};
  run_executor runner{metrics_played(plan), store ? &*store : nullptr, bar,
                      parts};
  auto x = find_best(plan, runner, args.jobs.value_or(parts.jobs), parts);
  write_runs(err, runner, x, state);
  if (!files.takes_stdout() && !args.quiet)
    write_tune_text(out, x, parts.out_columns());
  for (const auto& text : x.result.failures)
    err << "failed: " << detail::printable(text) << '\n';
  files.write([&](auto& to) { write_tune_json(to, x); },
              [&](auto& to) { write_tune_csv(to, x); }, [](auto&) {});
  if (x.result.found.interrupted)
    return status::interrupted;
  return x.meets() && x.result.failures.empty() ? status::good : status::failed;
}

} // namespace caisson::sim
