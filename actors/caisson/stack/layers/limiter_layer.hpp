// The layer of a limiter: what calls weigh by their content.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/engine/layer.hpp>
#include <caisson/policies/limiter.hpp>
#include <caisson/policy/callback.hpp>
#include <caisson/stack/content.hpp>
#include <caisson/stack/layers/keyed_layer.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

namespace caisson {

/// Replaces the `permits` of calls by what a function says, for the policy of
/// the layer `Base` and for no other.
template <class Base>
class weighing_layer final : public Base {
public:
  /// Throws `config_error` if `c` is not valid. Without a function, calls weigh
  /// their `permits`.
  explicit weighing_layer(const typename Base::config_type& c,
                          weight_function weigh = {})
    : Base(c), weigh_(std::move(weigh)) {}

  [[nodiscard]] bool handles_content() const override { return weighs(); }
  [[nodiscard]] bool weighs() const override { return weigh_ != nullptr; }

  bool weigh(const caf::message& content, std::uint32_t& permits,
             env& e) override {
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    auto weight = call_user(
      "weigh", [&] { return weigh_(content); }, e);
    if (!weight)
      return false;
    permits = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(*weight, 1, most));
    return true;
  }

  [[nodiscard]] bool is_compatible(const layer& next) const override {
    return Base::is_compatible(next) && next.weighs() == weighs();
  }

  void adopt(layer& next, env& e) override {
    weigh_ = static_cast<weighing_layer&>(next).weigh_;
    Base::adopt(next, e);
  }

private:
  weight_function weigh_;
};

template <>
struct layer_of<limiter> {
  using type = weighing_layer<policy_layer<limiter>>;
};

template <>
struct layer_of<keyed<limiter>> {
  using type = weighing_layer<keyed_layer<limiter>>;
};

/// A limiter needs its layer only for a function.
template <>
inline constexpr bool works_without_layer<limiter> = true;

} // namespace caisson
