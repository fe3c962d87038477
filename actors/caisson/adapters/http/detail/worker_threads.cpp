#include <caisson/adapters/http/detail/worker_threads.hpp>

#include <algorithm>
#include <utility>

namespace caisson::detail {

http_worker_threads::http_worker_threads(std::size_t threads,
                                         std::size_t max_waiting, job answer,
                                         std::function<void()> notify)
  : answer_(std::move(answer)), notify_(std::move(notify)),
    places_(threads + max_waiting) {
  try {
    for (std::size_t i = 0; i < threads; ++i)
      threads_.emplace_back([this] { work(); });
  } catch (...) {
    end();
    throw;
  }
}

bool http_worker_threads::take(http_connection& x) {
  {
    std::lock_guard guard{mutex_};
    if (busy_ + waiting_.size() >= places_)
      return false;
    waiting_.push_back(&x);
  }
  arrived_.notify_one();
  return true;
}

bool http_worker_threads::withdraw(http_connection& x) {
  std::lock_guard guard{mutex_};
  auto i = std::find(waiting_.begin(), waiting_.end(), &x);
  if (i == waiting_.end())
    return false;
  waiting_.erase(i);
  return true;
}

std::vector<http_connection*> http_worker_threads::give_back() {
  std::lock_guard guard{mutex_};
  return std::exchange(answered_, {});
}

void http_worker_threads::work() {
  std::unique_lock guard{mutex_};
  for (;;) {
    arrived_.wait(guard, [this] { return ended_ || !waiting_.empty(); });
    if (waiting_.empty())
      return;
    auto* x = waiting_.front();
    waiting_.pop_front();
    ++busy_;
    guard.unlock();
    answer_(*x);
    guard.lock();
    --busy_;
    answered_.push_back(x);
    guard.unlock();
    notify_();
    guard.lock();
  }
}

void http_worker_threads::end() {
  {
    std::lock_guard guard{mutex_};
    ended_ = true;
  }
  arrived_.notify_all();
  for (auto& x : threads_)
    x.join();
  threads_.clear();
}

} // namespace caisson::detail
