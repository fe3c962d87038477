// Records what happens at one replica of a service.
#pragma once

#include <simulator/world/service_recorder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace caisson::sim {

/// What the replicas of a service have in common.
struct service_records {
  service_recorder all;
  /// What waits in all queues together.
  std::size_t queue = 0;
  /// When the last piece of work ends that is known so far.
  duration work_until{};
};

/// Counts for a replica and for its service. The only replica of a service has
/// no records of its own.
class replica_recorder {
public:
  /// `own` may be null. Both must outlive this. `servers`: at the start.
  replica_recorder(service_records& shared, service_recorder* own,
                   std::uint32_t servers)
    : shared_(shared), own_(own), servers_(servers) {}

  void arrived(duration now) {
    for_each([&](auto& x) { x.arrived(now); });
  }
  void refused(duration now) {
    for_each([&](auto& x) { x.refused(now); });
  }
  void rejected_down(duration now) {
    for_each([&](auto& x) { x.rejected_down(now); });
  }
  /// `queue`: of this replica, as everywhere here.
  void entered(duration now, std::size_t queue) {
    shared_.all.entered(now, in_all(queue));
    if (own_)
      own_->entered(now, queue);
  }
  void began(duration now, duration arrived_at, std::size_t queue) {
    shared_.all.began(now, arrived_at, in_all(queue));
    if (own_)
      own_->began(now, arrived_at, queue);
  }
  void servers_changed(duration now, int by) {
    servers_ += by;
    for_each([&](auto& x) { x.servers_changed(now, by); });
    count_leaving(now);
  }
  void busy_changed(duration now, int by) {
    busy_ += by;
    for_each([&](auto& x) { x.busy_changed(now, by); });
    count_leaving(now);
  }
  /// A piece of work ends then, unless something changes.
  void work_ends(duration then) {
    shared_.work_until = std::max(shared_.work_until, then);
  }
  /// So many of its cores do work from now on.
  void cores_used_are(duration now, std::uint32_t n) {
    auto by = std::int64_t{n} - cores_used_;
    if (by == 0)
      return;
    cores_used_ = n;
    for_each([&](auto& x) { x.cores_used_changed(now, by); });
  }
  void answered(duration now, bool ok, bool late) {
    for_each([&](auto& x) { x.answered(now, ok, late); });
  }
  void shed(duration now) {
    for_each([&](auto& x) { x.shed(now); });
  }
  void abandoned(duration now) {
    for_each([&](auto& x) { x.abandoned(now); });
  }
  void lost(duration now) {
    for_each([&](auto& x) { x.lost(now); });
  }
  void left(duration now, duration arrived_at, bool started,
            duration held_for) {
    for_each([&](auto& x) { x.left(now, arrived_at, started, held_for); });
  }
  void queue_is(std::size_t n) {
    shared_.all.queue_is(in_all(n));
    if (own_)
      own_->queue_is(n);
  }

private:
  template <class F>
  void for_each(F f) {
    f(shared_.all);
    if (own_)
      f(*own_);
  }

  // `queue` wait here; returns how many wait in all.
  std::size_t in_all(std::size_t queue) {
    shared_.queue += queue - queue_;
    queue_ = queue;
    return shared_.queue;
  }

  // Of this replica alone: another one may have servers to spare.
  void count_leaving(duration now) {
    auto n = std::max<std::int64_t>(0, busy_ - servers_);
    auto by = static_cast<int>(n - leaving_);
    if (by == 0)
      return;
    leaving_ = n;
    for_each([&](auto& x) { x.leaving_changed(now, by); });
  }

  service_records& shared_;
  service_recorder* own_;
  std::int64_t servers_;
  std::int64_t busy_ = 0;
  // Servers that are no longer wanted but still busy.
  std::int64_t leaving_ = 0;
  std::int64_t cores_used_ = 0;
  std::size_t queue_ = 0;
};

} // namespace caisson::sim
