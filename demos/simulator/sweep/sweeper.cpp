#include <simulator/sweep/sweeper.hpp>

#include <simulator/remote/cell_job.hpp>
#include <simulator/remote/remote_watch.hpp>
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
constexpr std::int64_t look_every_ms = 100;

// Of the result of a worker elsewhere. Names and numbers take far less.
constexpr std::size_t most_cell_text = 1'000'000;
constexpr std::size_t most_cell_failures = 1'000;

} // namespace

sweeper::sweeper(const sweep_plan& plan,
                 const std::vector<std::uint64_t>& worlds, cell_store* store,
                 progress_bar& bar, std::ostream& err,
                 const command_parts& parts)
  : plan_(plan), worlds_(worlds), store_(store), bar_(bar), err_(err),
    parts_(parts),
    traces_(plan.base), report_{.plan = plan, .cells = {}, .failures = {}} {}

sweep_report sweeper::play_all(const sweep_executors& hands) {
  report_.cells.resize(plan_.cells());
  find_managed();
  queue_.emplace(missing_, hands.jobs > 0);
  if (!stopped() && !missing_.empty())
    play_missing(hands);
  bar_.clear();
  if (error_)
    std::rethrow_exception(error_);
  report_.interrupted = stopped()
                        && std::ranges::any_of(missing_, [&](std::size_t i) {
                             return !report_.cells[i].has_value();
                           });
  std::ranges::sort(report_.failures);
  return std::move(report_);
}

void sweeper::find_managed() {
  for (std::size_t i = 0; i < report_.cells.size(); ++i) {
    auto found = store_ ? store_->find(key_of(i)) : std::nullopt;
    if (found && found->has_all(plan_.metrics)) {
      report_.cells[i] = only(std::move(*found), plan_.metrics);
      ++kept_;
    } else {
      missing_.push_back(i);
    }
  }
}

void sweeper::play_missing(const sweep_executors& hands) {
  std::optional<remote_workers> others;
  if (!hands.remote_workers.workers.empty())
    others.emplace(hands.remote_workers, hands.build,
                   static_cast<cell_source&>(*this));
  std::vector<std::jthread> threads;
  auto n = std::min(hands.jobs, missing_.size());
  for (std::size_t i = 0; i < n; ++i)
    threads.emplace_back([this] { serve(); });
  wait(others ? &*others : nullptr, hands);
  threads.clear();
  if (!others)
    return;
  auto all = others->workers();
  others.reset();
  say(played_text(all, played_here_));
}

// Until all is played, or nothing more can be.
void sweeper::wait(remote_workers* others, const sweep_executors& hands) {
  remote_watch watch{hands.jobs > 0, hands.remote_workers.wait};
  auto begin = std::chrono::steady_clock::now();
  while (!queue_->wait(look_every_ms)) {
    if (stopped())
      queue_->end();
    if (!others)
      continue;
    for (const auto& text : watch.look(
           others->workers(), std::chrono::steady_clock::now() - begin))
      say(text);
    {
      std::lock_guard guard{mutex_};
      workers_ = watch.there();
    }
    if (auto why = watch.hopeless())
      fail(std::make_exception_ptr(std::runtime_error{
        fmt::format("{}: {} of {} runs are left", *why, grouped(queue_->left()),
                    grouped(plan_.cells()))}));
  }
  if (auto cell = queue_->given_up())
    fail(std::make_exception_ptr(std::runtime_error{fmt::format(
      "{} workers in a row were lost with the run {}, seed {}; is it too large "
      "for them?",
      cell_queue::most_losses, label_of(plan_.cell_at(*cell)),
      plan_.seed + plan_.cell_at(*cell).seed)}));
}

// -- this machine -------------------------------------------------------------

void sweeper::serve() {
  try {
    while (!stopped()) {
      auto cell = queue_->pop_local();
      if (!cell || !play(*cell))
        return;
    }
  } catch (...) {
    fail(std::current_exception());
  }
}

// False if it was interrupted.
bool sweeper::play(std::size_t cell) {
  auto at = plan_.cell_at(cell);
  auto world = arms_at(at.point);
  run_options o{.seed = plan_.seed + at.seed,
                .progress = [this, cell](double share) { show(cell, share); },
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
  note(cell, cell_result_of(result, plan_.metrics), failed);
  std::lock_guard guard{mutex_};
  ++played_here_;
  return true;
}

// The result is kept at once, so that nothing is lost.
void sweeper::note(std::size_t cell, cell_result result,
                   const std::vector<std::string>& failures) {
  if (store_ && failures.empty())
    store_->add(key_of(cell), result);
  {
    std::lock_guard guard{mutex_};
    shares_.erase(cell);
    ++played_;
    report_.cells[cell] = only(std::move(result), plan_.metrics);
    auto label = label_of(plan_.cell_at(cell));
    for (const auto& text : failures)
      report_.failures.push_back(fmt::format("{}: {}", label, text));
  }
  queue_->done(cell);
}

// -- workers ------------------------------------------------------------------

cell_job sweeper::job_of(std::size_t cell) {
  auto at = plan_.cell_at(cell);
  const auto& arm = plan_.arms[at.arm];
  cell_job out;
  out.file = plan_.file;
  out.text = job_text(plan_.root_at(at.point), arm);
  out.arm = arm;
  out.seed = plan_.seed + at.seed;
  out.metrics = plan_.metrics;
  out.world = world_of(at);
  auto world = arms_at(at.point);
  for (const auto& load : (*world)[at.arm].loads)
    if (load.trace)
      out.traces.push_back(traces_.add(load.trace->file));
  return out;
}

bool sweeper::done(std::size_t cell, const job_state& end) {
  // What comes from elsewhere is not kept however large it is.
  if (end.text.size() > most_cell_text
      || end.failures.size() > most_cell_failures)
    return false;
  auto result = read_cell(end.text);
  if (!result || !result->has_all(plan_.metrics))
    return false;
  try {
    note(cell, std::move(*result), end.failures);
  } catch (...) {
    fail(std::current_exception());
  }
  return true;
}

void sweeper::give_back(std::size_t cell, bool lost) {
  {
    std::lock_guard guard{mutex_};
    shares_.erase(cell);
  }
  queue_->give_back(cell, lost);
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

void sweeper::show(std::size_t cell, double share) {
  if (!parts_.terminal)
    return;
  std::lock_guard guard{mutex_};
  shares_[cell] = share;
  auto sum = static_cast<double>(played_);
  for (const auto& [which, its] : shares_)
    sum += its;
  auto first = plan_.cell_at(shares_.begin()->first);
  auto label = label_of(first);
  bar_.show(
    {label, played_, missing_.size(), plan_.seed + first.seed, workers_},
    sum / static_cast<double>(missing_.size()));
}

std::string sweeper::key_of(std::size_t cell) const {
  auto at = plan_.cell_at(cell);
  return cell_key(world_of(at), plan_.arms[at.arm], plan_.seed + at.seed);
}

std::string sweeper::label_of(const sweep_cell& c) const {
  auto out = plan_.label(c.point);
  return plan_.arms.size() > 1 ? out + " " + plan_.arms[c.arm] : out;
}

} // namespace caisson::sim
