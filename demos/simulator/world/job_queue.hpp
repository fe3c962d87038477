// Queue of calls for the servers of a service.
#pragma once

#include <simulator/scenario/scenario.hpp>
#include <simulator/world/job.hpp>

#include <caisson/base/pooled_list.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace caisson::sim {

/// Jobs that have had a server before come first, in the order in which they
/// wait; then the new ones, in the order that the service's config asks for.
/// What `queue_order::codel` sheds is not decided here. Each operation takes
/// constant time, or with an order by rank (`deadline_first`, `priority`) time
/// logarithmic in the number that waits.
class job_queue {
public:
  /// `lifo_above`: with `queue_order::adaptive_lifo`, the newest is next while
  /// more than so many new jobs wait.
  explicit job_queue(queue_order order, std::size_t lifo_above = 0)
    : order_(order), lifo_above_(lifo_above) {}

  /// How many new jobs wait.
  [[nodiscard]] std::size_t size() const noexcept {
    return new_.size() + ranked_.size();
  }

  /// Whether nobody waits at all.
  [[nodiscard]] bool empty() const noexcept {
    return size() == 0 && resumed_.empty();
  }

  /// Adds `j`, which waits for its first server. Its deadline, priority and
  /// `order`, which is its own, stay as they are while it waits.
  void push_new(job_key key, job& j);

  /// Adds `j`, which has had a server.
  void push_resumed(job_key key, job& j);

  /// Who is to be served next.
  /// @pre somebody waits
  [[nodiscard]] job_key next() const;

  /// Takes `j` out; false if it does not wait.
  bool remove(job& j);

private:
  // The smallest is next; of equal ones, the one that came first.
  using rank = std::pair<std::int64_t, std::uint64_t>;

  [[nodiscard]] rank rank_of(const job& j) const;
  [[nodiscard]] bool newest_first() const;

  queue_order order_;
  std::size_t lifo_above_;
  pooled_list<job_key> new_;
  std::map<rank, job_key> ranked_;
  pooled_list<job_key> resumed_;
};

} // namespace caisson::sim
