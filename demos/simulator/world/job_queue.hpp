// Queue of calls for the servers of a service.
#pragma once

#include <simulator/scenario/scenario.hpp>
#include <simulator/world/job.hpp>

#include <caisson/base/pooled_list.hpp>
#include <caisson/policy/waiting_queue.hpp>

#include <cstddef>
#include <optional>

namespace caisson::sim {

/// Jobs that have had a server before come first, in the order in which they
/// wait; then the new ones, in a queue as gates have one. Each operation takes
/// constant time, or with an order by deadline, priority or key time
/// logarithmic in the number that waits.
class job_queue {
public:
  explicit job_queue(wait_order order, const queue_settings& rules = {})
    : new_(order, rules) {}

  /// How many new jobs wait.
  [[nodiscard]] std::size_t size() const noexcept { return new_.size(); }

  /// Whether nobody waits at all.
  [[nodiscard]] bool empty() const noexcept {
    return new_.empty() && resumed_.empty();
  }

  /// Adds `j`, which waits for its first server.
  void push_new(job_key key, job& j, time_point now);

  /// Adds `j`, which has had a server.
  void push_resumed(job_key key, job& j);

  /// Takes out the new job that leaves a full queue for `newcomer`; nothing if
  /// the newcomer has to leave, or no new job waits.
  std::optional<job_key> make_room(const job& newcomer, time_point now);

  /// Who is to be served next.
  /// @pre somebody waits
  [[nodiscard]] job_key next() const;

  /// Whether that job must be shed; never if it has had a server. To be asked
  /// once, when it would be served.
  /// @pre somebody waits
  [[nodiscard]] bool sheds_next(time_point now) {
    return resumed_.empty() && new_.sheds_next(now);
  }

  /// Takes out the next job, `j`, to be served, or not.
  void take_next(job& j, bool served);

  /// Takes `j` out; false if it does not wait.
  bool remove(job& j);

  /// A job found a free server, and nobody who waits.
  void idle() noexcept { new_.idle(); }

private:
  waiting_queue new_;
  pooled_list<job_key> resumed_;
};

} // namespace caisson::sim
