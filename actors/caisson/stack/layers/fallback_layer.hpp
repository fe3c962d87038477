// The layer of a fallback: the alternative answers.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/engine/layer.hpp>
#include <caisson/policies/fallback.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace caisson {

/// An alternative answer: a value, or another actor that gets the same message.
struct alternative {
  /// The answer, if `kind` is `value`.
  caf::message value = {};
  /// The actor that is asked, if `kind` is another one.
  caf::actor target = {};
  /// Which of them answers.
  alternative_kind kind = alternative_kind::value;

  /// The message `xs...` as the answer.
  template <class... Ts>
  static alternative answer(Ts&&... xs) {
    return {detail::make_early(std::forward<Ts>(xs)...)};
  }

  /// Asks `target`, which gets the call's content like the worker.
  static alternative ask(caf::actor target) {
    return {{}, std::move(target), alternative_kind::actor};
  }

  /// Asks `target`, which knows earlier answers and is quick: it has only
  /// `fallback_config::cache_share` of the time that the call has left.
  static alternative ask_cache(caf::actor target) {
    return {{}, std::move(target), alternative_kind::cache};
  }
};

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
