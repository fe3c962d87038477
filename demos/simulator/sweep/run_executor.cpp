#include <simulator/sweep/run_executor.hpp>

#include <simulator/play/ordered_work.hpp>
#include <simulator/report/expectations.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caisson::sim {

void run_executor::expect(std::size_t runs) {
  std::lock_guard guard{mutex_};
  expected_ = runs;
}

std::vector<std::optional<run_result>>
run_executor::run(std::size_t count,
                  const std::function<run_request(std::size_t)>& job,
                  std::size_t jobs) {
  std::vector<std::optional<run_result>> out(count);
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = find(job(i).key);
    if (!out[i])
      missing.push_back(i);
  }
  requested_runs_ += count;
  reused_runs_ += count - missing.size();
  {
    // What is there already takes no time.
    std::lock_guard guard{mutex_};
    expected_ -= std::min(expected_, count - missing.size());
  }
  ordered_work<bool> all{missing.size(), jobs};
  // A result is kept at once, so that nothing is lost that waits for its turn.
  if (!stopped())
    all.run(
      [&](std::size_t i) {
        out[missing[i]] = play(missing[i], job(missing[i]));
        return true;
      },
      [&](std::size_t, bool) { return !stopped(); });
  bar_.clear();
  idle_ += static_cast<std::size_t>(
    std::ranges::count_if(out, [](const auto& x) { return x && x->idle; }));
  return out;
}

std::vector<std::string> run_executor::failures() const {
  auto out = failures_;
  std::ranges::sort(out);
  return out;
}

std::optional<run_result> run_executor::find(const std::string& key) const {
  auto found = store_ ? store_->find(key) : std::nullopt;
  if (!found || !found->has_all(metrics_))
    return std::nullopt;
  return only(std::move(*found), metrics_);
}

std::optional<run_result> run_executor::play(std::size_t i,
                                             const run_request& job) {
  auto arm = job.arm();
  run_options o{.seed = job.seed,
                .progress = [&](double share) { show(i, job, share); },
                .stop = parts_.stop,
                .abandon = parts_.catch_signals,
                .step = one_row,
                .metrics = metrics_,
                .log = {}};
  auto result = parts_.play(*arm, o);
  auto failed = failed_checks(result);
  std::lock_guard guard{mutex_};
  shares_.erase(i);
  if (result.interrupted)
    return std::nullopt;
  auto kept = run_result_of(result, metrics_);
  if (store_ && failed.empty())
    store_->add(job.key, kept);
  ++played_;
  for (const auto& text : failed)
    failures_.push_back(fmt::format("{}: {}", job.label, text));
  return only(std::move(kept), metrics_);
}

void run_executor::show(std::size_t i, const run_request& job, double share) {
  if (!parts_.terminal)
    return;
  std::lock_guard guard{mutex_};
  shares_[i] = share;
  auto sum = static_cast<double>(played_);
  for (const auto& [which, fraction] : shares_)
    sum += fraction;
  auto whole = std::max<std::size_t>({expected_, played_ + 1, 1});
  bar_.show({job.label, played_, whole, job.seed},
            sum / static_cast<double>(whole));
}

} // namespace caisson::sim
