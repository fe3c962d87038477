#include <simulator/world/service_servers.hpp>

namespace caisson::sim {

service_servers::service_servers(const world_context& world,
                                 std::size_t instance, service_journal& journal,
                                 fault_state& faults,
                                 timed_actor::timers& timers)
  : config_(world.plan->arm.services[world.plan->instances[instance].service]),
    journal_(journal), faults_(faults), timers_(timers),
    load_(*(*world.loads)[instance]) {}

void service_servers::start(time_point now) {
  if (!config_.autoscale)
    return;
  scaler_.emplace(*config_.autoscale, config_.servers, now);
  journal_.records().servers_changed(journal_.at(now), 0);
  timers_.push(time_after(now, config_.autoscale->every), check);
}

// -- busy servers -------------------------------------------------------------

void service_servers::take(time_point now, job& j) {
  ++busy_;
  j.has_server = true;
  j.held_since = now;
  busy_changed(now, 1);
}

void service_servers::give_back(time_point now, job& j) {
  if (!j.has_server)
    return;
  --busy_;
  j.has_server = false;
  j.held += now - j.held_since;
  busy_changed(now, -1);
}

void service_servers::busy_changed(time_point now, int by) {
  follow(now);
  journal_.records().busy_changed(journal_.at(now), by);
  if (scaler_)
    scaler_->busy_is(now, busy_);
}

void service_servers::follow(time_point now) {
  load_.set(now, busy_, faults_.servers());
}

// -- scaling ------------------------------------------------------------------

void service_servers::is_due(time_point now, std::uint64_t payload,
                             std::size_t waiting) {
  if ((payload & begin) != 0) {
    auto n = static_cast<std::uint32_t>(payload & ~begin);
    scaler_->started(now, n);
    return number_changed(now, static_cast<int>(n));
  }
  timers_.push(time_after(now, config_.autoscale->every), check);
  auto change = scaler_->look(now, waiting);
  if (change.start > 0)
    timers_.push(time_after(now, config_.autoscale->delay),
                 begin | change.start);
  if (change.stop > 0)
    number_changed(now, -static_cast<int>(change.stop));
}

void service_servers::number_changed(time_point now, int by) {
  journal_.records().servers_changed(journal_.at(now), by);
  faults_.set_servers(scaler_->servers());
  follow(now);
  journal_.scaled(now, scaler_->servers());
}

} // namespace caisson::sim
