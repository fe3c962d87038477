#include <caisson/observe/gate_watch.hpp>

#include <caisson/engine/snapshot_hub.hpp>
#include <caisson/settings/settings.hpp>

namespace caisson {

void describe(field_visitor& v, gate_watch_config& c) {
  using namespace std::chrono_literals;
  v.on({"every", "a gate publishes changes at most this often, and at most "
                 "this late"},
       c.every, {10ms, 1h});
  v.integer({"keys", "how many keys of each layer with a policy for each key "
                     "are published, the busiest first"},
            c.keys, {0, 100});
}

gate_watch::gate_watch(caf::actor_system& sys, gate_watch_config c)
  : config_((require_valid(c), c)), hub_(detail::snapshot_hub::of(sys)) {
  hub_->add_watch(config_);
}

gate_watch::~gate_watch() {
  hub_->remove_watch(config_);
}

std::vector<watched_gate> gate_watch::gates() const {
  return hub_->list();
}

} // namespace caisson
