// The one interface of all policies.
//
// A policy is a state machine. It never blocks, reads no clock, draws no random
// number of its own and knows nothing of CAF: time, randomness and calls are
// handed to it, and it answers with decisions and with the time at which it
// wants to be woken next. A gate (or a test) hosts a stack of policies and
// guarantees, for each call and each policy:
//
//   admit ─┬─ pass ───────────────────────────┐
//          ├─ reject: the call is over here   │
//          └─ hold ─┬─ expire / env.resume ───┤   (down to the next layer)
//                   ├─ env.reject: over here  │
//                   └─ abandon: over here     │
//                                             ▼
//          ┌──────────────── the layers below, the worker
//          ▼
//   settle ─┬─ pass: the outcome goes up, the call is over here
//           └─ hold: as above; `resume` sends it down again (a retry)
//   abandon: instead of settle, if the call was cut off (deadline, cancel)
//
// A held call can also have children (see `child_call`), whose outcome comes to
// `child_done`, and from there, if the policy passes it on, to `settle`.
//
// So every admission is followed by exactly one `settle` that passes or by
// exactly one `abandon`, whatever happens to worker, caller or gate. All calls
// come from one actor: nothing needs a lock.
#pragma once

#include <caisson/errc.hpp>
#include <caisson/outcome.hpp>
#include <caisson/random.hpp>
#include <caisson/time.hpp>

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

/// Names a call within its gate for as long as the call lives. Never reused.
using call_id = std::uint64_t;

/// Whether a policy acts on its decisions.
enum class mode : std::uint8_t {
  /// Decide and act.
  enforce,
  /// Decide, count and tell, but let every call pass at once.
  observe,
  /// Do not even look.
  off,
};

[[nodiscard]] std::string_view name_of(mode m) noexcept;

/// Whether a call may be carried out twice.
enum class idempotence : std::uint8_t { unmarked, yes, no };

[[nodiscard]] std::string_view name_of(idempotence x) noexcept;

/// What a policy sees of a call.
struct call_info {
  call_id id = 0;
  /// When the call entered the gate.
  time_point arrived;
  /// When it must be answered at the latest: the earliest of the caller's
  /// deadline and those of the deadline layers above. `never` if there is none.
  /// A policy may change it in `admit` only, for the layers below it; the host
  /// puts the outer one back when the call leaves the policy.
  time_point deadline = never;
  /// Whether `deadline` is the host's default, for calls that bring none: a
  /// policy whose deadline takes its place sets this to false.
  bool default_deadline = false;
  /// Higher is more important; 0 is the default.
  std::int32_t priority = 0;
  /// What the call weighs at semaphores and limiters, at least 1.
  std::uint32_t permits = 1;
  /// 1 for the first attempt; counts across chained gates.
  std::uint32_t attempt = 1;
  idempotence idempotent = idempotence::unmarked;
  /// Groups calls, for policies that keep state per key.
  std::string key;
};

/// A policy's own notes on one call: up to 48 bytes inside the call's record.
/// A policy keeps one trivially copyable struct in it; `start` sets it up on
/// admission, `as` finds it again.
class slot {
public:
  static constexpr std::size_t capacity = 48;

  template <class T>
  T& start(const T& value = T{}) {
    static_assert(sizeof(T) <= capacity && alignof(T) <= 8);
    static_assert(std::is_trivially_copyable_v<T>);
    return *new (bytes_) T(value);
  }

  template <class T>
  T& as() {
    return *std::launder(reinterpret_cast<T*>(bytes_));
  }

private:
  alignas(8) std::byte bytes_[capacity];
};

/// A decision on a call: go on, turn back, or wait.
struct decision {
  enum class kind : std::uint8_t { pass, reject, hold };

  kind what = kind::pass;
  errc code = errc::cancelled;
  /// For `reject`: when to come back, zero if unknown.
  duration retry_after = duration::zero();
  /// For `hold`: when to ask `expire`, `never` if only `env.resume` ends it.
  time_point until = never;

  static decision pass() noexcept { return {}; }

  static decision reject(errc code,
                         duration retry_after = duration::zero()) noexcept {
    return {kind::reject, code, retry_after, never};
  }

  static decision hold(time_point until = never) noexcept {
    return {kind::hold, errc::cancelled, duration::zero(), until};
  }
};

/// What is told to subscribers.
enum class event_kind : std::uint8_t {
  /// `from` → `to`.
  state_changed,
  /// A call was turned away (or would have been, in observe mode).
  rejected,
  /// Another attempt was scheduled, after `delay`.
  retried,
  /// A result came after its call had been answered, or from an earlier era.
  late_result,
  /// The worker died, was started again, or was given up.
  worker_changed,
  /// A batch was sent.
  flushed,
  /// An alternative answered in place of the worker.
  fell_back,
  /// A deadline passed.
  expired,
  /// A permit was taken back from its holder.
  lease_ended,
  /// The configuration or an operator state changed.
  reconfigured,
  /// A function of the user's threw; `detail` says which and what.
  callback_failed,
};

inline constexpr std::uint8_t last_event_kind = 10;

[[nodiscard]] std::string_view name_of(event_kind kind) noexcept;

/// An event to subscribers; the texts are only read during `env::tell`.
struct event_info {
  event_kind kind;
  std::string_view from = {};
  std::string_view to = {};
  std::string_view detail = {};
  call_id call = 0;
  duration delay = duration::zero();
};

/// A call that a policy starts by itself, on behalf of calls that it holds (its
/// parents) or of none. The parents stay held. When the child has its outcome,
/// `policy::child_done` says what becomes of them.
///
/// With it a batch is many parents and one child, a hedge one parent and
/// several children, a fallback one parent and a child to another target,
/// single flight a child that more parents join, a look at what an attempt did
/// a child between two attempts, and a probe or a mirrored call a child without
/// a parent.
struct child_call {
  /// Sent down through the layers below this one to the worker.
  static constexpr std::uint32_t below = 0xffffffff;

  /// Calls that are held by this policy when the child starts; those that are
  /// not are left out. If all are left out, the child ends at once with
  /// `cancelled`. They lend it their priority, key and idempotence. When the
  /// last of them has left, the child is given up; one that is started without
  /// parents goes on until its own deadline, also if calls join it and leave.
  std::vector<call_id> parents = {};
  /// `below`, or the number of one of this layer's own targets.
  std::uint32_t target = below;
  /// When it must have ended at the latest. Its parents' deadlines count in any
  /// case: it is not pursued longer than the last of them can wait.
  time_point deadline = never;
  /// What it weighs at semaphores and limiters; 0: as its parent if there is
  /// just one, otherwise 1.
  std::uint32_t permits = 0;
};

/// The host's side: what a policy may read and ask for during a call to it.
/// Requests are carried out by the host after the policy has returned, in
/// order; one that concerns a call the policy does not hold any more is
/// ignored.
class env {
public:
  /// A request to the host.
  struct action {
    enum class kind : std::uint8_t {
      /// The held call goes down to the next layer.
      resume,
      /// The held call is over here, with `code` and `retry_after`.
      reject,
      /// The held call gets the layer's value number `index`, which comes to
      /// `settle`.
      answer,
      /// The child `index` is started.
      start_child,
      /// The held call becomes a parent of the child `index`.
      join_child,
      /// The child `index` is given up; its parents stay held.
      cancel_child,
    };
    kind what;
    call_id call = 0;
    errc code = errc::cancelled;
    duration retry_after = duration::zero();
    std::uint64_t index = 0;
  };

  env(time_point t, random_source& r) : now(t), random(r) {}
  virtual ~env() = default;

  /// The present instant; does not change while a policy runs.
  time_point now;

  /// The gate's seeded source.
  random_source& random;

  /// What the policies asked for, in order. The host takes from here.
  std::vector<action> actions;

  void resume(call_id call) { actions.push_back({action::kind::resume, call}); }

  void reject(call_id call, errc code,
              duration retry_after = duration::zero()) {
    actions.push_back({action::kind::reject, call, code, retry_after});
  }

  void answer(call_id call, std::uint64_t value) {
    actions.push_back(
      {action::kind::answer, call, errc::cancelled, duration::zero(), value});
  }

  /// Starts a child call and returns its name.
  call_id start_child(child_call c) {
    auto child = make_child(std::move(c));
    ask(action::kind::start_child, child);
    return child;
  }

  /// Makes the held call a parent of a child of this policy that is under way.
  /// If the child is over by then, the call stays held.
  void join_child(call_id child, call_id parent) {
    ask(action::kind::join_child, child, parent);
  }

  /// Gives up a child of this policy; `child_done` is not called for it.
  void cancel_child(call_id child) { ask(action::kind::cancel_child, child); }

  /// Tells subscribers. Cheap if there are none.
  virtual void tell(const event_info&) {}

  /// A function of the user's threw while a policy called it: `function` says
  /// which one, `what` is the text of the exception. The policy goes on as if
  /// the function had no opinion. The host counts and tells it; a call that is
  /// being settled or admitted ends with `callback_failed`.
  virtual void callback_threw(std::string_view, std::string_view) {}

protected:
  /// Keeps what is known of a child until it is started, and names it; 0 if
  /// this host has no children.
  virtual call_id make_child(child_call) { return 0; }

private:
  void ask(action::kind what, call_id child, call_id parent = 0) {
    actions.push_back({what, parent, errc::cancelled, duration::zero(), child});
  }
};

/// One named number of a policy. Counters only grow; gauges go up and down.
struct metric {
  std::string_view name;
  std::int64_t value = 0;
  bool gauge = false;
};

/// What an operator can say to a policy.
enum class operator_command : std::uint8_t {
  /// Refuse every call until told otherwise (breakers only).
  force_open,
  /// Let every call pass until told otherwise (breakers only).
  force_closed,
  /// Act as with `mode::off`.
  off,
  /// Back to the configured mode and to automatic states.
  enable,
  /// Act as with `mode::observe`.
  observe,
  /// Forget the history: counters to zero, state as after the start. Operator
  /// states, held calls and permits stay.
  reset,
};

inline constexpr std::uint8_t last_operator_command = 5;

[[nodiscard]] std::string_view name_of(operator_command c) noexcept;

/// The command of that name, if there is one.
[[nodiscard]] std::optional<operator_command>
operator_command_named(std::string_view name) noexcept;

/// A policy; see the top of this file for the order of calls.
class policy {
public:
  virtual ~policy() = default;

  /// What kind of policy this is, such as `breaker`; static storage.
  [[nodiscard]] virtual std::string_view kind() const noexcept = 0;

  /// A call wants to pass. On `pass` and `hold` the policy has the call (and
  /// its slot) until it is settled or abandoned, on `reject` it has not.
  virtual decision admit(call_info& call, slot& notes, env& e) = 0;

  /// An admitted call came back with `result`. `pass` hands the (possibly
  /// changed) outcome up; `hold` keeps the call, to send it again or elsewhere.
  /// `reject` replaces the outcome by an error of this policy.
  virtual decision settle(call_info& call, slot& notes, outcome& result, env& e)
    = 0;

  /// The call is gone: its deadline passed above this layer, its caller or the
  /// gate died, or (in observe mode) it passed although the policy would have
  /// held it. The policy gives back what it holds for the call. `why` is what
  /// the caller is told, with what the layer knows by then of `reached`;
  /// `in_flight` says whether the call was below this layer rather than held by
  /// it.
  virtual void abandon(call_info& call, slot& notes, const outcome& why,
                       bool in_flight, env& e)
    = 0;

  /// The `until` of a hold has come. `pass` sends the call down.
  virtual decision expire(call_info& call, slot& notes, env& e);

  /// The deadline that this policy put on the call has passed while the call
  /// was below it. `reject` cuts the call off here with that error; `pass`
  /// lets it go on without this deadline.
  virtual decision deadline_passed(call_info& call, slot& notes, env& e);

  /// A child of this policy has its outcome, or was given up because none of
  /// its parents is left. `pass`: each parent gets the outcome (or its part of
  /// it), which comes to `settle`. `reject`: each gets this error instead.
  /// `hold`: they stay held, and the policy sees to them. Not called once the
  /// host ends.
  virtual decision child_done(call_id child, outcome& result, env& e);

  /// When `wake` wants to be called next. Asked after each call to the policy.
  [[nodiscard]] virtual time_point wakeup() const { return never; }

  /// The instant given by `wakeup` has come.
  virtual void wake(env&) {}

  /// The gate is being drained: no new calls will come, held ones are to be
  /// finished soon. A batcher flushes.
  virtual void drain(env&) {}

  /// The name of the state it is in; static storage. Empty for policies
  /// without states.
  [[nodiscard]] virtual std::string_view state() const { return {}; }

  /// All counters and gauges.
  virtual void list_metrics(std::vector<metric>& out) const = 0;

  /// Carries out `force_open`, `force_closed`, `enable` (lift what was forced)
  /// or `reset`; the other commands are the host's. Returns false if this
  /// policy knows no such command.
  virtual bool command(operator_command c, env& e) = 0;

  /// Whether calls may have to be sent more than once, so that the host must
  /// keep their content.
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
