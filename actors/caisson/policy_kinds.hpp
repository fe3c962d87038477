// The table of all kinds of policies, to which you can add your own.
#pragma once

#include <caisson/caf.hpp>
#include <caisson/settings.hpp>
#include <caisson/stack.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

/// The table of one layer while it is being read.
class layer_reader {
public:
  /// What is wrong with the table `at` goes to `out`. Actors are looked up in
  /// the registry of `sys`, if there is one.
  layer_reader(section at, problems& out, caf::actor_system* sys = nullptr);

  /// For keys that the config does not have.
  [[nodiscard]] settings_reader& fields() noexcept { return fields_; }

  [[nodiscard]] const section& at() const noexcept { return at_; }
  [[nodiscard]] problems& out() const noexcept { return out_; }
  [[nodiscard]] caf::actor_system* system() const noexcept { return sys_; }

  /// Reads the config over `c`. To be called last: keys that nobody has asked
  /// for by then are reported.
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

/// A kind of policy, as configurations and docs see it.
struct policy_kind {
  /// What `kind` says in configurations, such as `breaker`.
  std::string name = {};

  /// The settings with their defaults.
  std::function<std::vector<field_row>()> rows = {};

  /// Adds a layer of this kind to a stack, also if something is wrong with what
  /// is read: then the layers behind it keep their names.
  std::function<void(layer_reader& from, stack& to)> add = {};

  /// What a layer of this kind cannot do without besides `kind`, as lines of
  /// TOML. Empty if every setting has a default.
  std::string example = {};
};

/// The kind of a policy. `add` reads what its constructor wants besides the
/// config, too.
template <class Policy>
[[nodiscard]] policy_kind
kind_of(std::function<void(layer_reader&, stack&)> add,
        std::string example = {}) {
  return {.name = std::string{Policy::kind_name},
          .rows = [] { return rows_of(typename Policy::config_type{}); },
          .add = std::move(add),
          .example = std::move(example)};
}

/// The kind of a policy whose constructor wants nothing besides its config.
template <class Policy>
[[nodiscard]] policy_kind kind_of() {
  return kind_of<Policy>([](layer_reader& from, stack& to) {
    to.add<Policy>(from.config<typename Policy::config_type>());
  });
}

// Kinds are added while a program starts, before it reads stacks; they are
// never taken out. All functions are safe to call from any thread.

/// Adds a kind to the table. Throws `config_error` if it has no name or that of
/// another kind; then the table stays as it was.
void add_policy_kind(policy_kind x);

/// The same for a policy whose constructor wants nothing besides its config.
template <class Policy>
void add_policy_kind() {
  add_policy_kind(kind_of<Policy>());
}

/// The kind of that name, for as long as the program runs; null if there is
/// none.
[[nodiscard]] const policy_kind* find_policy_kind(std::string_view name);

/// All kinds: those that come with caisson, then the others in the order in
/// which they were added.
[[nodiscard]] std::vector<policy_kind> policy_kinds();

} // namespace caisson
