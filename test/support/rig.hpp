// A rig: one policy without any actor, in a time that the test sets.
#pragma once

#include <caisson/policy/policy.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace caisson::test {

/// A call that needs so many permits.
inline call_info heavy(std::uint32_t permits) {
  call_info f;
  f.permits = permits;
  return f;
}

/// A call with that key.
inline call_info of_key(std::string key) {
  call_info c;
  c.key = std::move(key);
  return c;
}

/// Where a call is.
enum class place { below, held, rejected, passed, abandoned, redirected };

/// Acts as the gate of a single policy: keeps the calls, carries out
/// what the policy asks for, fires holds and wake-ups in order of time.
template <class Policy>
class rig {
public:
  struct entry {
    call_info call;
    slot notes;
    place where = place::below;
    errc code{};              // of the rejection
    duration retry_after{};   // of the rejection
    time_point until = never; // of the hold
    std::uint64_t index = 0;  // of the value or the target it went to
    int descents = 0;         // how often it went down
    outcome result;           // what went up
    time_point outer = never; // the deadline that it came with
    bool outer_is_default = false;
  };

  struct recording final : env {
    using env::env;
    void emit(const event_info& n) override {
      reports.push_back(std::string{name_of(n.kind)} + ":" + std::string{n.from}
                        + ">" + std::string{n.to});
      details.emplace_back(n.detail);
      keys.emplace_back(n.key);
      delays.push_back(n.delay);
    }
    void emit_wait(call_id call, std::size_t running, std::size_t waiting,
                   std::string_view) override {
      waits.push_back({call, running, waiting});
    }
    void callback_threw(std::string_view function,
                        std::string_view what) override {
      threw.push_back(std::string{function} + ": " + std::string{what});
    }
    void hold_open(bool x) override { held_open = x; }
    [[nodiscard]] const call_info* find(call_id call) const override {
      auto i = known->find(call);
      if (i == known->end() || i->second.where == place::passed
          || i->second.where == place::rejected
          || i->second.where == place::abandoned)
        return nullptr;
      return &i->second.call;
    }
    const std::map<call_id, entry>* known = nullptr;
    bool held_open = false;
    std::vector<std::string> reports;
    /// What was said besides, of the same events.
    std::vector<std::string> details;
    /// How long, of the same events.
    std::vector<duration> delays;
    /// Whose key, of the same events.
    std::vector<std::string> keys;
    std::vector<std::string> threw;
    /// Which calls began to wait, and how many ran and waited then.
    std::vector<std::array<std::uint64_t, 3>> waits;
    [[nodiscard]] caisson::circuit circuit(std::string_view) const override {
      return breakers;
    }
    std::optional<duration> probe_mailbox(time_point since) override {
      ++probes;
      asked_since = since;
      return mailbox;
    }
    /// How long the last message waited in the mailbox, if there is one.
    std::optional<duration> mailbox = {};
    /// How often the policy has asked for that, and since when it wants it.
    int probes = 0;
    time_point asked_since;
    /// The worst state of the gate's breakers.
    caisson::circuit breakers = caisson::circuit::closed;
    /// Whose attempts ran into a timeout, as the layers above learn.
    std::vector<call_id> timed_out;
    /// Child number i is called i + 1.
    std::vector<child_call> children;

  protected:
    call_id make_child(child_call c) override {
      children.push_back(std::move(c));
      return children.size();
    }
  };

  template <class... Ts>
  explicit rig(Ts&&... xs)
    : policy(std::forward<Ts>(xs)...), random(7), e(start(), random) {
    e.known = &calls;
  }

  static time_point start() { return time_point{} + std::chrono::hours(1); }

  /// Time since the start.
  duration now() const { return e.now - start(); }

  /// Lets a call arrive now.
  call_id arrive(call_info call = {}) {
    call.id = ++last_;
    call.arrived = e.now;
    auto& x = calls[call.id];
    x.call = call;
    x.outer = call.deadline;
    x.outer_is_default = call.default_deadline;
    x.descents = 0;
    auto d = policy.admit(x.call, x.notes, e);
    if (acts != mode::enforce && d.what == decision::kind::hold
        && !d.in_all_modes) {
      policy.abandon(x.call, x.notes, outcome::failure(errc::cancelled, false),
                     false, e);
      x.where = place::abandoned;
    } else {
      decide(x, d);
    }
    work();
    return call.id;
  }

  /// The same, with so much time left; it may be negative.
  call_id arrive_with(duration left, call_info call = {}) {
    call.deadline = left == unlimited ? never : e.now + left;
    return arrive(std::move(call));
  }

  /// Lets `n` calls arrive at this instant.
  std::vector<call_id> arrive_together(int n, const call_info& call = {}) {
    std::vector<call_id> ids;
    for (int i = 0; i < n; ++i)
      ids.push_back(arrive(call));
    return ids;
  }

  /// Whether a call that comes now is let through; it is answered at once with
  /// what `worker` gives, and then forgotten.
  bool offer(
    const call_info& call = {}, const std::function<outcome()>& worker = [] {
      return outcome::success();
    }) {
    auto id = arrive(call);
    auto passes = where(id) == place::below;
    if (passes)
      finish(id, worker());
    calls.erase(id);
    return passes;
  }

  /// The call comes back from below.
  void finish(call_id id, outcome o = outcome::success()) {
    auto& x = calls.at(id);
    x.result = o;
    auto d = keeping_its_deadline(
      x, [&] { return policy.complete(x.call, x.notes, x.result, e); });
    if (d.what == decision::kind::pass) {
      x.where = place::passed;
      restore_deadline(x);
    } else {
      decide(x, d);
    }
    work();
  }

  void fail(call_id id, errc code = errc::worker_down,
            bool may_have_executed = true) {
    finish(id, outcome::failure(code, may_have_executed));
  }

  /// The call is taken away.
  void abandon(call_id id, errc why = errc::deadline_exceeded) {
    auto& x = calls.at(id);
    auto in_flight = x.where == place::below || x.where == place::redirected;
    x.where = place::abandoned;
    x.until = never;
    keeping_its_deadline(x, [&] {
      policy.abandon(x.call, x.notes, outcome::failure(why, in_flight),
                     in_flight, e);
    });
    restore_deadline(x);
    work();
  }

  /// The host finds the deadline that the policy gave the call passed. Only if
  /// it `enforces` it does the call end here.
  decision pass_deadline(call_id id, bool enforces) {
    auto& x = calls.at(id);
    auto d = keeping_its_deadline(
      x, [&] { return policy.deadline_passed(x.call, x.notes, e); });
    restore_deadline(x);
    if (enforces)
      decide(x, d);
    work();
    return d;
  }

  /// Moves the clock to `t` after the start, stopping at each hold's end and
  /// each wake-up on the way; equal times fire in the order of call ids, holds
  /// before the wake-up.
  void advance_to(duration t) {
    auto end = start() + t;
    for (;;) {
      auto due = policy.wakeup();
      call_id first = 0;
      for (auto& [id, x] : calls)
        if (x.where == place::held
            && (x.until < due
                || (x.until == due && first == 0 && x.until != never)))
          due = x.until, first = id;
      if (due > end || due == never)
        break;
      e.now = std::max(e.now, due);
      if (first == 0) {
        policy.wake(e);
      } else {
        auto& x = calls.at(first);
        decide(x, keeping_its_deadline(
                    x, [&] { return policy.expire(x.call, x.notes, e); }));
      }
      work();
    }
    e.now = std::max(e.now, end);
  }

  void advance(duration d) { advance_to(now() + d); }

  /// Steps the clock back, as clocks should not.
  void set_clock(duration t) { e.now = start() + t; }

  place where(call_id id) const { return calls.at(id).where; }

  std::string state() const { return std::string{policy.state()}; }

  std::int64_t count(std::string_view name) const {
    std::vector<metric> ms;
    policy.list_metrics(ms);
    for (auto& m : ms)
      if (m.name == name)
        return m.value;
    return -1;
  }

  /// Children that the policy started downwards, not yet taken by the test.
  std::vector<std::uint64_t> launched;

  /// In which mode the host has the policy. In others than `enforce`, calls
  /// that it would hold count as abandoned.
  mode acts = mode::enforce;

  Policy policy;
  random_source random;
  recording e;
  std::map<call_id, entry> calls;

  // Carries out what the policy has asked for.
  void work() {
    while (!e.actions.empty())
      for (auto& a : std::exchange(e.actions, {}))
        carry_out(a);
  }

  /// Gives the policy other settings.
  template <class Config = typename Policy::config_type>
  void reconfigure(const Config& c) {
    policy.reconfigure(c, e);
    work();
  }

  /// Gives the policy a command; returns its answer.
  bool command(policy_command c) {
    auto known = policy.command(c, e);
    work();
    return known;
  }

private:
  // Calls the policy, which may change a call's deadline in `admit` only.
  template <class F>
  static auto keeping_its_deadline(entry& x, F f) {
    auto before = std::pair{x.call.deadline, x.call.default_deadline};
    auto check = [&] {
      EXPECT_TRUE(before == std::pair(x.call.deadline, x.call.default_deadline))
        << "call " << x.call.id << " got another deadline";
    };
    if constexpr (std::is_void_v<decltype(f())>) {
      f();
      check();
    } else {
      auto result = f();
      check();
      return result;
    }
  }

  // The call leaves the policy.
  static void restore_deadline(entry& x) {
    x.call.deadline = x.outer;
    x.call.default_deadline = x.outer_is_default;
  }

  void decide(entry& x, const decision& d) {
    x.until = never;
    switch (d.what) {
      case decision::kind::pass:
        x.where = place::below;
        ++x.descents;
        break;
      case decision::kind::reject:
        x.where = place::rejected;
        x.code = d.code;
        x.retry_after = d.retry_after;
        restore_deadline(x);
        break;
      case decision::kind::hold:
        x.where = place::held;
        x.until = d.until;
        break;
    }
  }

  void carry_out(const env::action& a) {
    using kind = env::action::kind;
    if (a.what == kind::attempt_timed_out) {
      e.timed_out.push_back(a.call);
      return;
    }
    if (a.what == kind::start_child) {
      const auto& child = e.children.at(a.index - 1);
      if (child.target == child_call::below)
        launched.push_back(a.index);
      else
        for (auto id : child.parents)
          redirect(id, child.target);
      return;
    }
    if (a.what == kind::join_child) {
      e.children.at(a.index - 1).parents.push_back(a.call);
      return;
    }
    auto i = calls.find(a.call);
    if (i == calls.end())
      return;
    // One that waits for another target is held, too, and leaves it.
    auto where = i->second.where;
    if (where != place::held
        && (where != place::redirected || a.what != kind::resume))
      return;
    if (a.what == kind::resume)
      decide(i->second, decision::pass());
    else if (a.what == kind::reject)
      decide(i->second, decision::reject(a.code, a.retry_after));
    else
      redirect(a.call, a.index);
  }

  void redirect(call_id id, std::uint64_t to) {
    auto i = calls.find(id);
    if (i == calls.end() || i->second.where != place::held)
      return;
    i->second.where = place::redirected;
    i->second.index = to;
    i->second.until = never;
  }

  call_id last_ = 0;
};

} // namespace caisson::test
