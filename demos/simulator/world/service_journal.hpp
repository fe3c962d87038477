// Writes down what happens at a service.
#pragma once

#include <simulator/world/job.hpp>
#include <simulator/world/messages.hpp>
#include <simulator/world/replica_recorder.hpp>
#include <simulator/world/world_context.hpp>

#include <caisson/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace caisson::sim {

/// Knows where one replica of a service writes: its own records, the event log
/// and the details of the run.
class service_journal {
public:
  /// `instance`: its index in the plan.
  service_journal(const world_context& world, std::size_t instance);

  /// How long after the start of the run that is.
  [[nodiscard]] duration at(time_point t) const { return run_.since_start(t); }

  [[nodiscard]] replica_recorder& records() noexcept { return records_; }

  // -- requests ---------------------------------------------------------------

  /// `what` happens to a request inside.
  void note(time_point now, std::string_view what, const job& j);

  /// `what` happens to a request that is not inside.
  void note(time_point now, std::string_view what, const work& w);

  /// A request got in.
  void entered(time_point now, const job& j, const work& w);

  // -- calls that it makes ----------------------------------------------------

  void called(time_point now, const job& j, std::uint64_t key,
              std::uint32_t route, const work& what);
  void call_over(time_point now, std::uint64_t key, std::uint32_t route,
                 const outcome& ended);
  void call_given_up(time_point now, std::uint64_t key);

  // -- the replica itself -----------------------------------------------------

  void fault(time_point now, const fault_config& f, bool begins);

  /// It has so many servers from now on.
  void scaled(time_point now, std::uint32_t servers);

private:
  const world_plan& plan_;
  run_recorder& run_;
  std::size_t instance_;
  replica_recorder records_;
  std::string name_;
  /// What ends the lines of the event log: ` @3`, or nothing.
  std::string mark_;
};

} // namespace caisson::sim
