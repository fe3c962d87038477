#include <caisson/adapters/detail/pool_plan.hpp>

#include <algorithm>

namespace caisson::detail {

pool_plan::pool_plan(std::size_t threads, std::size_t max_waiting,
                     duration idle_timeout)
  : threads_(std::max<std::size_t>(threads, 1)), max_waiting_(max_waiting),
    idle_timeout_(idle_timeout) {}

std::optional<pool_plan::job> pool_plan::add(time_point deadline) {
  auto idle = threads_ - running_.size();
  if (waiting_.size() >= idle + max_waiting_)
    return std::nullopt;
  waiting_.emplace(++last_, deadline);
  deadlines_.emplace(deadline, last_);
  return last_;
}

std::optional<pool_plan::start> pool_plan::next() {
  if (waiting_.empty() || running_.size() >= threads_)
    return std::nullopt;
  auto thread = used_;
  if (!free_.empty()) {
    thread = free_.back().number;
    free_.pop_back();
  } else if (!free_threads_.empty()) {
    thread = free_threads_.back();
    free_threads_.pop_back();
  } else {
    ++used_;
  }
  auto first = waiting_.begin();
  start x{first->first, thread};
  forget_waiting(first);
  running_.emplace(x.what, x.thread);
  return x;
}

std::optional<pool_plan::job> pool_plan::overdue(time_point now) {
  if (deadlines_.empty() || now < deadlines_.begin()->first)
    return std::nullopt;
  auto x = deadlines_.begin()->second;
  drop(x);
  return x;
}

bool pool_plan::drop(job x) {
  auto i = waiting_.find(x);
  if (i == waiting_.end())
    return false;
  forget_waiting(i);
  return true;
}

std::optional<pool_plan::job> pool_plan::drop_first() {
  if (waiting_.empty())
    return std::nullopt;
  auto x = waiting_.begin()->first;
  drop(x);
  return x;
}

bool pool_plan::finish(job x, time_point now) {
  auto i = running_.find(x);
  if (i == running_.end())
    return false;
  free_.push_back({i->second, time_after(now, idle_timeout_)});
  running_.erase(i);
  return true;
}

std::optional<std::size_t> pool_plan::idle(time_point now) {
  if (free_.empty() || now < free_.front().until)
    return std::nullopt;
  auto x = free_.front().number;
  free_.pop_front();
  free_threads_.push_back(x);
  return x;
}

std::optional<std::size_t> pool_plan::thread_of(job x) const {
  auto i = running_.find(x);
  return i == running_.end() ? std::nullopt : std::optional{i->second};
}

time_point pool_plan::wakes_at() const noexcept {
  auto first = deadlines_.empty() ? never : deadlines_.begin()->first;
  return free_.empty() ? first : std::min(first, free_.front().until);
}

void pool_plan::forget_waiting(std::map<job, time_point>::iterator x) {
  deadlines_.erase({x->second, x->first});
  waiting_.erase(x);
}

} // namespace caisson::detail
