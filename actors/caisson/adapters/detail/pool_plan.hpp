// Assigns work to the threads of a pool, and queues the rest.
#pragma once

#include <caisson/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace caisson::detail {

/// Gives jobs to a bounded number of threads, in the order of their arrival. A
/// bounded number of further jobs waits. A pure state machine; each operation
/// takes O(log n) with n jobs.
class pool_plan {
public:
  /// Jobs are numbered from 1 on.
  using job = std::uint64_t;

  struct start {
    job what;
    /// From 0 on. Those that were used last are used first, and no more than
    /// are needed at once.
    std::size_t thread;
  };

  /// At least one thread; `max_waiting` may be zero. A thread without work for
  /// `idle_timeout` is one that `idle` takes.
  pool_plan(std::size_t threads, std::size_t max_waiting,
            duration idle_timeout);

  /// A job arrives, to be started before `deadline`; it gets a number. Nothing
  /// if it has no place.
  [[nodiscard]] std::optional<job> add(time_point deadline);

  /// The next job to be started, which is then running. Nothing if no job
  /// waits, or no thread is free. Those whose deadline has come are not
  /// started: take them with `overdue` first.
  [[nodiscard]] std::optional<start> next();

  /// Takes out a waiting job whose deadline has come; nothing if there is none.
  [[nodiscard]] std::optional<job> overdue(time_point now);

  /// Takes out a waiting job. Returns whether it was one.
  bool drop(job x);

  /// Takes out the waiting job that came first; nothing if there is none.
  [[nodiscard]] std::optional<job> drop_first();

  /// A job is done, and its thread free. Returns whether it was running.
  /// `now` never goes back.
  bool finish(job x, time_point now);

  /// Takes a thread out that has had no work for too long; nothing if there is
  /// none. Its number will be that of a new one.
  [[nodiscard]] std::optional<std::size_t> idle(time_point now);

  /// The thread of a running job.
  [[nodiscard]] std::optional<std::size_t> thread_of(job x) const;

  /// When `overdue` or `idle` has something new at the earliest.
  [[nodiscard]] time_point wakes_at() const noexcept;

  [[nodiscard]] std::size_t running() const noexcept { return running_.size(); }
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

private:
  struct free_thread {
    std::size_t number;
    time_point until;
  };

  void forget_waiting(std::map<job, time_point>::iterator x);

  std::size_t threads_;
  std::size_t max_waiting_;
  duration idle_timeout_;
  job last_ = 0;
  // In the order of arrival, and in that of their deadlines.
  std::map<job, time_point> waiting_;
  std::set<std::pair<time_point, job>> deadlines_;
  std::map<job, std::size_t> running_;
  // The last one is the last used.
  std::deque<free_thread> free_;
  // Numbers of those that were idle.
  std::vector<std::size_t> free_threads_;
  std::size_t used_ = 0;
};

} // namespace caisson::detail
