#include <simulator/remote/run_queue.hpp>

#include <chrono>

namespace caisson::sim {

run_queue::run_queue(const std::vector<std::size_t>& runs, bool local)
  : local_(local), open_(runs.begin(), runs.end()) {}

std::optional<std::size_t> run_queue::take_from(std::set<std::size_t>& from) {
  if (from.empty())
    return std::nullopt;
  auto run = from.extract(from.begin());
  auto out = run.value();
  out_.insert(std::move(run));
  return out;
}

std::optional<std::size_t> run_queue::pop_remote() {
  std::lock_guard guard{mutex_};
  return ended_ ? std::nullopt : take_from(open_);
}

std::optional<std::size_t> run_queue::pop_local() {
  std::unique_lock lock{mutex_};
  changed_.wait(
    lock, [this] { return over() || !open_.empty() || !local_only_.empty(); });
  if (over())
    return std::nullopt;
  return take_from(local_only_.empty() ? open_ : local_only_);
}

void run_queue::give_back(std::size_t run, bool lost) {
  std::lock_guard guard{mutex_};
  if (out_.erase(run) == 0)
    return;
  auto given_up = lost && ++losses_[run] >= most_losses;
  (given_up && local_ ? local_only_ : open_).insert(run);
  if (given_up && !local_) {
    given_up_ = run;
    ended_ = true;
  }
  changed_.notify_all();
}

bool run_queue::done(std::size_t run) {
  std::lock_guard guard{mutex_};
  auto was_out = out_.erase(run) > 0;
  if (over())
    changed_.notify_all();
  return was_out;
}

void run_queue::end() {
  std::lock_guard guard{mutex_};
  ended_ = true;
  changed_.notify_all();
}

bool run_queue::wait(std::int64_t milliseconds) {
  std::unique_lock lock{mutex_};
  return changed_.wait_for(lock, std::chrono::milliseconds{milliseconds},
                           [this] { return over(); });
}

std::size_t run_queue::left() const {
  std::lock_guard guard{mutex_};
  return open_.size() + local_only_.size() + out_.size();
}

std::optional<std::size_t> run_queue::given_up() const {
  std::lock_guard guard{mutex_};
  return given_up_;
}

} // namespace caisson::sim
