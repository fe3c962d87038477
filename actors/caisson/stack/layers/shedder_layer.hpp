// The layer of a shedder: gives it the load of the machine.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/engine/layer.hpp>
#include <caisson/policies/shedder/shedder.hpp>
#include <caisson/policy/load_source.hpp>

#include <memory>

namespace caisson {

/// Reads the load from a source of its own, or else from that of its actor
/// system: see `default_load_source`.
class shedder_layer final : public policy_layer<shedder> {
public:
  /// `load` may be null: the source of the system then.
  explicit shedder_layer(const shedder_config& c,
                         std::shared_ptr<load_source> load = {})
    : policy_layer(c, std::move(load)) {}

  void mode_changed() override {
    machine().set_acting(active() == mode::enforce);
  }

  void start_in(caf::actor_system& sys) override {
    if (machine().has_source())
      return;
    auto load = default_load_source::of(&sys)->source();
    machine().read_from(load || portable::is_virtual(sys) ? std::move(load)
                                                          : process_load());
  }
};

template <>
struct layer_of<shedder> {
  using type = shedder_layer;
};

} // namespace caisson
