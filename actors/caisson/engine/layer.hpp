// One layer of a stack: a policy with the parts that need CAF.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/engine/key_meaning.hpp>
#include <caisson/policy/key_report.hpp>
#include <caisson/policy/policy.hpp>
#include <caisson/settings/settings.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace caisson {

/// A policy within a gate, and its handling of the content of calls, which
/// policies themselves never see.
class layer {
public:
  /// A layer called `name` with the configured mode `m`.
  layer(std::string name, mode m)
    : name_(std::move(name)), configured_(m), active_(m) {}
  virtual ~layer() = default;

  /// The name within its stack; does not change.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// The current mode: the operator's, or else the configured one; `off` while
  /// the layer leaves.
  [[nodiscard]] mode active() const noexcept { return active_; }

  /// Changes the configured mode, which applies unless an operator has forced
  /// another one.
  void configure_mode(mode m) {
    configured_ = m;
    choose_mode();
  }
  /// The operator's mode; nothing: back to the configured one.
  void force_mode(std::optional<mode> m) {
    forced_ = m;
    choose_mode();
  }

  /// Its policy: the same object as long as the layer lives.
  virtual policy& machine() = 0;

  /// Whether the policy may want to be woken: it overrides `policy::wakeup`.
  [[nodiscard]] virtual bool may_wake() const noexcept { return true; }

  /// Applies settings; on problems nothing changes.
  virtual problems change(const settings& set, env& e) = 0;

  /// The policy's settings with their present values.
  [[nodiscard]] virtual std::vector<field_row> config_rows() const = 0;

  /// What its status says in words besides, such as what it saw last.
  [[nodiscard]] virtual std::map<std::string, std::string> notes() const {
    return {};
  }

  // When another stack takes the place of the layer's own.

  /// Whether the layer can go on with the settings of `next`, which was made
  /// for the other stack, has the same kind and name, and was not started.
  /// Otherwise `next` takes its place, without its state.
  [[nodiscard]] virtual bool is_compatible(const layer& /*next*/) const {
    return false;
  }

  /// Goes on with the settings of `next`. Called only if `is_compatible(next)`.
  virtual void adopt(layer& /*next*/, env&) {}

  /// What it takes the key of calls for once `set` has been changed; `none` if
  /// that cannot be.
  [[nodiscard]] virtual key_meaning key_use(const settings& /*set*/) const {
    return key_meaning::none;
  }

  /// What it needs where that is `key_meaning::content`, and another layer
  /// takes keys for owners.
  [[nodiscard]] virtual key_remedy remedy_for_keys() const { return {}; }

  /// The layer is in no stack any more, but its policy still holds the host
  /// open, and calls still come to it (see `acts_when_off`). Until it is
  /// retired, or another stack takes it back.
  void set_leaving(bool x) {
    leaving_ = x;
    choose_mode();
  }
  /// What was last passed to `set_leaving`.
  [[nodiscard]] bool leaving() const noexcept { return leaving_; }

  /// No further call comes to the layer than those that began before. What it
  /// does for more than its calls ends.
  virtual void retire() {}

  /// The busiest of the keys for which the layer keeps a policy each, at most
  /// `n`; none for other layers.
  [[nodiscard]] virtual std::vector<key_report>
  busiest_keys(std::size_t /*n*/) const {
    return {};
  }

  /// Called once, before any call, when the layer's gate starts in `sys`.
  virtual void start_in(caf::actor_system&) {}

  /// Whether calls come to the layer also while its mode is `off`, because of
  /// what it has promised to earlier ones. What its policy decides is carried
  /// out then only if the decision is `in_every_mode`.
  [[nodiscard]] virtual bool acts_when_off() const { return false; }

  /// `active` may have changed. For layers that act on more than their calls.
  virtual void mode_changed() {}

  // -- content ----------------------------------------------------------------
  //
  // User functions called from here may throw. Call them through `call_user`.

  /// Whether the layer handles the content of calls; asked once. Requests for
  /// permits have none and bypass such a layer. `prefilter` is called only if
  /// this is true.
  [[nodiscard]] virtual bool handles_content() const { return false; }

  /// Looks at a call right before its policy admits it, also in the mode
  /// `observe`. Called only if the layer handles content.
  virtual void examine(const caf::message&, env&) {}

  /// Whether `weigh` says what calls weigh; asked once. Then the layer handles
  /// content, and requests for permits, which have none, do not bypass it: they
  /// weigh what they say.
  [[nodiscard]] virtual bool weighs() const { return false; }

  /// Sets what a call weighs for this layer's policy, at least 1. Returns
  /// whether that is known: otherwise the policy does not get the call, which
  /// ends with `callback_failed`, or passes in the mode `observe`. Called after
  /// `examine`, and only if the layer `weighs`.
  virtual bool weigh(const caf::message&, std::uint32_t& /*permits*/, env&) {
    return true;
  }

  /// Answers a call before the policy sees it, or returns nothing to pass it
  /// on.
  virtual std::optional<caf::message> prefilter(const caf::message&, env&) {
    return std::nullopt;
  }

  /// The content of a child call: by default that of its first parent, which
  /// keeps a copy if the policy `resends`.
  virtual caf::message child_content(call_id, std::vector<caf::message> parents,
                                     env&) {
    return parents.empty() ? caf::message{} : std::move(parents.front());
  }

  /// Splits the value that answers a child into the results of its `n` parents;
  /// nothing: the value is the result of each. If there are too few results,
  /// the remaining parents get `batch_failed`.
  virtual std::optional<std::vector<caf::message>> split(call_id, caf::message&,
                                                         std::size_t, env&) {
    return std::nullopt;
  }

  /// The actors to which children can be sent, by number.
  [[nodiscard]] virtual std::vector<caf::actor> targets() const { return {}; }

  /// The value with that number, for `env::answer`.
  [[nodiscard]] virtual caf::message value(std::uint64_t) const { return {}; }

private:
  void choose_mode() {
    active_ = leaving_ ? mode::off : forced_.value_or(configured_);
    mode_changed();
  }

  std::string name_;
  mode configured_;
  std::optional<mode> forced_;
  bool leaving_ = false;
  /// What follows from these.
  mode active_;
};

/// The layer of a policy that ignores the content of calls. Other policies have
/// their own layer, which derives from this one and overrides the functions
/// above.
///
/// A `Policy` has, in addition to what `policy` requires (`policy_base`
/// supplies it):
/// - `config_type`, with the fields `name` and `mode`
/// - `kind_name`, the default name of its layers
/// - a constructor from its config and the other arguments of `stack::add`
/// - `config()` and `reconfigure(config_type, env&)`
template <class Policy>
class policy_layer : public layer {
public:
  using config_type = typename Policy::config_type;

  /// Makes the policy from `c` and `xs...`; throws what its constructor throws,
  /// such as `config_error`.
  template <class... Ts>
  explicit policy_layer(const config_type& c, Ts&&... xs)
    : layer(c.name, c.mode), machine_(c, std::forward<Ts>(xs)...) {}

  Policy& machine() override { return machine_; }

  [[nodiscard]] bool may_wake() const noexcept override {
    if constexpr (requires { &Policy::wakeup; })
      return !std::is_same_v<decltype(&Policy::wakeup),
                             decltype(&policy::wakeup)>;
    else
      return true; // It is private, or there are several.
  }

  problems change(const settings& set, env& e) override {
    auto next = machine_.config();
    auto found = change_settings(set, name(), next);
    if (found.empty() && next.name != name())
      found.push_back({problem_kind::relation, setting_path{} / name() / "name",
                       "the name of a layer cannot be changed"});
    if (found.empty()) {
      configure_mode(next.mode);
      machine_.reconfigure(std::move(next), e);
    }
    return found;
  }

  [[nodiscard]] std::vector<field_row> config_rows() const override {
    return rows_of(machine_.config());
  }

  [[nodiscard]] bool is_compatible(const layer& next) const override {
    return typeid(*this) == typeid(next);
  }

  void adopt(layer& next, env& e) override {
    auto c = static_cast<policy_layer&>(next).machine_.config();
    configure_mode(c.mode);
    machine_.reconfigure(std::move(c), e);
  }

protected:
  /// The policy, for the functions of a derived layer that are const.
  [[nodiscard]] const Policy& policy_machine() const noexcept {
    return machine_;
  }

  /// The config once `set` has been changed; nothing if that cannot be.
  [[nodiscard]] std::optional<config_type>
  config_with(const settings& set) const {
    auto next = machine_.config();
    if (!change_settings(set, name(), next).empty())
      return std::nullopt;
    return next;
  }

private:
  Policy machine_;
};

/// Which layer hosts a policy in a stack. Specialise it for policies with their
/// own layer. If that layer has a static function
///
///     void check_extras(const Extras&... extras, const setting_path& path,
///                       problems& out)
///
/// it reports problems of the other arguments of `stack::add`. If it has a
/// static function
///
///     key_meaning meaning_of_key(const config_type& c,
///                                const Extras&... extras)
///
/// a stack is refused in which it takes keys for something else than another
/// layer does. If its settings can change that, it overrides `key_use`. If
/// there is something to be done, it overrides `remedy_for_keys`, and has a
/// static function that says the same of a layer of that name:
///
///     key_remedy remedy_of(std::string_view name)
template <class Policy>
struct layer_of {
  using type = policy_layer<Policy>;
};

template <class Policy>
using layer_of_t = typename layer_of<Policy>::type;

} // namespace caisson
