// The common base of all policies.
#pragma once

#include <caisson/policy/counters.hpp>
#include <caisson/policy/errc.hpp>
#include <caisson/policy/policy.hpp>
#include <caisson/policy/policy_config.hpp>
#include <caisson/settings/settings.hpp>

#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

/// The base of a policy: implements what all policies share, its config and its
/// counters.
///
/// `Derived` names its kind in `static constexpr std::string_view kind_name`.
///
/// `Config` has a function `describe`, which begins with `describe_common`, and
/// a `check` if its fields depend on each other.
///
/// `Counter` is an enumeration with one counter per decision branch, as
/// `counters` requires.
template <class Derived, class Config, class Counter>
class policy_base : public policy {
public:
  using config_type = Config;
  using counter = Counter;

  /// The settings in force; a reference to them stays valid, and `reconfigure`
  /// changes what it refers to.
  [[nodiscard]] const Config& config() const noexcept { return config_; }

  /// Continues with `next`, which must be valid. The policy's calls stay with
  /// it. `prepare` and `adapt` of each policy decide what happens to them.
  void reconfigure(Config next, env& e) {
    prepare(next, e);
    config_ = std::move(next);
    adapt(e);
  }

  [[nodiscard]] std::string_view kind() const noexcept final {
    return Derived::kind_name;
  }

  void list_metrics(std::vector<metric>& out) const final {
    counters_.list(out);
    list_gauges(out);
  }

  bool command(policy_command c, env& e) override {
    if (!c.has_no_end())
      return false;
    switch (c.what) {
      case operator_command::reset:
        counters_.clear();
        forget(e);
        return true;
      case operator_command::enable:
        // Lifts a forced state; without states there is none.
        return true;
      case operator_command::force_open:
      case operator_command::force_closed:
      case operator_command::off:
      case operator_command::observe:
        break;
    }
    return false;
  }

protected:
  /// Throws `config_error` with all problems of `c`, and `more`, if there are
  /// any.
  explicit policy_base(Config c, problems more = {}) : config_(std::move(c)) {
    auto found = problems_of(config_);
    found.insert(found.end(), more.begin(), more.end());
    if (!found.empty())
      throw config_error{std::move(found)};
  }

  // -- for the policy to use --------------------------------------------------

  /// Adds 1 to a counter.
  void count(Counter which) noexcept { counters_.add(which); }

  /// Rejects the call, counts it and sends an event, with `detail`.
  decision refuse(Counter why, errc code, call_id call, env& e,
                  duration retry_after = duration::zero(),
                  std::string_view detail = {}) {
    count(why);
    e.emit({.kind = event_kind::rejected,
            .to = name_of(code),
            .detail = detail,
            .call = call,
            .delay = retry_after});
    return decision::reject(code, retry_after);
  }

  // -- for the policy to override ---------------------------------------------

  /// The settings are about to change to `next`, which may be modified. The old
  /// ones still apply.
  virtual void prepare(Config& next, env& e);

  /// The new settings apply now.
  virtual void adapt(env& e);

  /// Appends the gauges: numbers that go up and down.
  virtual void list_gauges(std::vector<metric>& out) const;

  /// `reset`, apart from the counters.
  virtual void forget(env& e);

  /// Changes only through `reconfigure`.
  Config config_;

private:
  counters<Counter> counters_;
};

// -- implementation -----------------------------------------------------------

template <class Derived, class Config, class Counter>
void policy_base<Derived, Config, Counter>::prepare(Config&, env&) {}

template <class Derived, class Config, class Counter>
void policy_base<Derived, Config, Counter>::adapt(env&) {}

template <class Derived, class Config, class Counter>
void policy_base<Derived, Config, Counter>::list_gauges(
  std::vector<metric>&) const {}

template <class Derived, class Config, class Counter>
void policy_base<Derived, Config, Counter>::forget(env&) {}

} // namespace caisson
