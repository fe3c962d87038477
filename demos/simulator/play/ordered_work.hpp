// Work on several threads whose results are taken in order.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace caisson::sim {

/// Does a number of pieces of work on up to `jobs` threads, and hands over the
/// results in order on the thread that called `run`. With one job everything
/// happens on that thread.
///
/// No piece is begun that is more than `ahead` times `jobs` further than the
/// first one that is not done, so that few results wait for their turn.
template <class T>
class ordered_work {
public:
  static constexpr std::size_t ahead = 4;

  /// Gives the result of piece `i`. Called from several threads at a time.
  using work = std::function<T(std::size_t i)>;
  /// Takes it; false: no further ones are wanted.
  using take = std::function<bool(std::size_t i, T result)>;

  ordered_work(std::size_t count, std::size_t jobs)
    : count_(count), jobs_(jobs) {}

  /// Returns when all is done. If `f` throws, further pieces are not begun, and
  /// the exception of the first one that threw comes from here.
  void run(const work& f, const take& g) {
    if (jobs_ <= 1 || count_ <= 1)
      return run_alone(f, g);
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < std::min(jobs_, count_); ++i)
      threads.emplace_back([&] { serve(f); });
    struct end_guard {
      ordered_work& all;
      ~end_guard() { all.stop(); }
    } end{*this};
    for (std::size_t i = 0; i < count_; ++i)
      if (!g(i, next(i)))
        return;
  }

private:
  struct result {
    std::optional<T> value;
    std::exception_ptr error;
  };

  void run_alone(const work& f, const take& g) {
    for (std::size_t i = 0; i < count_; ++i)
      if (!g(i, f(i)))
        return;
  }

  void serve(const work& f) {
    while (auto i = begin_piece()) {
      result r;
      try {
        r.value = f(*i);
      } catch (...) {
        r.error = std::current_exception();
      }
      std::lock_guard guard{mutex_};
      stopped_ = stopped_ || r.error;
      done_.emplace(*i, std::move(r));
      changed_.notify_all();
    }
  }

  std::optional<std::size_t> begin_piece() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] {
      return stopped_ || begun_ == count_ || begun_ < taken_ + ahead * jobs_;
    });
    if (stopped_ || begun_ == count_)
      return std::nullopt;
    return begun_++;
  }

  T next(std::size_t i) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return done_.contains(i); });
    auto r = std::move(done_.extract(i).mapped());
    taken_ = i + 1;
    changed_.notify_all();
    if (r.error)
      std::rethrow_exception(r.error);
    return std::move(*r.value);
  }

  void stop() {
    std::lock_guard guard{mutex_};
    stopped_ = true;
    changed_.notify_all();
  }

  const std::size_t count_;
  const std::size_t jobs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, result> done_;
  std::size_t begun_ = 0;
  std::size_t taken_ = 0;
  bool stopped_ = false;
};

} // namespace caisson::sim
