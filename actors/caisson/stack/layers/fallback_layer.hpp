// The layer of a fallback: the alternative answers.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/engine/layer.hpp>
#include <caisson/policies/fallback.hpp>
#include <caisson/stack/content.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace caisson {

/// Gives a `fallback` its values and targets.
class fallback_layer final : public policy_layer<fallback> {
public:
  /// Throws `config_error` if `c` is not valid, or if `chain` is empty.
  fallback_layer(const fallback_config& c, std::vector<alternative> chain);

  /// Reports a chain without alternatives, and null actors.
  static void check_extras(const std::vector<alternative>& chain,
                           const setting_path& path, problems& out);

  [[nodiscard]] bool handles_content() const override { return true; }
  [[nodiscard]] std::vector<caf::actor> targets() const override;
  [[nodiscard]] caf::message value(std::uint64_t index) const override;

private:
  std::vector<alternative> chain_;
};

template <>
struct layer_of<fallback> {
  using type = fallback_layer;
};

} // namespace caisson
