#include <caisson/stack/layers/degradation_layer.hpp>

namespace caisson {

degradation_layer::degradation_layer(const degradation_config& c)
  : policy_layer(c) {
  machine().send_changes_to(this);
}

void degradation_layer::start_in(caf::actor_system& sys) {
  hold_.emplace(feature_flags::of(&sys));
  levels_changed();
}

void degradation_layer::mode_changed() {
  levels_changed();
}

void degradation_layer::levels_changed() {
  if (!hold_)
    return;
  if (active() == mode::enforce)
    hold_->set(machine().features_off());
  else
    hold_->set({});
}

} // namespace caisson
