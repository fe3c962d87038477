// The servers of a service: how many are busy, and how many there are.
#pragma once

#include <simulator/world/autoscaler.hpp>
#include <simulator/world/fault_state.hpp>
#include <simulator/world/job.hpp>
#include <simulator/world/service_journal.hpp>
#include <simulator/world/timed_actor.hpp>
#include <simulator/world/world_context.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace caisson::sim {

/// Gives the servers of one replica to its requests. Starts and stops some if
/// the service scales itself.
class service_servers {
public:
  /// Timers that are those of the autoscaler have one of these bits.
  static constexpr std::uint64_t timer_bits = std::uint64_t{3} << 59;

  /// All references must outlive this.
  service_servers(const world_context& world, std::size_t instance,
                  service_journal& journal, fault_state& faults,
                  timed_actor::timers& timers);

  /// The world begins.
  void start(time_point now);

  /// Whether a request can be taken up.
  [[nodiscard]] bool is_free() const noexcept {
    // During a stall nothing is taken up. Work in progress is finished.
    return !faults_.stalled() && busy_ < faults_.servers();
  }

  /// Gives the request a server.
  void take(time_point now, job& j);

  /// The request gives its server back, if it has one.
  void give_back(time_point now, job& j);

  /// To be called when a fault has changed.
  void follow(time_point now);

  /// A timer of the autoscaler is due; `waiting`: how many requests wait.
  void is_due(time_point now, std::uint64_t payload, std::size_t waiting);

private:
  static constexpr std::uint64_t check = std::uint64_t{1} << 60;
  static constexpr std::uint64_t begin = std::uint64_t{1} << 59;

  void busy_changed(time_point now, int by);
  void number_changed(time_point now, int by);

  const service_config& config_;
  service_journal& journal_;
  fault_state& faults_;
  timed_actor::timers& timers_;
  /// For the gates that read how busy they are.
  busy_servers& load_;
  std::uint64_t busy_ = 0;
  std::optional<autoscaler> scaler_;
};

} // namespace caisson::sim
