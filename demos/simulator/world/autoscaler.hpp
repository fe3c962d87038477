// Decides how many servers a service should have.
#pragma once

#include <simulator/scenario/scenario.hpp>

#include <caisson/base/time.hpp>

#include <cstddef>
#include <cstdint>

namespace caisson::sim {

/// Decides on the number of servers. By utilization it aims at
///
///     ceil(servers · utilization / target)
///
/// of them, with the utilization since it last looked; by the queue, at
/// ceil(waiting / target). Servers that it wants start after a delay, which is
/// the service's affair; those that it does not want are gone at once, but
/// count as servers of the utilization while they are still busy.
class autoscaler {
public:
  /// What is to be done now; at most one of them is not 0.
  struct change {
    std::uint32_t start = 0;
    std::uint32_t stop = 0;
  };

  autoscaler(const autoscale_config& config, std::uint32_t initial,
             time_point now);

  /// So many servers are busy from now on.
  void busy_is(time_point now, std::uint64_t busy);

  /// Servers that were asked for have started.
  void started(time_point now, std::uint32_t n);

  /// It is time to look; `waiting`: how many requests wait.
  change look(time_point now, std::size_t waiting);

  /// How many servers there are, without those that start.
  [[nodiscard]] std::uint32_t servers() const noexcept { return servers_; }

private:
  void integrate(time_point now);
  [[nodiscard]] double utilization(time_point now);
  [[nodiscard]] std::uint32_t servers_for(double ratio, double number) const;

  autoscale_config config_;
  std::uint32_t servers_;
  std::uint32_t starting_ = 0;
  std::uint64_t busy_ = 0;
  time_point integrated_to_;
  /// Since it last looked, in nanoseconds times servers.
  double busy_area_ = 0;
  double server_area_ = 0;
  /// No decision is made before this.
  time_point next_decision_;
};

} // namespace caisson::sim
