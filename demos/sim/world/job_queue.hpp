// Who waits for a worker of a service, and who gets the next one.
#pragma once

#include <sim/scenario/scenario.hpp>
#include <sim/world/job.hpp>

#include <caisson/detail/pooled_list.hpp>

#include <cstddef>

namespace caisson::sim {

/// Jobs that have had a worker before come first, in the order in which they
/// wait; then the new ones, in the order that the service's config asks for.
class job_queue {
public:
  explicit job_queue(queue_order order) : order_(order) {}

  /// How many new jobs wait.
  [[nodiscard]] std::size_t size() const noexcept { return new_.size(); }

  /// Whether nobody waits at all.
  [[nodiscard]] bool empty() const noexcept {
    return new_.empty() && resumed_.empty();
  }

  /// Adds `j`, which waits for its first worker.
  void push_new(job_key key, job& j);

  /// Adds `j`, which has had a worker.
  void push_resumed(job_key key, job& j);

  /// Who is to be served next.
  /// @pre somebody waits
  [[nodiscard]] job_key next() const;

  /// Takes `j` out; false if it does not wait.
  bool remove(job& j);

private:
  queue_order order_;
  pooled_list<job_key> new_;
  pooled_list<job_key> resumed_;
};

} // namespace caisson::sim
