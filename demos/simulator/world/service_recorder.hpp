// Records one service: counts, and means over time.
#pragma once

#include <simulator/scenario/threshold.hpp>
#include <simulator/world/level_watch.hpp>
#include <simulator/world/result.hpp>

#include <caisson/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace caisson::sim {

/// Counts what happens at one service. Times are since the start of the run;
/// what is before `from` or after `to` counts in no mean.
class service_recorder {
public:
  /// `servers` and `cores`: at the start, or `no_limit`.
  service_recorder(std::string name, std::uint32_t servers, std::uint32_t cores,
                   duration from, duration to);

  // -- what happens to a request ----------------------------------------------

  void arrived(duration now);
  void refused(duration now);
  void rejected_down(duration now);
  void entered(duration now, std::size_t queue);
  void began(duration now, duration arrived_at, std::size_t queue);
  /// There are more or fewer servers from now on; called with 0 at the start of
  /// a service whose number of servers changes.
  void servers_changed(duration now, int by);
  /// So many more servers are gone, but end their work first.
  void leaving_changed(duration now, int by);
  /// So many more of the cores do work.
  void cores_used_changed(duration now, std::int64_t by);
  /// A server was occupied or set free.
  void busy_changed(duration now, int by);
  void answered(duration now, bool ok, bool late);
  /// It waited in vain; it counts as refused, too.
  void shed(duration now);
  void abandoned(duration now);
  void lost(duration now);
  /// It is not inside any more; `held_for` is how long it had a server.
  void left(duration now, duration arrived_at, bool started, duration held_for);
  void queue_is(std::size_t n) { now_.queue = n; }
  /// From `now` on, looks for `goal`.
  void watch(level::kind what, const level_watch::goal& goal, duration now);

  // -- what comes of it -------------------------------------------------------

  /// Ends the present second, at `now`.
  service_row end_second(duration now);
  [[nodiscard]] service_summary summary(duration end);
  /// How many requests are inside now.
  [[nodiscard]] std::uint64_t inside() const noexcept { return inside_; }

private:
  void integrate(duration now);
  void integrate_second(duration now);
  [[nodiscard]] double utilization(long double width) const;
  [[nodiscard]] long double clipped(duration t) const;
  [[nodiscard]] bool counts(duration now) const { return now >= from_; }

  service_summary total_;
  std::uint32_t servers_;
  std::uint32_t cores_;
  bool servers_change_ = false;
  duration from_;
  duration to_;
  service_row now_;
  // What is not in a row yet, in nanoseconds times servers or cores.
  std::uint64_t busy_in_second_ = 0;
  std::uint64_t cores_in_second_ = 0;
  std::uint64_t servers_in_second_ = 0;
  duration second_to_ = duration::zero();
  level_watch queue_levels_;
  level_watch inside_levels_;

  std::uint64_t inside_ = 0;
  std::uint64_t busy_ = 0;
  std::int64_t leaving_ = 0;
  std::int64_t cores_used_ = 0;
  duration integrated_to_ = duration::zero();
  // Nanoseconds times requests.
  long double inside_area_ = 0;
  long double busy_area_ = 0;
  long double server_area_ = 0;
  long double core_area_ = 0;
  // The same area by another way: the time each request spent inside, for those
  // that left, and the sum of the arrival times of those that did not.
  long double time_inside_ = 0;
  long double arrivals_inside_ = 0;
  long double wait_sum_ = 0;
  long double service_sum_ = 0;
  long double sojourn_sum_ = 0;
  std::uint64_t served_ = 0;
  std::uint64_t left_ = 0;
};

} // namespace caisson::sim
