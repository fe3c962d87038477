// The table of all kinds of policies. You can add your own.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/policies/keyed/keyed.hpp>
#include <caisson/settings/settings.hpp>
#include <caisson/stack/add.hpp>
#include <caisson/stack/layers/keyed_layer.hpp>
#include <caisson/stack/stack.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

/// The table of one layer while it is being read.
class layer_reader {
public:
  /// Reports problems of the table `at` to `out`. Looks up actors in the
  /// registry of `sys`, if there is one.
  layer_reader(section at, problems& out, caf::actor_system* sys = nullptr);

  /// The fields of the table, to read keys outside the config.
  [[nodiscard]] settings_reader& fields() noexcept { return fields_; }

  /// The table that is read, with its path and place.
  [[nodiscard]] const section& at() const noexcept { return at_; }
  /// Where problems go.
  [[nodiscard]] problems& out() const noexcept { return out_; }
  /// The system in whose registry actors are looked up; null: there is none.
  [[nodiscard]] caf::actor_system* system() const noexcept { return sys_; }

  /// Reads the config over `c`. Call it last: it reports keys that were not
  /// read before.
  template <class Config>
  Config config(Config c = {}) {
    describe(fields_, c);
    fields_.finish();
    add_problems(problems_of(c, at_.path), at_, out_);
    return c;
  }

private:
  section at_;
  problems& out_;
  caf::actor_system* sys_;
  settings_reader fields_;
};

/// Where a layer of a kind belongs in a stack.
struct kind_place {
  /// Layers are listed in this order from the outside in: 0 is outermost, 100
  /// next to the worker.
  int depth = 0;
  /// A word or two that distinguishes it from other places of the kind; empty
  /// if there are none.
  std::string which = {};
  /// Why it belongs there, for people.
  std::string why = {};
};

/// A gauge of a kind of policy, or several that differ in the end of their
/// names, in metrics.
struct kind_gauge {
  /// As the policy lists it, such as `failure_rate_permille`; with `label`: how
  /// the names of all of them begin.
  std::string_view name = {};
  /// The help of its metric, valid as long as the program runs. If kinds have
  /// gauges of the same name, that of the first one is that of all.
  const char* help = "";
  /// What the metric is called; empty: `name`, in base units.
  std::string_view metric = {};
  /// A label whose value is what follows `name`; empty: there is none.
  const char* label = "";
};

/// A kind of policy for people who look for it.
struct kind_description {
  /// The page of the kind in docs/, if that has another name.
  std::string page = {};
  /// What other libraries call it, separated by commas; may be empty.
  std::string also_known_as = {};
  /// Goes on from the name: "limits how many calls are in flight".
  std::string summary = {};
  /// Where its layers belong; several if it has a use at each.
  std::vector<kind_place> places = {};
  /// If there can be one per key: what is lost with a key that makes room;
  /// empty: nothing.
  std::string lost_with_key = {};
};

/// A kind of policy, for configurations and docs.
struct policy_kind {
  /// The value of `kind` in configurations, such as `breaker`.
  std::string name = {};

  /// The settings with their defaults.
  std::function<std::vector<field_row>()> rows = {};

  /// Adds a layer of this kind to a stack, even if its table has problems, so
  /// that later layers keep their names.
  std::function<void(layer_reader& from, stack& to)> add = {};

  /// What a layer of this kind requires in addition to `kind`, as lines of
  /// TOML. Empty if every setting has a default.
  std::string example = {};

  /// Whether a layer may have a table `per_key`.
  bool keyable = false;

  /// The values of `policy::state`, apart from those that depend on settings;
  /// empty for policies without states. Metrics have a series for each.
  std::vector<std::string_view> states = {};

  /// The gauges whose metrics have a help of their own, or another name.
  std::vector<kind_gauge> gauges = {};

  /// Texts for the tables in the docs; a kind of yours needs none.
  kind_description text = {};
};

/// The kind of a policy. `add` also reads the other arguments of its
/// constructor.
template <class Policy>
[[nodiscard]] policy_kind
kind_of(std::function<void(layer_reader&, stack&)> add,
        std::string example = {}) {
  return {.name = std::string{Policy::kind_name},
          .rows = [] { return rows_of(typename Policy::config_type{}); },
          .add = std::move(add),
          .example = std::move(example),
          .keyable = can_be_keyed<Policy>};
}

namespace detail {

/// Whether the layer has a table `per_key`. Not for a policy with a setting of
/// its own by that name.
[[nodiscard]] bool wants_keys(layer_reader& from,
                              const std::vector<field_row>& rows);

} // namespace detail

/// Adds a policy whose constructor takes only its config, or, if the table has
/// a table `per_key`, one for each key.
template <class Policy>
void add_layer_of(layer_reader& from, stack& to) {
  using config_type = typename Policy::config_type;
  if constexpr (can_be_keyed<Policy>)
    if (detail::wants_keys(from, rows_of(config_type{}))) {
      to.add<keyed<Policy>>(from.config<keyed_config<Policy>>());
      return;
    }
  to.add<Policy>(from.config<config_type>());
}

/// The kind of a policy whose constructor takes only its config.
template <class Policy>
[[nodiscard]] policy_kind kind_of() {
  return kind_of<Policy>(add_layer_of<Policy>);
}

// Add kinds when a program starts, before it reads stacks. They are never
// removed. All functions are safe to call from any thread.

/// Adds a kind to the table. Throws `config_error`, and leaves the table
/// unchanged, if the kind has no name or the name of another kind.
void add_policy_kind(policy_kind x);

/// Adds the kind of a policy whose constructor takes only its config.
template <class Policy>
void add_policy_kind() {
  add_policy_kind(kind_of<Policy>());
}

/// The kind with that name, valid as long as the program runs; null if there is
/// none.
[[nodiscard]] const policy_kind* find_policy_kind(std::string_view name);

/// All kinds: the built-in ones, then the others in the order in which they
/// were added.
[[nodiscard]] std::vector<policy_kind> policy_kinds();

namespace detail {

/// The first of them, in that order, of which that is true, without a copy;
/// null if there is none. `f` must not add kinds.
const policy_kind*
find_kind_if(const std::function<bool(const policy_kind&)>& f);

} // namespace detail

} // namespace caisson
