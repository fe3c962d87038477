#include <simulator/sweep/sweeper.hpp>

#include <simulator/remote/remote_watch.hpp>
#include <simulator/remote/run_job.hpp>
#include <simulator/report/expectations.hpp>
#include <simulator/report/numbers.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ostream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace caisson::sim {

namespace {

// How often it is looked whether there is something to say, or to stop.
constexpr std::int64_t check_every_ms = 100;

// Of the result of a worker elsewhere. Names and numbers take far less.
constexpr std::size_t most_run_text = 1'000'000;
constexpr std::size_t most_run_failures = 1'000;

} // namespace

sweeper::sweeper(const sweep_plan& plan,
                 const std::vector<std::uint64_t>& worlds, result_store* store,
                 progress_bar& bar, std::ostream& err,
                 const command_parts& parts)
  : plan_(plan), worlds_(worlds), store_(store), bar_(bar), err_(err),
    parts_(parts),
    recordings_(plan.base), report_{.plan = plan, .runs = {}, .failures = {}} {}

sweep_report sweeper::play_all(const sweep_executors& executors) {
  report_.runs.resize(plan_.runs());
  find_managed();
  queue_.emplace(missing_, executors.jobs > 0);
  if (!stopped() && !missing_.empty())
    play_missing(executors);
  bar_.clear();
  if (error_)
    std::rethrow_exception(error_);
  report_.interrupted = stopped()
                        && std::ranges::any_of(missing_, [&](std::size_t i) {
                             return !report_.runs[i].has_value();
                           });
  std::ranges::sort(report_.failures);
  return std::move(report_);
}

void sweeper::find_managed() {
  for (std::size_t i = 0; i < report_.runs.size(); ++i) {
    auto found = store_ ? store_->find(key_of(i)) : std::nullopt;
    if (found && found->has_all(plan_.metrics)) {
      report_.runs[i] = only(std::move(*found), plan_.metrics);
      ++reused_runs_;
    } else {
      missing_.push_back(i);
    }
  }
}

void sweeper::play_missing(const sweep_executors& executors) {
  std::optional<remote_workers> remote;
  if (!executors.remote_workers.workers.empty())
    remote.emplace(executors.remote_workers, executors.build,
                   static_cast<run_source&>(*this));
  std::vector<std::jthread> threads;
  auto n = std::min(executors.jobs, missing_.size());
  for (std::size_t i = 0; i < n; ++i)
    threads.emplace_back([this] { serve(); });
  wait(remote ? &*remote : nullptr, executors);
  threads.clear();
  if (!remote)
    return;
  auto all = remote->workers();
  remote.reset();
  say(run_counts_text(all, played_here_));
}

// Until all is run, or nothing more can be.
void sweeper::wait(remote_workers* remote, const sweep_executors& executors) {
  remote_watch watch{executors.jobs > 0, executors.remote_workers.wait};
  auto begin = std::chrono::steady_clock::now();
  while (!queue_->wait(check_every_ms)) {
    if (stopped())
      queue_->end();
    if (!remote)
      continue;
    for (const auto& text : watch.check(
           remote->workers(), std::chrono::steady_clock::now() - begin))
      say(text);
    {
      std::lock_guard guard{mutex_};
      workers_ = watch.connected();
    }
    if (auto why = watch.hopeless())
      fail(std::make_exception_ptr(std::runtime_error{
        fmt::format("{}: {} of {} runs are left", *why, grouped(queue_->left()),
                    grouped(plan_.runs()))}));
  }
  if (auto run = queue_->given_up())
    fail(std::make_exception_ptr(std::runtime_error{fmt::format(
      "{} workers in a row were lost with the run {}, seed {}; is it too large "
      "for them?",
      run_queue::most_losses, label_of(plan_.run_at(*run)),
      plan_.seed + plan_.run_at(*run).seed)}));
}

// -- this machine -------------------------------------------------------------

void sweeper::serve() {
  try {
    while (!stopped()) {
      auto run = queue_->pop_local();
      if (!run || !play(*run))
        return;
    }
  } catch (...) {
    fail(std::current_exception());
  }
}

// False if it was interrupted.
bool sweeper::play(std::size_t run) {
  auto at = plan_.run_at(run);
  auto world = arms_at(at.point);
  run_options o{.seed = plan_.seed + at.seed,
                .progress = [this, run](double share) { show(run, share); },
                .stop = parts_.stop,
                .abandon = parts_.catch_signals,
                .step = one_row,
                .metrics = plan_.metrics,
                .log = {}};
  auto result = parts_.play((*world)[at.arm], o);
  auto failed = failed_checks(result);
  if (result.interrupted) {
    queue_->end();
    return false;
  }
  note(run, run_result_of(result, plan_.metrics), failed);
  std::lock_guard guard{mutex_};
  ++played_here_;
  return true;
}

// The result is kept at once, so that nothing is lost.
void sweeper::note(std::size_t run, run_result result,
                   const std::vector<std::string>& failures) {
  if (store_ && failures.empty())
    store_->add(key_of(run), result);
  {
    std::lock_guard guard{mutex_};
    shares_.erase(run);
    ++played_;
    report_.runs[run] = only(std::move(result), plan_.metrics);
    auto label = label_of(plan_.run_at(run));
    for (const auto& text : failures)
      report_.failures.push_back(fmt::format("{}: {}", label, text));
  }
  queue_->done(run);
}

// -- workers ------------------------------------------------------------------

run_job sweeper::job_of(std::size_t run) {
  auto at = plan_.run_at(run);
  const auto& arm = plan_.arms[at.arm];
  run_job out;
  out.file = plan_.file;
  out.text = job_text(plan_.root_at(at.point), arm);
  out.arm = arm;
  out.seed = plan_.seed + at.seed;
  out.metrics = plan_.metrics;
  out.world = world_of(at);
  auto world = arms_at(at.point);
  for (const auto& load : (*world)[at.arm].loads)
    if (load.recording)
      out.recordings.push_back(recordings_.add(load.recording->file));
  return out;
}

bool sweeper::done(std::size_t run, const job_state& end) {
  // What comes from elsewhere is not kept however large it is.
  if (end.text.size() > most_run_text
      || end.failures.size() > most_run_failures)
    return false;
  auto result = read_run(end.text);
  if (!result || !result->has_all(plan_.metrics))
    return false;
  try {
    note(run, std::move(*result), end.failures);
  } catch (...) {
    fail(std::current_exception());
  }
  return true;
}

void sweeper::give_back(std::size_t run, bool lost) {
  {
    std::lock_guard guard{mutex_};
    shares_.erase(run);
  }
  queue_->give_back(run, lost);
}

void sweeper::fail(std::exception_ptr why) {
  {
    std::lock_guard guard{mutex_};
    if (!error_)
      error_ = std::move(why);
  }
  queue_->end();
}

// -- what is shown ------------------------------------------------------------

void sweeper::say(const std::string& text) {
  std::lock_guard guard{mutex_};
  bar_.clear();
  err_ << "caisson: " << detail::printable(text) << '\n' << std::flush;
}

void sweeper::show(std::size_t run, double share) {
  if (!parts_.terminal)
    return;
  std::lock_guard guard{mutex_};
  shares_[run] = share;
  auto sum = static_cast<double>(played_);
  for (const auto& [which, fraction] : shares_)
    sum += fraction;
  auto first = plan_.run_at(shares_.begin()->first);
  auto label = label_of(first);
  bar_.show(
    {label, played_, missing_.size(), plan_.seed + first.seed, workers_},
    sum / static_cast<double>(missing_.size()));
}

std::string sweeper::key_of(std::size_t run) const {
  auto at = plan_.run_at(run);
  return run_key(world_of(at), plan_.arms[at.arm], plan_.seed + at.seed);
}

std::string sweeper::label_of(const sweep_run& c) const {
  auto out = plan_.label(c.point);
  return plan_.arms.size() > 1 ? out + " " + plan_.arms[c.arm] : out;
}

} // namespace caisson::sim
