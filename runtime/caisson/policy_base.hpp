// What all policies have in common.
#pragma once

#include <caisson/counters.hpp>
#include <caisson/errc.hpp>
#include <caisson/policy.hpp>
#include <caisson/policy_config.hpp>
#include <caisson/settings.hpp>

#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

/// The base of a policy: keeps its config and its counters, and answers for
/// them in the way that all policies do.
///
/// `Derived` states what kind it is in `static constexpr std::string_view
/// kind_name`.
///
/// `Config` is described by `describe`, which begins with `describe_common`,
/// and by a `check` if its fields depend on each other.
///
/// `Counter` is an enumeration of one counter per decision branch, as
/// `counters` wants it.
template <class Derived, class Config, class Counter>
class policy_base : public policy {
public:
  using config_type = Config;
  using counter = Counter;

  [[nodiscard]] const Config& config() const noexcept { return config_; }

  /// Goes on under `next`, which must be valid. Calls that the policy has stay
  /// with it; `prepare` and `adapt` of each policy say what becomes of them.
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

  bool command(operator_command c, env& e) override {
    switch (c) {
      case operator_command::reset:
        counters_.clear();
        forget(e);
        return true;
      case operator_command::enable:
        // Lifts what was forced: without states to force there is nothing.
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
  /// Throws `config_error` with everything that is wrong with `c`, and `more`,
  /// if there is anything.
  explicit policy_base(Config c, problems more = {}) : config_(std::move(c)) {
    auto found = problems_of(config_);
    found.insert(found.end(), more.begin(), more.end());
    if (!found.empty())
      throw config_error{std::move(found)};
  }

  // -- for the policy to use --------------------------------------------------

  void count(Counter which) noexcept { counters_.add(which); }

  /// Counts and tells that the call is turned away, and decides so.
  decision refuse(Counter why, errc code, call_id call, env& e,
                  duration retry_after = duration::zero()) {
    count(why);
    e.tell({.kind = event_kind::rejected,
            .to = name_of(code),
            .call = call,
            .delay = retry_after});
    return decision::reject(code, retry_after);
  }

  // -- for the policy to override ---------------------------------------------

  /// The settings are about to change to `next`, which may be altered; the old
  /// ones are still in force.
  virtual void prepare(Config& next, env& e);

  /// The new settings are in force.
  virtual void adapt(env& e);

  /// Appends what is no counter: numbers that go up and down.
  virtual void list_gauges(std::vector<metric>& out) const;

  /// `reset`, apart from the counters.
  virtual void forget(env& e);

  /// Changes by `reconfigure` only.
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
