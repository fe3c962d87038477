// The connections of a network link.
#include <simulator/scenario/fault_times.hpp>
#include <simulator/scenario/zones.hpp>
#include <simulator/world/network_link.hpp>
#include <simulator/world/purpose.hpp>

#include <utility>

namespace caisson::sim {

// -- getting one --------------------------------------------------------------

void network_link::ask_for_connection(std::uint64_t key, parcel& p) {
  auto at = world_.recorder->since_start(now());
  p.asked_at = now();
  connections_->asked(at);
  switch (auto how = pools_[p.to].take(key, now())) {
    case connection_pool::grant::open:
    case connection_pool::grant::fresh:
      connections_->used_changed(at, 1);
      connections_->began(at, at, false);
      return has_connection(key, p, how);
    case connection_pool::grant::waits:
      p.at = stage::waits;
      connections_->waits(at);
      // What is free at the very end of the wait is in time.
      if (edge_.connections.wait != unlimited)
        p.due = timer().push(
          time_after(now(), duration_sum(edge_.connections.wait, duration{1})),
          key);
      return;
    case connection_pool::grant::refused:
      connections_->refused(at);
      return turn_away(key, p, errc::queue_full);
  }
}

void network_link::has_connection(std::uint64_t key, parcel& p,
                                  connection_pool::grant how) {
  p.connected = true;
  p.pool_age = pools_[p.to].age();
  if (how == connection_pool::grant::open)
    return depart(key, p);
  connections_->opened(world_.recorder->since_start(now()));
  keyed_random random{p.key.with(purpose::connect)};
  auto takes = edge_.connections.connect.draw(random);
  if (takes == duration::zero())
    return depart(key, p);
  p.at = stage::connects;
  p.due = timer().push(time_after(now(), takes), key);
}

// -- getting none -------------------------------------------------------------

// The service has seen nothing of the call.
void network_link::turn_away(std::uint64_t key, parcel& p, errc code) {
  auto from = std::move(p.from);
  forget(key, p, from);
  from.answer(
    this, caf::make_message(make_error(
            code, rejection{std::string{no_connection_policy}, duration::zero(),
                            false, "all connections are in use"})));
}

void network_link::wait_is_over(std::uint64_t key, parcel& p) {
  pools_[p.to].stop_waiting(key);
  connections_->expired(world_.recorder->since_start(p.asked_at));
  turn_away(key, p, errc::wait_timeout);
}

// Whether the caller gave up what was not sent yet; then it is forgotten.
bool network_link::given_up_before_sent(std::uint64_t key, parcel& p) {
  if (p.at != stage::waits && p.at != stage::connects)
    return false;
  timer().cancel(p.due);
  auto waits = p.at == stage::waits;
  if (waits)
    pools_[p.to].stop_waiting(key);
  connections_->abandoned(world_.recorder->since_start(p.asked_at), waits);
  release(p, false);
  forget(key, p, p.from);
  return true;
}

// -- giving it back -----------------------------------------------------------

void network_link::release(parcel& p, bool open) {
  if (std::exchange(p.connected, false))
    hand_on(p.to, p.pool_age, open);
}

// To the call that has waited for longest, if there is one.
void network_link::hand_on(std::size_t replica, std::uint32_t age, bool open) {
  auto next = pools_[replica].give_back(age, open, now());
  auto at = world_.recorder->since_start(now());
  if (!next) {
    connections_->used_changed(at, -1);
    return;
  }
  auto& p = *parcels_.find(next->call);
  timer().cancel(p.due);
  connections_->began(at, world_.recorder->since_start(p.asked_at), true);
  has_connection(next->call, p, next->how);
}

// What was lost in a partition is still being sent, as far as the caller's
// system knows, and holds on to its connection if it may.
void network_link::connection_of_given_up(parcel& p) {
  if (!p.connected)
    return;
  if (edge_.connections.given_up == after_giving_up::close)
    return release(p, false);
  if (!p.lost)
    return;
  if (!is_cut(p.to))
    return release(p, false);
  p.connected = false;
  ++stuck_[p.to];
}

bool network_link::is_cut(std::size_t replica) const {
  return faults_.there(replica).cuts + faults_.back(replica).cuts > 0;
}

void network_link::free_stuck() {
  for (std::size_t i = 0; i < stuck_.size(); ++i)
    while (stuck_[i] > 0 && !is_cut(i)) {
      --stuck_[i];
      hand_on(i, pools_[i].age(), false);
    }
}

// -- crashes ------------------------------------------------------------------

// What is open to a replica that crashes is closed.
void network_link::plan_crashes() {
  const auto& arm = world_.plan->arm;
  auto to = world_.plan->routes[plan_.route].to;
  for (std::size_t k = 0; k < arm.faults.size(); ++k) {
    const auto& f = arm.faults[k];
    if (f.kind != fault_kind::crash)
      continue;
    for (std::uint32_t i = 0; i < arm.services[to].replicas; ++i) {
      if (!target_hits(arm, world_.plan->zones, f.target, to, i))
        continue;
      for (const auto& x : fault_times(arm, k, i, world_.key)) {
        timer().push(time_after(now(), x.at), crash_bit | fault_begin | i);
        timer().push(time_after(now(), duration_sum(x.at, x.lasts)),
                     crash_bit | fault_end | i);
      }
    }
  }
}

// One that counts requests.
void network_link::replica_crashes(const replica_crash& x) {
  pools_[x.replica].reset(x.begins);
}

void network_link::crash_is_due(std::uint64_t payload) {
  auto i = payload & ~(crash_bit | fault_begin | fault_end);
  pools_[i].reset((payload & fault_begin) != 0);
}

} // namespace caisson::sim
