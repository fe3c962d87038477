// One layer of a stack: a policy with what it needs of CAF's world.
#pragma once

#include <caisson/caf.hpp>
#include <caisson/policy.hpp>
#include <caisson/settings.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson {

/// A policy within a gate, and what it does with the content of calls, which
/// policies themselves never see.
class layer {
public:
  layer(std::string name, mode m) : name_(std::move(name)), configured_(m) {}
  virtual ~layer() = default;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// The mode in force: the operator's, or else the configured one.
  [[nodiscard]] mode active() const noexcept {
    return forced_.value_or(configured_);
  }

  void configure_mode(mode m) noexcept { configured_ = m; }
  void force_mode(std::optional<mode> m) noexcept { forced_ = m; }

  virtual policy& machine() = 0;

  /// Applies settings; on problems nothing has changed.
  virtual problems change(const settings& set, env& e) = 0;

  [[nodiscard]] virtual std::vector<field_row> config_rows() const = 0;

  // -- content ----------------------------------------------------------------
  //
  // Functions of the user's that are called from here may throw; they are to be
  // called through `call_user`.

  /// Whether the layer works on the content of calls, which requests for
  /// permits do not have: those pass it by, and of the functions below only
  /// those of layers that say so are called.
  [[nodiscard]] virtual bool handles_content() const { return false; }

  /// Answers a call before the policy sees it, or lets it on (nothing).
  virtual std::optional<caf::message> prefilter(const caf::message&, env&) {
    return std::nullopt;
  }

  /// The content of a child call: by default that of its first parent, whose
  /// own is kept if the policy `resends`.
  virtual caf::message child_content(call_id, std::vector<caf::message> parents,
                                     env&) {
    return parents.empty() ? caf::message{} : std::move(parents.front());
  }

  /// Takes the value that a child was answered with apart into the results of
  /// its `n` parents; nothing: it is the result of each. Too few results: the
  /// rest gets `batch_failed`.
  virtual std::optional<std::vector<caf::message>> split(call_id, caf::message&,
                                                         std::size_t, env&) {
    return std::nullopt;
  }

  /// The actors that children can be sent to, by number.
  [[nodiscard]] virtual std::vector<caf::actor> targets() const { return {}; }

  /// The value of that number, for `env::answer`.
  [[nodiscard]] virtual caf::message value(std::uint64_t) const { return {}; }

private:
  std::string name_;
  mode configured_;
  std::optional<mode> forced_;
};

/// The layer of a policy that does not care what calls contain. Policies that
/// do have a layer of their own, which derives from this one and overrides the
/// functions above.
///
/// A `Policy` has, besides what `policy` asks for (`policy_base` supplies it):
/// - `config_type`, with the fields `name` and `mode`
/// - `kind_name`, what layers of it are called that have no name
/// - a constructor from its config and what the stack was given besides
/// - `config()` and `reconfigure(config_type, env&)`
template <class Policy>
class policy_layer : public layer {
public:
  using config_type = typename Policy::config_type;

  template <class... Ts>
  explicit policy_layer(const config_type& c, Ts&&... xs)
    : layer(c.name, c.mode), machine_(c, std::forward<Ts>(xs)...) {}

  Policy& machine() override { return machine_; }

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

private:
  Policy machine_;
};

/// Which layer hosts a policy in a stack: specialise it for policies that have
/// a layer of their own. If that has a static function
///
///     void check_extras(const Extras&... extras, const setting_path& path,
///                       problems& out)
///
/// it reports what is wrong with what `stack::add` was given besides the
/// config.
template <class Policy>
struct layer_of {
  using type = policy_layer<Policy>;
};

template <class Policy>
using layer_of_t = typename layer_of<Policy>::type;

} // namespace caisson
