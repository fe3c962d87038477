// The work of a service, and its speed.
#pragma once

#include <simulator/world/fault_state.hpp>
#include <simulator/world/job.hpp>
#include <simulator/world/service_journal.hpp>
#include <simulator/world/slot_table.hpp>
#include <simulator/world/timed_actor.hpp>
#include <simulator/world/work_clock.hpp>

#include <cstdint>
#include <optional>

namespace caisson::sim {

/// The work in progress at one replica of a service. Work whose speed cannot
/// change has a timer of its own, whose payload is the key of the request; all
/// other work shares a clock.
class service_work {
public:
  /// The payload of the timer of the clock.
  static constexpr std::uint64_t clock_timer = std::uint64_t{1} << 63;

  /// `jobs`: the requests inside. All references must outlive this.
  service_work(const service_config& config, const fault_state& faults,
               const slot_table<job>& jobs, service_journal& journal,
               timed_actor::timers& timers)
    : config_(config), faults_(faults), jobs_(jobs), journal_(journal),
      timers_(timers) {}

  /// The world begins. `changes_speed`: whether a fault changes that of work
  /// in progress.
  void start(time_point now, bool changes_speed);

  /// How many times as long work takes that begins.
  [[nodiscard]] double slowness() const;

  /// Work of a request begins that takes more than no time.
  void begin(time_point now, job_key key, job& j, duration d);

  /// The timer of the clock is due. Returns whose work has ended, if any.
  [[nodiscard]] std::optional<job_key> pop_due(time_point now);

  /// The request does not go on, whether it is at work or not.
  void stop(time_point now, job& j);

  /// To be called when what is inside or a fault has changed.
  void follow(time_point now);

private:
  [[nodiscard]] double slowdown() const;
  [[nodiscard]] double stretch() const;

  const service_config& config_;
  const fault_state& faults_;
  const slot_table<job>& jobs_;
  service_journal& journal_;
  timed_actor::timers& timers_;
  /// Of all work, if its speed may change while it is in progress.
  std::optional<work_clock> clock_;
  timed_actor::timers::handle timer_;
};

} // namespace caisson::sim
