// The layer of a fallback: the answers that it has to offer.
#pragma once

#include <caisson/caf.hpp>
#include <caisson/fallback.hpp>
#include <caisson/layer.hpp>
#include <caisson/messages.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace caisson {

/// What a fallback answers with: a value, or another actor that is asked the
/// same.
struct alternative {
  caf::message value = {};
  caf::actor target = {};
  /// Whether it is `target` that answers.
  bool asks = false;

  /// The message `xs...` as the answer.
  template <class... Ts>
  static alternative answer(Ts&&... xs) {
    return {detail::make_early(std::forward<Ts>(xs)...), {}, false};
  }

  /// Ask `target`; it gets the call's content as the worker would.
  static alternative ask(caf::actor target) {
    return {{}, std::move(target), true};
  }
};

/// Gives a `fallback` its values and targets.
class fallback_layer final : public policy_layer<fallback> {
public:
  fallback_layer(const fallback_config& c, std::vector<alternative> chain);

  /// Reports a chain without alternatives, and actors that are none.
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
