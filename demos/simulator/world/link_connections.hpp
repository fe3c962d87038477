// The connections of a network link.
#pragma once

#include <simulator/scenario/random.hpp>
#include <simulator/world/connection_pool.hpp>
#include <simulator/world/connection_recorder.hpp>
#include <simulator/world/timed_actor.hpp>
#include <simulator/world/world_context.hpp>

#include <caisson/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace caisson::sim {

/// What a call through a link knows of its connection.
struct connection_use {
  /// Whether the call has a connection.
  bool connected = false;
  /// The age of the pool when the call got its connection.
  std::uint32_t pool_age = 0;
  time_point asked_at;
};

/// A pool of connections for each replica behind a link, if they are limited.
/// Knows which ones are in use, also by calls that nobody waits for any more,
/// and records that.
class link_connections {
public:
  using grant = connection_pool::grant;

  /// Timers that are those of crashes have this bit.
  static constexpr std::uint64_t timer_bit = std::uint64_t{1} << 59;

  /// `replicas`: how many are behind the link, which is one of that route.
  link_connections(const world_context& world, std::uint32_t route,
                   std::size_t replicas);

  [[nodiscard]] bool limited() const noexcept { return !pools_.empty(); }

  // -- getting one ------------------------------------------------------------

  /// A call to that replica needs a connection.
  grant ask(time_point now, std::uint64_t call, std::size_t replica,
            connection_use& use);

  /// The call has one: `open`, or `fresh`. Returns how long it takes to open.
  [[nodiscard]] duration connect(time_point now, std::size_t replica, grant how,
                                 draw_key key, connection_use& use);

  /// The call has waited for too long.
  void expire(std::uint64_t call, std::size_t replica,
              const connection_use& use);

  /// Its caller has given the call up before it was sent, while it waited for
  /// a connection or while that was being opened.
  void abandon(std::uint64_t call, std::size_t replica,
               const connection_use& use, bool waits);

  // -- giving it back ---------------------------------------------------------

  /// A connection of that `age` is not in use any more. Returns the call that
  /// has waited for it the longest, if there is one.
  [[nodiscard]] std::optional<connection_pool::next_call>
  give_back(time_point now, std::size_t replica, std::uint32_t age, bool open);

  /// A call that has waited gets a connection.
  void end_wait(time_point now, const connection_use& use);

  /// The caller gives up a call that has a connection. `lost`: nothing will
  /// come of it; `cut`: nothing gets through to the replica. Returns whether
  /// the connection is to be closed now.
  [[nodiscard]] bool give_up(std::size_t replica, connection_use& use,
                             bool lost, bool cut);

  /// Frees a connection that was in use until a partition was over. Returns
  /// false if there is none.
  [[nodiscard]] bool take_stuck(std::size_t replica);

  /// How often what was open to the replica was closed.
  [[nodiscard]] std::uint32_t age(std::size_t replica) const {
    return pools_[replica].age();
  }

  // -- crashes ----------------------------------------------------------------

  /// Sets timers for crashes at known times. What is open to a replica that
  /// crashes is closed.
  void plan_crashes(time_point now, timed_actor::timers& timers) const;

  /// Such a timer is due.
  void crash_is_due(std::uint64_t payload);

  /// A crash begins or ends.
  void crash(std::size_t replica, bool begins) {
    pools_[replica].reset(begins);
  }

private:
  static constexpr std::uint64_t crash_begin = std::uint64_t{1} << 58;

  [[nodiscard]] duration at(time_point t) const {
    return world_.recorder->since_start(t);
  }

  world_context world_;
  std::uint32_t route_;
  const connection_config& config_;
  /// By replica; empty unless connections are limited.
  std::vector<connection_pool> pools_;
  /// By replica: connections that are in use until a partition is over, as
  /// nobody waits for what was lost in it.
  std::vector<std::uint32_t> stuck_;
  connection_recorder* recorder_ = nullptr;
};

} // namespace caisson::sim
