// The interface of all policies.
//
// A policy is a state machine. It never blocks, reads no clock, has no random
// source of its own and does not depend on CAF. It gets time, randomness and
// calls as arguments, and returns decisions and the time of its next wake-up. A
// host (a gate, a guard or a test) has a stack of policies and guarantees, for
// each call and each policy:
//
//   admit ─┬─ pass ───────────────────────────┐
//          ├─ reject: the call is over here   │
//          └─ hold ─┬─ expire / env.resume ───┤   (down to the next layer)
//                   ├─ env.reject: over here  │
//                   └─ abandon: over here     │
//                                             ▼
//          ┌──────────────── the layers below, the worker
//          ▼
//   complete ─┬─ pass: the outcome goes up, the call is over here
//             └─ hold: as above; `resume` sends it down again (a retry)
//   abandon: instead of complete, if the call was cut off (deadline, cancel)
//
// A held call can also have children (see `child_call`). Their outcome comes to
// `child_done`, and from there, if the policy passes it on, to `complete`.
//
// So every admission is followed by exactly one `complete` that passes or
// exactly one `abandon`, whatever happens to worker or caller, as long as the
// host lives. The host makes one call at a time, so no locks are needed.
#pragma once

#include <caisson/base/random.hpp>
#include <caisson/base/time.hpp>
#include <caisson/policy/call_info.hpp>
#include <caisson/policy/decision.hpp>
#include <caisson/policy/errc.hpp>
#include <caisson/policy/measurements.hpp>
#include <caisson/policy/operation.hpp>
#include <caisson/policy/outcome.hpp>
#include <caisson/policy/slot.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace caisson {

template <class Count>
class basic_histogram;
using wide_histogram = basic_histogram<std::uint64_t>;

/// An event for subscribers. The texts must be valid only during `env::emit`.
struct event_info {
  event_kind kind;            ///< What has happened.
  std::string_view from = {}; ///< The state or limit before.
  std::string_view to = {};   ///< The one after, an error's name or an outcome.
  std::string_view detail = {};      ///< In words, for people.
  call_id call = 0;                  ///< The call concerned; 0: none.
  duration delay = duration::zero(); ///< As the kind says, or zero.
  /// The key concerned, if the policy keeps a state for each key.
  std::string_view key = {};
};

/// A call that a policy starts itself, on behalf of calls that it holds (its
/// parents) or without parents. The parents stay held. When the child has its
/// outcome, `policy::child_done` decides about them.
///
/// A batch is many parents and one child. A hedge is one parent and several
/// children. A fallback is one parent and a child to another target. Single
/// flight is a child that more parents join. A check of what an attempt did is
/// a child between two attempts. A probe or a mirrored call is a child without
/// a parent.
struct child_call {
  /// Down through the layers below this one to the worker.
  static constexpr std::uint32_t below = 0xffffffff;

  /// Calls that this policy holds when the child starts; others are left out.
  /// If all are left out, the child ends at once with `cancelled`. The child
  /// gets their priority, key (unless they differ) and idempotence. When the
  /// last of them has left, the child is cancelled. A child started without
  /// parents continues until its own deadline, even if calls join it and leave.
  std::vector<call_id> parents = {};
  /// `below`, or the number of one of this layer's own targets.
  std::uint32_t target = below;
  /// When it must have ended at the latest. Its parents' deadlines always
  /// apply: it does not continue longer than the last of them can wait.
  time_point deadline = never;
  /// Its weight at semaphores and limiters; 0: as its parent if there is just
  /// one, otherwise 1.
  std::uint32_t permits = 0;
  /// The key of a child without parents, or in place of the parents' key if it
  /// is not empty.
  std::string key = {};
  /// Priority and idempotence of a child without parents.
  std::int32_t priority = 0;
  idempotence idempotent = idempotence::unmarked; ///< See `priority`.
  /// See `call_info::written_back`; of a child without parents.
  bool written_back = false;
  /// The call that gave rise to a child without parents: the child belongs to
  /// the same trace. 0: none.
  call_id started_by = 0;
};

/// The host's side: what a policy may read and request during a call to it. The
/// host carries out requests in order after the policy has returned. It ignores
/// a request about a call that the policy no longer holds.
class env {
public:
  /// A request to the host.
  struct action {
    /// What the host is asked to do.
    enum class kind : std::uint8_t {
      /// The held call goes down to the next layer.
      resume,
      /// The held call is rejected, with `code` and `retry_after`.
      reject,
      /// The held call gets the layer's value number `index`, which comes to
      /// `complete`.
      answer,
      /// The child `index` is started.
      start_child,
      /// The held call becomes a parent of the child `index`.
      join_child,
      /// The child `index` is cancelled; its parents stay held.
      cancel_child,
      /// The layers above are notified of an attempt that timed out.
      attempt_timed_out,
    };
    kind what;                   ///< Says which of the others it uses.
    call_id call = 0;            ///< The held call; 0: none.
    errc code = errc::cancelled; ///< Of `reject`.
    duration retry_after = duration::zero(); ///< Of `reject`; zero: unknown.
    std::uint64_t index = 0; ///< The value's number, or a child's ID.
    /// Of `answer`: whether the call may have executed all the same.
    bool executed = false;
  };

  /// At the instant `t`, with the random source `r`, which must outlive this.
  env(time_point t, random_source& r) : now(t), random(r) {}
  virtual ~env() = default;

  /// The current instant; does not change while a policy runs.
  time_point now;

  /// The gate's seeded source. Two gates with the same seed draw the same.
  random_source& random;

  /// The requests of policies, in order, for the host.
  std::vector<action> actions;

  /// Sends the held call down to the next layer, perhaps once more (a retry).
  void resume(call_id call) { actions.push_back({action::kind::resume, call}); }

  /// Ends the held call with the error `code`; it does not come to `complete`.
  /// `retry_after` is not negative, and zero if unknown.
  void reject(call_id call, errc code,
              duration retry_after = duration::zero()) {
    actions.push_back({action::kind::reject, call, code, retry_after});
  }

  /// Answers the held call with the layer's value number `value`, which comes
  /// to `complete` of this policy. `executed`: whether what the call asks for
  /// is done all the same, now or later, such as a write that is sent to the
  /// worker afterwards; an error in place of the value then says so.
  void answer(call_id call, std::uint64_t value, bool executed = false) {
    actions.push_back({action::kind::answer, call, errc::cancelled,
                       duration::zero(), value, executed});
  }

  /// Starts a child call and returns its ID.
  call_id start_child(child_call c) {
    auto child = make_child(std::move(c));
    ask(action::kind::start_child, child);
    return child;
  }

  /// Makes the held call a parent of a running child of this policy. If the
  /// child has already ended, the call stays held.
  void join_child(call_id child, call_id parent) {
    ask(action::kind::join_child, child, parent);
  }

  /// Cancels a child of this policy; `child_done` is not called for it.
  void cancel_child(call_id child) { ask(action::kind::cancel_child, child); }

  /// The call as it is now, if the policy has it: a call that serves others may
  /// have been joined since its admission by some with more time, or that must
  /// not be carried out twice. Null if there is none, or if the host does not
  /// support this. Valid during this call.
  [[nodiscard]] virtual const call_info* find(call_id /*call*/) const {
    return nullptr;
  }

  /// The worst state of the gate's breakers for calls with that key (empty: for
  /// those without one): of all layers whose mode is `enforce`, above and below
  /// this one.
  [[nodiscard]] virtual caisson::circuit
  circuit(std::string_view /*key*/) const {
    return caisson::circuit::closed;
  }

  /// How long these have taken in this gate since its start or last reset,
  /// those that succeeded (`ok`) or those that did not; null if there was none
  /// yet, or if the host does not measure. Valid during this call.
  [[nodiscard]] virtual const wide_histogram* durations(measured /*what*/,
                                                        bool /*ok*/) const {
    return nullptr;
  }

  /// How long messages wait in the host's mailbox, nothing without one: the
  /// last probe or, if that is longer, the one in flight so far. Probes that
  /// have come by `since` do not count: zero, if there was none later. Then
  /// sends another one, unless one is in flight for this or another policy.
  [[nodiscard]] virtual std::optional<duration>
  probe_mailbox(time_point /*since*/) {
    return std::nullopt;
  }

  /// Notifies the layers above that an attempt at the call ran into its timeout
  /// and is followed by another one, so that they never see its outcome. They
  /// are notified (`policy::attempt_timed_out`) after this policy has returned.
  void attempt_timed_out(call_id call) {
    actions.push_back({action::kind::attempt_timed_out, call});
  }

  /// The next 64 bits for what must be unique or must not be guessed, whatever
  /// the seed. A host without such a source takes them from `random`.
  [[nodiscard]] virtual std::uint64_t secret_bits() { return random.bits(); }

  /// Keeps the host open until this layer passes `false`, because it has work
  /// left for calls that are over: a drain does not end before, and a gate
  /// stays alive even without references.
  virtual void hold_open(bool) {}

  /// Sends an event to subscribers. Cheap if there are none.
  virtual void emit(const event_info&) {}

  /// Sends `state_changed` with the reason `why`, unless `to` is `from`.
  void emit_change(std::string_view from, std::string_view to,
                   std::string_view why) {
    if (from != to)
      emit({.kind = event_kind::state_changed,
            .from = from,
            .to = to,
            .detail = why});
  }

  /// The call begins to wait in a queue of this layer: `running` have what it
  /// waits for, `waiting` wait, this one included. Sends the event `waiting` if
  /// the gate's settings ask for it; otherwise cheap. `key` as in `event_info`.
  virtual void emit_wait(call_id /*call*/, std::size_t /*running*/,
                         std::size_t /*waiting*/,
                         std::string_view /*key*/ = {}) {}

  /// A user function threw while a policy called it: `function` is its name,
  /// `what` the text of the exception. The policy continues as if the function
  /// had not decided. The host counts it and sends an event. A call that is
  /// being completed or admitted ends with `callback_failed`.
  virtual void callback_threw(std::string_view, std::string_view) {}

protected:
  /// Stores a child until it is started, and returns its ID; 0 if this host
  /// does not support children.
  virtual call_id make_child(child_call) { return 0; }

private:
  void ask(action::kind what, call_id child, call_id parent = 0) {
    actions.push_back({what, parent, errc::cancelled, duration::zero(), child});
  }
};

/// One named number of a policy. Counters only increase; gauges go up and down.
struct metric {
  std::string_view name;  ///< Valid until the policy's settings change.
  std::int64_t value = 0; ///< A duration has its unit in the name.
  bool gauge = false;     ///< Whether it goes up and down.
};

/// A command as a policy gets it.
struct policy_command {
  // A command alone is one without an end, so that callers need not say so.
  policy_command(operator_command w, duration t = unlimited)
    : what(w), time(t) {}

  /// Whether it holds until another command.
  [[nodiscard]] bool has_no_end() const noexcept { return time == unlimited; }

  operator_command what; ///< What to do.
  /// How long the command holds; positive.
  duration time;
};

/// A policy; see the top of this file for the order of calls.
class policy {
public:
  virtual ~policy() = default;

  /// What kind of policy this is, such as `breaker`; static storage.
  [[nodiscard]] virtual std::string_view kind() const noexcept = 0;

  /// A call arrives. On `pass` and `hold` the policy has the call (and its
  /// slot) until it is completed or abandoned. On `reject` it does not.
  virtual decision admit(call_info& call, slot& notes, env& e) = 0;

  /// A call arrives that gets its turn (`pass_from`), and is not held until
  /// then. Otherwise as `admit`.
  virtual decision reserve(call_info& call, slot& notes, const reservation&,
                           env& e) {
    return admit(call, notes, e);
  }

  /// An admitted call came back with `result`. `pass` passes the (possibly
  /// changed) outcome up. `hold` keeps the call, to send it again or elsewhere.
  /// `reject` replaces the outcome with an error of this policy.
  virtual decision complete(call_info& call, slot& notes, outcome& result,
                            env& e)
    = 0;

  /// The call is gone: its deadline passed above this layer, its caller died or
  /// cancelled it, or (in observe mode) it passed although the policy would
  /// have held it. The policy releases what it holds for the call. `why` is the
  /// outcome for the caller, with `may_have_executed` as this layer knows it.
  /// `in_flight` says whether the call was below this layer rather than held
  /// by it.
  virtual void abandon(call_info& call, slot& notes, const outcome& why,
                       bool in_flight, env& e)
    = 0;

  /// The `until` of a hold has come. `pass` sends the call down.
  virtual decision expire(call_info& call, slot& notes, env& e);

  /// The deadline that this policy set on the call has passed while the call
  /// was below it. `reject` cuts the call off here with that error. `pass` lets
  /// it continue without this deadline.
  virtual decision deadline_passed(call_info& call, slot& notes, env& e);

  /// Until when at most this policy lets the call stay below it; `never` if it
  /// sets no such limit. No permit is renewed beyond it.
  [[nodiscard]] virtual time_point latest_end(const call_info&, slot&) const {
    return never;
  }

  /// A child of this policy has its outcome, or was cancelled because no
  /// parents are left. `pass`: each parent gets the outcome (or its part of
  /// it), which comes to `complete`. `reject`: each gets this error instead.
  /// `hold`: they stay held, and the policy takes care of them. Not called once
  /// the host ends.
  virtual decision child_done(call_id child, outcome& result, env& e);

  /// An attempt of a layer further in has timed out, and the layer makes
  /// another one. Says nothing about a call of this policy. `key` is that of
  /// the call, empty if it has none.
  virtual void attempt_timed_out(std::string_view /*key*/, env&) {}

  /// What this policy says about the worker behind it, to calls with that key;
  /// empty: to those without one.
  [[nodiscard]] virtual caisson::circuit
  circuit(std::string_view /*key*/) const noexcept {
    return caisson::circuit::closed;
  }

  /// When to call `wake` next. The host asks after each call to the policy.
  [[nodiscard]] virtual time_point wakeup() const { return never; }

  /// The instant given by `wakeup` has come.
  virtual void wake(env&) {}

  /// The gate drains: no new calls will arrive, and held ones should finish
  /// soon. A batcher flushes.
  virtual void drain(env&) {}

  /// The name of the current state; static storage. Empty for policies without
  /// states.
  [[nodiscard]] virtual std::string_view state() const { return {}; }

  /// All counters and gauges.
  virtual void list_metrics(std::vector<metric>& out) const = 0;

  /// Carries out `force_open` or `force_closed` (then the automatic state
  /// decides again when the command's time is over), `enable` (lift a forced
  /// state) or `reset`; the host handles the other commands. Returns false if
  /// this policy does not support the command, or not for a limited time, and
  /// then changes nothing.
  virtual bool command(policy_command c, env& e) = 0;

  /// Whether calls may be sent more than once, so that the host must keep what
  /// they contain. It asks again when settings have changed, for calls to come.
  [[nodiscard]] virtual bool resends() const noexcept { return false; }
};

inline decision policy::expire(call_info&, slot&, env&) {
  return decision::pass();
}

inline decision policy::child_done(call_id, outcome&, env&) {
  return decision::pass();
}

inline decision policy::deadline_passed(call_info&, slot&, env&) {
  return decision::reject(errc::deadline_exceeded);
}

} // namespace caisson
