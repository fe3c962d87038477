// Layers of any policy for stacks: what `stack::add` needs.
#pragma once

#include <caisson/engine/layer.hpp>
#include <caisson/settings/settings.hpp>
#include <caisson/stack/stack.hpp>

#include <memory>
#include <utility>

namespace caisson {

// These have layers of their own, in <caisson/stack/layers/>: without these
// declarations, a stack that does not see them would take the layer of policies
// that have none.

class batcher;
class cache;
class canary;
class degradation;
class fallback;
class feature;
class limiter;
class retrier;
class shedder;
template <class Policy>
class keyed;

template <>
struct layer_of<batcher>;
template <>
struct layer_of<cache>;
template <>
struct layer_of<canary>;
template <>
struct layer_of<degradation>;
template <>
struct layer_of<fallback>;
template <>
struct layer_of<feature>;
template <>
struct layer_of<limiter>;
template <>
struct layer_of<retrier>;
template <>
struct layer_of<shedder>;
template <class Policy>
struct layer_of<keyed<Policy>>;
template <>
struct layer_of<keyed<limiter>>;

/// Makes layers of a policy for stacks.
template <class Policy>
struct layer_source {
  /// Adds a layer to `to`; see `stack::add`.
  template <class... Extras>
  static void add_to(stack& to, typename Policy::config_type c,
                     Extras... extras) {
    using layer_type = layer_of_t<Policy>;
    constexpr auto checks_extras = requires(const setting_path& path,
                                            problems& out) {
      layer_type::check_extras(extras..., path, out);
    };
    to.choose_name(c.name, Policy::kind_name);
    auto check = [c, extras...] {
      auto out = problems_of(c, c.name);
      if constexpr (checks_extras)
        layer_type::check_extras(extras..., c.name, out);
      else
        // Clang warns of what a lambda captures and never names.
        (static_cast<void>(extras), ...);
      return out;
    };
    auto make = [c, extras...]() -> std::unique_ptr<layer> {
      return std::make_unique<layer_type>(c, extras...);
    };
    auto keys = key_meaning::none;
    if constexpr (requires { layer_type::meaning_of_key(c, extras...); })
      keys = layer_type::meaning_of_key(c, extras...);
    key_remedy remedy;
    if constexpr (requires { layer_type::remedy_of(c.name); })
      remedy = layer_type::remedy_of(c.name);
    to.layers_.push_back(
      {c.name, std::move(check), std::move(make), keys, std::move(remedy)});
  }
};

} // namespace caisson
