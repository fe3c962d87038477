// Traits of each kind of layer for the tests of stacks: one entry for each
// kind, in test/policies/NAME/actor/layer.cpp.
#pragma once

#include <caisson/settings/settings_text.hpp>
#include <caisson/stack.hpp>
#include <caisson/stack/add.hpp>
#include <caisson/stack/layers/keyed_layer.hpp>

#include "support/random_settings.hpp"
#include "support/situation.hpp"
#include "support/stack_plan.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

/// How often a kind of layer is drawn for each kind of plan; 0: never.
struct layer_weights {
  unsigned patient = 1;
  unsigned prompt = 1;
  unsigned mixed = 1;
  /// In `mixed`, below a batcher.
  unsigned mixed_in_batch = 0;
};

struct layer_traits {
  std::string kind = {};

  /// Adds such a layer; it must draw nothing at random. Problems of its
  /// settings are appended.
  std::function<void(stack&, const layer_plan&, const plan_actors&, problems&)>
    add = {};

  /// Settings from the edges of their ranges with which one gate and a chain of
  /// gates do the same.
  std::function<texts(random_settings&)> settings = {};

  layer_weights weights = {};
  bool keyable = false;
  /// A call can wait in it for longer than its neighbours take.
  bool can_wait = false;
  /// Kinds below which it is not drawn.
  std::vector<std::string> not_below = {};
  /// Makes a drawn layer fit to those above it.
  std::function<void(layer_plan&, const std::vector<layer_plan>& above,
                     random_settings&)>
    fit = [](auto&, auto&, auto&) {};

  /// What a call can be doing in such a layer.
  situations::list situations = {};
};

/// Those of all kinds, by their names.
inline std::vector<layer_traits>& all_layer_traits() {
  static std::vector<layer_traits> all;
  return all;
}

inline const layer_traits& traits_of(const std::string& kind) {
  for (const auto& x : all_layer_traits())
    if (x.kind == kind)
      return x;
  throw std::logic_error{"no layer_traits of " + kind};
}

/// Defined once for each kind, at namespace scope.
struct registered_layer {
  explicit registered_layer(layer_traits x) {
    auto& all = all_layer_traits();
    auto at = std::upper_bound(all.begin(), all.end(), x, [](auto& a, auto& b) {
      return a.kind < b.kind;
    });
    all.insert(at, std::move(x));
  }
};

/// The configuration of a layer; problems are appended to `found`.
template <class Config>
Config config_of(const layer_plan& x, Config c, problems& found) {
  c.name = x.name;
  for (auto& p : read_settings(settings_from_text(x.set), x.name, c))
    found.push_back(std::move(p));
  return c;
}

/// Adds a policy, or one for each key.
template <class Policy>
void add_policy(stack& s, const layer_plan& x, typename Policy::config_type c,
                problems& found) {
  if constexpr (can_be_keyed<Policy>)
    if (x.per_key) {
      s.add<keyed<Policy>>(
        config_of(x, keyed_config<Policy>{std::move(c), {}}, found));
      return;
    }
  s.add<Policy>(config_of(x, std::move(c), found));
}

/// `layer_traits` of a policy whose constructor takes only its config.
template <class Policy>
layer_traits traits_for(typename Policy::config_type c = {}) {
  return {.kind = std::string{Policy::kind_name},
          .add = [c](stack& s, const layer_plan& x, const plan_actors&,
                     problems& found) { add_policy<Policy>(s, x, c, found); },
          .keyable = can_be_keyed<Policy>};
}

inline problems add_layer(stack& s, const layer_plan& x,
                          const plan_actors& actors) {
  problems found;
  traits_of(x.kind).add(s, x, actors, found);
  return found;
}

} // namespace caisson::test
