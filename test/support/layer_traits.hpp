// Traits of each kind of layer for the tests of stacks: those in
// test/policies/NAME/actor/layer.cpp, and for kinds that have none those that
// follow from the table of their settings.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/settings/settings_text.hpp>
#include <caisson/stack.hpp>
#include <caisson/stack/add.hpp>
#include <caisson/stack/built_in_kinds.hpp>
#include <caisson/stack/layers/keyed_layer.hpp>
#include <caisson/stack/policy_kinds.hpp>

#include "support/random_settings.hpp"
#include "support/setting_ranges.hpp"
#include "support/situation.hpp"
#include "support/stack_plan.hpp"

#include <algorithm>
#include <chrono>
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

/// Defined at namespace scope for a kind which holds calls, whose settings may
/// not be any in their ranges, or which is not like others in a plan.
class registered_layer {
public:
  explicit registered_layer(layer_traits x) { all().push_back(std::move(x)); }

  static std::vector<layer_traits>& all() {
    static std::vector<layer_traits> registered;
    return registered;
  }
};

/// A value from the edges of the range; empty: the setting is left out.
inline std::string some_value(const field_row& row, random_settings& r) {
  if (row.key == "mode" || r.chance(30))
    return {};
  auto one_of = [&](const std::vector<std::string>& all) {
    return all[r.number(all.size())];
  };
  if (row.type == "choice")
    return one_of(setting_ranges::split(row.allowed, ", "));
  if (!setting_ranges::has_edges(row))
    return {};
  auto text = one_of(setting_ranges::edges(row));
  if (!row.type.starts_with("duration"))
    return text;
  // No end of a range may become an odd time beyond it; nothing of a plan takes
  // that long.
  auto d = parse_duration(text).value();
  return d >= std::chrono::hours(1) ? text : r.time({d});
}

/// Traits of a layer with settings from the edges of their ranges.
inline layer_traits default_traits(const policy_kind& kind) {
  return {.kind = kind.name,
          .add =
            [kind](stack& s, const layer_plan& x, const plan_actors&,
                   problems& found) {
              auto set = x.set;
              set["name"] = x.name;
              auto values = settings_from_text(set);
              layer_reader from{{values, x.name}, found};
              kind.add(from, s);
            },
          .settings =
            [kind](random_settings& r) {
              texts out;
              for (const auto& row : kind.rows())
                if (auto value = some_value(row, r); !value.empty())
                  out[row.key] = value;
              return out;
            },
          .keyable = kind.keyable};
}

/// Those of all kinds that come with the library, by their names; not for kinds
/// without traits that need settings. Not to be called before `main`.
inline const std::vector<layer_traits>& all_layer_traits() {
  static const auto all = [] {
    auto out = registered_layer::all();
    auto is_there = [&](const policy_kind& kind) {
      return std::any_of(out.begin(), out.end(),
                         [&](auto& x) { return x.kind == kind.name; });
    };
    for (const auto& kind : detail::built_in_kinds())
      if (kind.example.empty() && !is_there(kind))
        out.push_back(default_traits(kind));
    std::sort(out.begin(), out.end(),
              [](auto& a, auto& b) { return a.kind < b.kind; });
    return out;
  }();
  return all;
}

inline const layer_traits& traits_of(const std::string& kind) {
  for (const auto& x : all_layer_traits())
    if (x.kind == kind)
      return x;
  throw std::logic_error{"no layer_traits of " + kind};
}

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
