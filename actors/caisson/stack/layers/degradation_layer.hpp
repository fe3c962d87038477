// The layer of a degradation policy: switches the features of its system.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/engine/layer.hpp>
#include <caisson/policies/degradation/degradation.hpp>
#include <caisson/policy/feature_flags.hpp>

#include <memory>
#include <optional>

namespace caisson {

/// Holds the features of levels that are off, in the flags of the actor system,
/// while the layer is in force. Ends with its gate, and then holds none.
class degradation_layer final : public policy_layer<degradation>,
                                degradation::listener {
public:
  /// All features are on until its gate starts. Throws `config_error` if `c` is
  /// not valid.
  explicit degradation_layer(const degradation_config& c);

  degradation_layer(const degradation_layer&) = delete;
  degradation_layer& operator=(const degradation_layer&) = delete;

  void start_in(caf::actor_system& sys) override;
  void mode_changed() override;
  void retire() override { hold_.reset(); }

private:
  void levels_changed() override;

  std::optional<feature_hold> hold_;
};

template <>
struct layer_of<degradation> {
  using type = degradation_layer;
};

} // namespace caisson
