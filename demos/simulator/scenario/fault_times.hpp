// Times at which faults strike.
#pragma once

#include <simulator/scenario/random.hpp>
#include <simulator/scenario/scenario.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace caisson::sim {

/// How often one fault can come within a run, on average, all replicas
/// together; also the number of bursts of a load.
inline constexpr std::int64_t most_failures = 100'000;

/// How many of the times at which a fault strikes are reported.
inline constexpr std::size_t most_fault_times = 500;

/// How often a fault comes at random, on average, all replicas together; 0 if
/// it does not come at random.
[[nodiscard]] double expected_failures(const arm_config& arm,
                                       const fault_config& f);

/// A time during which a fault lasts; none at all for a flush.
struct fault_time {
  duration at = duration::zero();
  duration lasts = duration::zero();
  /// The replica that it hits, from 1 on; 0 for all that it hits at once.
  std::uint32_t replica = 0;
};

/// The random numbers of the fault `index` for a replica, counted from 0 on;
/// `key` is that of the run.
[[nodiscard]] keyed_random fault_draws(std::size_t index, std::uint32_t replica,
                                       draw_key key);

/// An exponentially distributed time of at least a nanosecond.
[[nodiscard]] duration draw_time(keyed_random& random, duration mean);

/// When the fault `index` of the arm strikes, in order; nothing of one that
/// counts requests. One that comes at random does so at instants of its own for
/// each `replica` of its target, counted from 0 on, but for all in a zone at
/// once; `key` is that of the run. It is well for a time that is exponentially
/// distributed, then fails, and so on until the end of the load.
[[nodiscard]] std::vector<fault_time>
fault_times(const arm_config& arm, std::size_t index, std::uint32_t replica,
            draw_key key);

/// The same for all replicas that the fault hits, for reports: at most
/// `most_fault_times` of them, in order.
[[nodiscard]] std::vector<fault_time>
all_fault_times(const arm_config& arm, std::size_t index, std::uint64_t seed);

} // namespace caisson::sim
