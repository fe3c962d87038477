// The layer of a feature policy.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/engine/layer.hpp>
#include <caisson/policies/feature.hpp>

namespace caisson {

/// Uses the flags of its actor system.
class feature_layer final : public policy_layer<feature> {
public:
  /// The feature counts as on until its gate starts. Throws `config_error` if
  /// `c` is not valid.
  explicit feature_layer(const feature_config& c) : policy_layer(c) {}

  void start_in(caf::actor_system& sys) override {
    machine().watch(feature_flags::of(&sys));
  }
};

template <>
struct layer_of<feature> {
  using type = feature_layer;
};

} // namespace caisson
