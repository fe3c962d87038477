#include <simulator/world/link_connections.hpp>

#include <simulator/scenario/fault_times.hpp>
#include <simulator/scenario/zones.hpp>
#include <simulator/world/purpose.hpp>

namespace caisson::sim {

link_connections::link_connections(const world_context& world,
                                   std::uint32_t route, std::size_t replicas)
  : world_(world), route_(route),
    config_(world.plan->routes[route].edge.connections),
    recorder_(world.recorder->connections(route)) {
  if (!config_.limited())
    return;
  pools_.assign(replicas, connection_pool{config_});
  stuck_.resize(replicas);
}

// -- getting one --------------------------------------------------------------

link_connections::grant
link_connections::ask(time_point now, std::uint64_t call, std::size_t replica,
                      connection_use& use) {
  use.asked_at = now;
  recorder_->asked(at(now));
  auto how = pools_[replica].take(call, now);
  if (how == grant::waits) {
    recorder_->waits(at(now));
  } else if (how == grant::refused) {
    recorder_->refused(at(now));
  } else {
    recorder_->used_changed(at(now), 1);
    recorder_->began(at(now), at(now), false);
  }
  return how;
}

duration link_connections::connect(time_point now, std::size_t replica,
                                   grant how, draw_key key,
                                   connection_use& use) {
  use.connected = true;
  use.pool_age = pools_[replica].age();
  if (how == grant::open)
    return duration::zero();
  recorder_->opened(at(now));
  keyed_random random{key.with(purpose::connect)};
  return config_.connect.draw(random);
}

void link_connections::expire(std::uint64_t call, std::size_t replica,
                              const connection_use& use) {
  pools_[replica].stop_waiting(call);
  recorder_->expired(at(use.asked_at));
}

void link_connections::abandon(std::uint64_t call, std::size_t replica,
                               const connection_use& use, bool waits) {
  if (waits)
    pools_[replica].stop_waiting(call);
  recorder_->abandoned(at(use.asked_at), waits);
}

// -- giving it back -----------------------------------------------------------

std::optional<connection_pool::next_call>
link_connections::give_back(time_point now, std::size_t replica,
                            std::uint32_t age, bool open) {
  auto next = pools_[replica].give_back(age, open, now);
  if (!next)
    recorder_->used_changed(at(now), -1);
  return next;
}

void link_connections::end_wait(time_point now, const connection_use& use) {
  recorder_->began(at(now), at(use.asked_at), true);
}

// What was lost in a partition is still being sent, as far as the caller's
// system knows, and holds on to its connection if it may.
bool link_connections::give_up(std::size_t replica, connection_use& use,
                               bool lost, bool cut) {
  if (config_.given_up == after_giving_up::close)
    return true;
  if (!lost)
    return false;
  if (!cut)
    return true;
  use.connected = false;
  ++stuck_[replica];
  return false;
}

bool link_connections::take_stuck(std::size_t replica) {
  if (stuck_[replica] == 0)
    return false;
  --stuck_[replica];
  return true;
}

// -- crashes ------------------------------------------------------------------

void link_connections::plan_crashes(time_point now,
                                    timed_actor::timers& timers) const {
  const auto& arm = world_.plan->arm;
  auto to = world_.plan->routes[route_].to;
  for (std::size_t k = 0; k < arm.faults.size(); ++k) {
    const auto& f = arm.faults[k];
    if (f.kind != fault_kind::crash)
      continue;
    for (std::uint32_t i = 0; i < arm.services[to].replicas; ++i) {
      if (!target_hits(arm, world_.plan->zones, f.target, to, i))
        continue;
      for (const auto& x : fault_times(arm, k, i, world_.key)) {
        timers.push(time_after(now, x.at), timer_bit | crash_begin | i);
        timers.push(time_after(now, duration_sum(x.at, x.lasts)),
                    timer_bit | i);
      }
    }
  }
}

void link_connections::crash_is_due(std::uint64_t payload) {
  crash(payload & ~(timer_bit | crash_begin), (payload & crash_begin) != 0);
}

} // namespace caisson::sim
