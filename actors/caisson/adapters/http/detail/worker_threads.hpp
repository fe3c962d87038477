// Threads that answer requests, which may block.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace caisson::detail {

struct http_connection;

/// May be called from any thread.
class http_worker_threads {
public:
  using job = std::function<void(http_connection&)>;

  /// `notify` is called by the threads after each `answer`.
  http_worker_threads(std::size_t threads, std::size_t max_waiting, job answer,
                      std::function<void()> notify);

  /// Answers those that wait.
  ~http_worker_threads() { end(); }

  http_worker_threads(const http_worker_threads&) = delete;
  http_worker_threads& operator=(const http_worker_threads&) = delete;

  /// Returns whether there is a place.
  [[nodiscard]] bool take(http_connection& x);

  /// Takes back one that no thread has yet. Returns whether that is so.
  [[nodiscard]] bool withdraw(http_connection& x);

  /// Those that were answered since the last time.
  [[nodiscard]] std::vector<http_connection*> give_back();

private:
  void work();
  void end();

  const job answer_;
  const std::function<void()> notify_;
  const std::size_t places_;

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<http_connection*> waiting_;
  std::vector<http_connection*> answered_;
  std::size_t busy_ = 0;
  bool ended_ = false;

  std::vector<std::thread> threads_;
};

} // namespace caisson::detail
