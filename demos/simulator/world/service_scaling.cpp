// How a service gets and loses servers.
#include <simulator/world/service.hpp>

#include <algorithm>

namespace caisson::sim {

void service::plan_scaling() {
  if (!config_.autoscale)
    return;
  scaler_.emplace(*config_.autoscale, config_.workers, begin_);
  recorder().servers_changed(at(), 0);
  timer().push(time_after(begin_, config_.autoscale->every), scale_check);
}

void service::scaling_is_due(std::uint64_t payload) {
  if ((payload & scale_start) != 0) {
    auto n = static_cast<std::uint32_t>(payload & ~scale_start);
    scaler_->started(now(), n);
    return servers_changed(static_cast<int>(n));
  }
  timer().push(time_after(now(), config_.autoscale->every), scale_check);
  auto change = scaler_->look(now(), queue_.size());
  if (change.start > 0)
    timer().push(time_after(now(), config_.autoscale->delay),
                 scale_start | change.start);
  if (change.stop > 0)
    servers_changed(-static_cast<int>(change.stop));
}

void service::servers_changed(int by) {
  recorder().servers_changed(at(), by);
  fault_.set_servers(scaler_->workers());
  follow_servers();
  world_.recorder->log().line(at(), "scale ", name_, " ", scaler_->workers());
}

} // namespace caisson::sim
