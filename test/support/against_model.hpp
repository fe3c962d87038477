// Plays random steps to a policy and to a model of it, and compares the two.
#pragma once

#include <caisson/settings/settings.hpp>

#include <support/operations.hpp>
#include <support/rig.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {

// -- what models are made of --------------------------------------------------

/// What a model expects of a call. What it does not say is not compared.
struct modelled_call {
  place where = place::below;
  std::optional<errc> code = {};            ///< Of its rejection.
  std::optional<duration> retry_after = {}; ///< The same.
  std::optional<time_point> until = {};     ///< Of its hold.
  std::optional<std::uint64_t> index = {};  ///< Of what it was given to.
  /// What the caller learns; otherwise what the last attempt says.
  std::optional<bool> may_have_executed = {};

  [[nodiscard]] bool in_flight() const {
    return where == place::below || where == place::redirected;
  }
  [[nodiscard]] bool is_over() const {
    return !in_flight() && where != place::held;
  }
  void reject(errc why, std::optional<duration> again = {}) {
    where = place::rejected;
    code = why;
    retry_after = again;
  }
  void hold(std::optional<time_point> end = {}) {
    where = place::held;
    until = end;
  }
};

/// How an attempt ends, and what that means to the policy.
template <class Meaning = bool>
struct ending {
  outcome result;
  Meaning meaning = {};
};

/// How often each kind of step is drawn, in shares of all steps.
struct step_shares {
  unsigned arrive = 3;
  unsigned end = 2;     ///< Of a call that is below or with another target.
  unsigned abandon = 1; ///< Of such a call or one that is held.
  unsigned advance = 2;
  unsigned step_back = 0;
  unsigned reconfigure = 1;
  unsigned command = 0;
  unsigned other = 0; ///< What only this policy has.
};

/// A model of `Policy` that `check_against_model` understands: derive from
/// this, and hide what differs. A model has in addition
///
///   static settings any_settings();
///   explicit MODEL(settings);
///   void arrive(call_id, const call_info&);
///   void finish(call_id, const ending<…>&);
///   void abandon(call_id, errc why);
///   void reconfigure(const settings&);
///
/// each of which changes `calls` and `count` to what is expected then. If it
/// has `wakeup()` or `state()`, these are compared, too.
template <class Policy, class Call = modelled_call>
struct policy_model {
  using settings = typename Policy::config_type;
  /// Hosts the policy; made by `rig_of(settings)` if there is such a function,
  /// otherwise from `config_of(settings)`.
  using rig = test::rig<Policy>;

  static constexpr step_shares shares{};
  /// How many steps a run has at most.
  static constexpr int longest = 400;
  /// Whether what is due is done before settings change and commands come, and
  /// again after that.
  static constexpr bool wakes_around_changes = false;

  static const auto& config_of(const settings& s) { return s; }

  // -- what is drawn ----------------------------------------------------------

  /// How many calls arrive together, and the `i`-th of them.
  static unsigned arrivals(const operation&) { return 1; }
  call_info arrival(const operation&, unsigned /*i*/) { return {}; }
  /// How many calls end together, which of `n` the next one is, and how it
  /// ends.
  static unsigned ends(const operation&) { return 1; }
  static std::size_t choice(const operation& x, std::size_t n) {
    return x.which % n;
  }
  static ending<> how_it_ends(const operation& x) {
    return x.how % 2 == 0 ? ending<>{outcome::success(), true}
                          : ending<>{outcome::failure(errc::shed, true,
                                                      std::chrono::seconds(1))};
  }
  static errc why_it_leaves(const operation&) {
    return errc::deadline_exceeded;
  }
  static policy_command some_command(const operation&) {
    return operator_command::reset;
  }

  // -- what happens -----------------------------------------------------------

  /// Also with all that falls due on the way.
  void advance_to(time_point) {}
  void set_clock(time_point) {}
  void command(const policy_command&) { count.clear(); }
  /// The step `other`, of both.
  void other(const operation&, rig&) {}

  // -- what is compared -------------------------------------------------------

  /// What is to be done with the policy before it is compared.
  void prepare(rig&) {}
  /// Sets the gauges that it knows, in `count`.
  void measure() {}
  /// Whether it knows this counter: one that is not in `count` is zero.
  static bool knows(std::string_view /*counter*/) { return true; }
  /// Compares more. Calls that are over are forgotten after that.
  void check(const rig&) {}

  /// The instant of the step, or a later one.
  time_point now = rig::start();
  std::map<call_id, Call> calls;
  std::map<std::string, std::int64_t> count;

protected:
  [[nodiscard]] std::int64_t calls_at(place x) const {
    std::int64_t n = 0;
    for (const auto& [id, call] : calls)
      n += call.where == x;
    return n;
  }
};

/// The one of them that the number stands for.
template <class T>
T one_of(std::initializer_list<T> xs, unsigned n) {
  return *(xs.begin() + n % xs.size());
}

/// One of them, drawn.
template <class T>
T any_of(std::initializer_list<T> xs) {
  return *rc::gen::elementOf(std::vector<T>(xs));
}

// -- the driver ---------------------------------------------------------------

/// A policy and its model, side by side.
template <class Model>
class model_run {
public:
  using settings = typename Model::settings;
  using rig = typename Model::rig;

  explicit model_run(std::vector<settings> all)
    : real(rig_of(all.front())), model(all.front()), all_(std::move(all)) {
    show(all_.front());
    compare();
  }

  void step(const operation& x) {
    constexpr auto n = Model::shares;
    auto kind = x.kind;
    auto is = [&](unsigned share) {
      auto yes = kind < share;
      kind -= share;
      return yes;
    };
    if (is(n.arrive))
      arrive(x);
    else if (is(n.end))
      for (auto i = Model::ends(x); i > 0; --i)
        finish(x);
    else if (is(n.abandon))
      abandon(x);
    else if (is(n.advance))
      advance(Model::length(x));
    else if (is(n.step_back))
      step_back(Model::length(x));
    else if (is(n.reconfigure))
      change([&] { reconfigure(pick(all_, x.which)); });
    else if (is(n.command))
      change([&] { command(x); });
    else
      other(x);
    compare();
  }

  /// Lets a call arrive.
  call_id arrive(const call_info& call = {}) {
    auto id = real.arrive(call);
    RC_LOG() << "call " << id << " arrives, is "
             << name_of_place(real.where(id)) << '\n';
    model.arrive(id, call);
    RC_ASSERT(real.where(id) == model.calls.at(id).where);
    return id;
  }

  /// Ends an attempt at the call, which is in flight.
  template <class Ending>
  void finish(call_id id, const Ending& how) {
    RC_LOG() << "call " << id << (how.result.ok ? " succeeds" : " fails")
             << ", code " << static_cast<int>(how.result.code) << '\n';
    real.finish(id, how.result);
    model.finish(id, how);
    if (real.where(id) != place::passed)
      return;
    const auto& up = real.calls.at(id).result;
    RC_ASSERT(up.ok == how.result.ok);
    RC_ASSERT(up.code == how.result.code);
    RC_ASSERT(up.retry_after == how.result.retry_after);
    RC_ASSERT(up.may_have_executed
              == model.calls.at(id).may_have_executed.value_or(
                how.result.may_have_executed));
  }

  void advance(duration d) {
    RC_LOG() << to_text(d) << " pass\n";
    model.advance_to(real.e.now + d);
    real.advance(d);
    model.now = real.e.now;
  }

  /// How many kinds of steps there are, by their shares.
  static constexpr unsigned kinds() {
    constexpr auto n = Model::shares;
    return n.arrive + n.end + n.abandon + n.advance + n.step_back
           + n.reconfigure + n.command + n.other;
  }

  /// Fails unless policy and model agree. Forgets the calls that are over.
  void compare() {
    model.prepare(real);
    RC_ASSERT(real.calls.size() == model.calls.size());
    for (const auto& [id, x] : model.calls)
      compare_call(x, real.calls.at(id));
    compare_metrics();
    if constexpr (requires { model.wakeup(); })
      RC_ASSERT(real.policy.wakeup() == model.wakeup());
    if constexpr (requires { model.state(); })
      RC_ASSERT(real.policy.state() == model.state());
    model.check(real);
    std::erase_if(real.calls, [this](const auto& x) {
      return model.calls.at(x.first).is_over();
    });
    std::erase_if(model.calls,
                  [](const auto& x) { return x.second.is_over(); });
  }

  rig real;
  Model model;

private:
  static rig rig_of(const settings& s) {
    if constexpr (requires { Model::rig_of(s); })
      return Model::rig_of(s);
    else
      return rig(Model::config_of(s));
  }

  // -- steps ------------------------------------------------------------------

  void arrive(const operation& x) {
    for (unsigned i = 0, n = Model::arrivals(x); i < n; ++i)
      arrive(model.arrival(x, i));
  }

  void finish(const operation& x) {
    if (auto id = some_call(x, false))
      finish(id, Model::how_it_ends(x));
  }

  void abandon(const operation& x) {
    auto id = some_call(x, true);
    if (id == 0)
      return;
    auto why = Model::why_it_leaves(x);
    RC_LOG() << "call " << id << " leaves: " << name_of(why) << '\n';
    real.abandon(id, why);
    model.abandon(id, why);
    model.calls.at(id).where = place::abandoned;
  }

  void step_back(duration d) {
    RC_LOG() << "the clock steps back by " << to_text(d) << '\n';
    real.set_clock(real.now() - d);
    model.now = real.e.now;
    model.set_clock(model.now);
  }

  template <class F>
  void change(F f) {
    if (Model::wakes_around_changes)
      advance(duration::zero());
    f();
    if (Model::wakes_around_changes)
      advance(duration::zero());
  }

  void reconfigure(const settings& s) {
    show(s);
    real.reconfigure(Model::config_of(s));
    model.reconfigure(s);
  }

  void command(const operation& x) {
    auto c = Model::some_command(x);
    RC_LOG() << "command " << static_cast<int>(c.what) << " for "
             << to_text(c.time) << '\n';
    RC_ASSERT(real.command(c));
    model.command(c);
  }

  void other(const operation& x) {
    RC_LOG() << "other " << x << '\n';
    model.other(x, real);
  }

  call_id some_call(const operation& x, bool held_too) const {
    std::vector<call_id> ids;
    for (const auto& [id, call] : model.calls)
      if (call.in_flight() || (held_too && !call.is_over()))
        ids.push_back(id);
    return ids.empty() ? 0 : ids[Model::choice(x, ids.size())];
  }

  static std::string_view name_of_place(place x) {
    constexpr std::string_view names[] = {"below",  "held",      "rejected",
                                          "passed", "abandoned", "redirected"};
    return names[static_cast<std::size_t>(x)];
  }

  // What differs from the defaults.
  void show(const settings& s) {
    auto config = Model::config_of(s);
    auto usual = rows_of(decltype(config){});
    auto rows = rows_of(config);
    RC_LOG() << "settings:";
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (i >= usual.size() || rows[i].value != usual[i].value)
        RC_LOG() << ' ' << rows[i].key << " = " << rows[i].value << ';';
    RC_LOG() << '\n';
  }

  // -- comparison -------------------------------------------------------------

  template <class Entry>
  static void compare_call(const modelled_call& x, const Entry& y) {
    RC_ASSERT(y.where == x.where);
    if (x.where == place::rejected && x.code)
      RC_ASSERT(y.code == *x.code);
    if (x.where == place::rejected && x.retry_after)
      RC_ASSERT(y.retry_after == *x.retry_after);
    if (x.where == place::held && x.until)
      RC_ASSERT(y.until == *x.until);
    if (x.where == place::redirected && x.index)
      RC_ASSERT(y.index == *x.index);
  }

  void compare_metrics() {
    model.measure();
    std::vector<metric> all;
    real.policy.list_metrics(all);
    auto expected = model.count;
    for (const auto& m : all) {
      auto i = expected.find(std::string{m.name});
      if (i == expected.end() && (m.gauge || !Model::knows(m.name)))
        continue;
      auto value = i == expected.end() ? 0 : i->second;
      if (m.value != value)
        RC_FAIL(std::string{m.name} + " is " + std::to_string(m.value)
                + ", not " + std::to_string(value));
      if (i != expected.end())
        expected.erase(i);
    }
    // There are no others.
    RC_ASSERT(expected.empty());
  }

  std::vector<settings> all_;
};

/// How many settings each run changes between.
inline constexpr std::size_t settings_per_run = 5;

/// Draws settings and steps, plays them to the policy and to the model, and
/// compares decisions, times and counters after each step. Of a failure,
/// RapidCheck prints the seed, and what the settings and steps were.
template <class Model>
void check_against_model() {
  model_run<Model> run{
    *rc::gen::container<std::vector<typename Model::settings>>(
      settings_per_run, rc::gen::exec([] { return Model::any_settings(); }))};
  for (const auto& x : *operations(run.kinds(), Model::longest))
    run.step(x);
}

} // namespace caisson::test
