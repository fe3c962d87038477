// All messages of Caisson, in one type-id block.
//
// Durations are nanoseconds. Instants are nanoseconds of the actor system's
// clock and are valid within one node only; across the network, messages carry
// the time left. No message contains a floating-point number, because CAF 0.17
// cannot send infinities.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/call_options.hpp>
#include <caisson/caf/detail/helper_messages.hpp>
#include <caisson/caf/status.hpp>
#include <caisson/policy/call_info.hpp>
#include <caisson/policy/errc.hpp>
#include <caisson/policy/operation.hpp>
#include <caisson/policy/outcome.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

// -- limits -------------------------------------------------------------------

/// The longest `key` of a call or an `acquire`, and the longest
/// `idempotency_key`, in bytes.
inline constexpr std::size_t max_key_length = 1024;

/// The number of gates in a chain that one call may pass.
inline constexpr std::size_t max_path_length = 64;

/// The longest name of a layer, a command or a setting in a control message, in
/// bytes.
inline constexpr std::size_t max_name_length = 1024;

/// How many settings one `reconfigure` may change.
inline constexpr std::size_t max_settings = 256;
/// The longest text of a setting in a `reconfigure`, in bytes.
inline constexpr std::size_t max_setting_length = 65'536;

/// How many actors may subscribe to the events of one gate.
inline constexpr std::size_t max_subscribers = 256;

/// How many requests to drain a gate may wait for its last call.
inline constexpr std::size_t max_drains = 256;

// -- types --------------------------------------------------------------------

/// Registers CAF's own types and Caisson's with CAF 1.x. Does nothing on 0.17,
/// or a second time. Call it before any actor system exists.
void init_types();

namespace detail {

/// The message `xs...`, for objects that may be created before any config, such
/// as a stack: CAF 1.x creates no message, not even of an integer, before types
/// are registered.
template <class... Ts>
caf::message make_early(Ts&&... xs) {
  init_types();
  return caf::make_message(std::forward<Ts>(xs)...);
}

} // namespace detail

// -- enumerations -------------------------------------------------------------

/// What the holder of a permit says about its work.
enum class release_outcome : std::uint8_t {
  success,
  failure,
  /// Nothing: no layer is to draw a conclusion from it.
  neutral,
};

[[nodiscard]] std::string_view name_of(release_outcome x) noexcept;

CAISSON_ENUM(event_kind, last_event_kind)
CAISSON_ENUM(operator_command, last_operator_command)
CAISSON_ENUM(effect, effect::not_done)
CAISSON_ENUM(release_outcome, release_outcome::neutral)

// -- calls --------------------------------------------------------------------

/// The envelope: a message with options. A gate unwraps the payload for a plain
/// worker, and passes the envelope on to a gate or a worker declared to handle
/// it (see worker.hpp).
struct call {
  caf::message payload = {}; ///< The message, of any types.
  call_options options = {}; ///< What layers go by.

  /// Sets the deadline to `d` from receipt. If `d` is not positive, such as a
  /// `time_until` that is over, the call is refused as expired.
  call&& within(duration d) && {
    options.time_left = d > duration::zero() ? d : no_time_left;
    return std::move(*this);
  }
  /// Sets the deadline to `t`; for receivers in this node.
  call&& by(time_point t) && {
    options.deadline_ns = t.time_since_epoch().count();
    return std::move(*this);
  }
  /// Marks whether the call may be carried out twice.
  call&& idempotent(bool yes = true) && {
    options.idempotent = yes ? idempotence::yes : idempotence::no;
    return std::move(*this);
  }
  /// Higher is more important; 0 without this.
  call&& priority(std::int32_t p) && {
    options.priority = p;
    return std::move(*this);
  }
  /// 1 to 128; see `call_options::user_priority`.
  call&& user_priority(std::uint8_t p) && {
    options.user_priority = p;
    return std::move(*this);
  }
  /// The weight at semaphores and limiters; 1 without this, and 0 counts as 1.
  call&& permits(std::uint32_t n) && {
    options.permits = n;
    return std::move(*this);
  }
  /// At most `max_key_length` bytes; see `call_options::key`.
  call&& key(std::string k) && {
    options.key = std::move(k);
    return std::move(*this);
  }
  /// Names the call, so that a worker can recognise further attempts at it.
  call&& idempotency_key(std::string k) && {
    options.idempotency_key = std::move(k);
    return std::move(*this);
  }
  /// Puts the call into a distributed trace.
  call&& traceparent(std::string x) && {
    options.traceparent = std::move(x);
    return std::move(*this);
  }
  /// What tracing systems know of that trace, as W3C Trace Context says; an
  /// invalid one is left out (see propagated_fields.hpp).
  call&& tracestate(std::string_view x) && {
    options.propagated.set_tracestate(x);
    return std::move(*this);
  }
  /// What the caller says of the call for all that it goes to, as W3C Baggage
  /// says; invalid members are left out (see propagated_fields.hpp).
  call&& baggage(std::string_view x) && {
    options.propagated.set_baggage(x);
    return std::move(*this);
  }
};
CAISSON_MESSAGE(call, payload, options)

/// A `call` with the message `xs...`, to which you can add options:
///
///     self->request(gate, 5s, wrap(query{"x"}).within(2s).key("tenant-7"))
template <class... Ts>
[[nodiscard]] call wrap(Ts&&... xs) {
  return {detail::make_early(std::forward<Ts>(xs)...), {}};
}

/// Sent to a worker declared to handle it: the sender no longer needs an answer
/// to its message with this number (`portable::current_call`).
struct cancelled {
  std::uint64_t number = 0; ///< Unique among those of its sender.
};
CAISSON_MESSAGE(cancelled, number)

// -- permits without a worker -------------------------------------------------

/// Requests a permit. It passes the gate's stack like a call. The call's work
/// is what the holder does until `release`.
struct acquire {
  std::uint32_t permits = 1; ///< At least 1; 0 counts as 1.
  /// For waiting and holding together; zero: the gate's default deadline;
  /// negative: refused as expired. A rest of time may be exactly zero: see
  /// `no_time_left`.
  duration time_left = duration::zero();
  std::int32_t priority = 0; ///< Higher is more important.
  std::string key = {};      ///< As in `call_options`.
  /// Whether limiters promise a turn and do not make it wait: see `starts_in`.
  bool reserve = false;
  /// With `reserve`: how late from receipt the turn may come, at most.
  duration max_wait = unlimited;
};
CAISSON_MESSAGE(acquire, permits, time_left, priority, key, reserve, max_wait)

/// A lease. It ends with `release`, when its holder dies, or when `expires`
/// (time left from now; `unlimited` if never) has passed. `renew` prolongs it.
/// See ticket.hpp for a permit that releases itself.
struct permit {
  std::uint64_t id = 0; ///< For `release` and `renew`; 0: no permit.
  duration expires = duration::zero(); ///< See above.
  /// How long its holder must wait before it begins; see `acquire::reserve`.
  duration starts_in = duration::zero();
};
CAISSON_MESSAGE(permit, id, expires, starts_in)

/// Releases a permit. The answer is empty, or `no_such_permit` if it is not
/// held; then no count changes.
struct release {
  std::uint64_t id = 0; ///< That of the permit.
  /// Reports to the stack that the work failed, so that a breaker counts it.
  /// Short for `outcome = failure`, and takes precedence over it.
  bool failed = false;
  release_outcome outcome = release_outcome::success; ///< How the work went.
};
CAISSON_MESSAGE(release, id, failed, outcome)

/// Prolongs a lease. The answer is `permit` with the time that is left, or
/// `no_such_permit` if the sender is not its holder, or it has ended. A renewal
/// never shortens a lease, and never prolongs it beyond the gate's `max_lease`,
/// or beyond what a deadline layer allows.
struct renew {
  std::uint64_t id = 0; ///< That of the permit.
  /// From now on; zero: the gate's default deadline; negative: nothing changes.
  duration time_left = duration::zero();
};
CAISSON_MESSAGE(renew, id, time_left)

// -- operation ----------------------------------------------------------------

/// Answered with `status`.
struct get_status {};
CAISSON_MESSAGE(get_status)

/// Changes settings of one layer at run time. Keys are those of the layer's
/// page in the docs (nested ones with dots), values are texts. The answer is
/// the new `status`, or `invalid_config` if nothing has changed.
struct reconfigure {
  /// The layer's name; may be empty if the stack has one layer.
  std::string layer = {};
  /// The new values as texts, by keys: at most `max_settings`, each at most
  /// `max_setting_length` bytes long. All of them are changed, or none.
  std::map<std::string, std::string> set = {};
};
CAISSON_MESSAGE(reconfigure, layer, set)

/// An operator's command. The answer is the new `status`, or `invalid_config`.
struct command {
  operator_command what = operator_command::enable; ///< What to do.
  /// The layer's name. Empty: every layer that supports the command.
  std::string layer = {};
  /// For `force_open` and `force_closed`: how long, from receipt; zero: until
  /// another command. Other commands take zero only.
  duration for_time = duration::zero();
};
CAISSON_MESSAGE(command, what, layer, for_time)

/// The sender gets `event`s from now on, in order.
struct subscribe {};
CAISSON_MESSAGE(subscribe)

/// Ends `subscribe`: no further events, but those on their way still arrive.
struct unsubscribe {};
CAISSON_MESSAGE(unsubscribe)

/// Something that has happened in a gate, for its subscribers. The table in
/// docs/gate.md says which of the texts each kind uses.
struct event {
  /// Increases by one per event of the gate; a gap means that the subscriber
  /// missed events.
  std::uint64_t number = 0;
  std::int64_t time_ns = 0; ///< The time on the gate's clock.
  std::string gate = {};    ///< The gate's name.
  /// The layer's name; empty for the gate's own events.
  std::string layer = {};
  event_kind kind = event_kind::state_changed; ///< What happened.
  std::string from = {}; ///< The state or limit before; may be empty.
  std::string to = {};   ///< The one after, an error's name or an outcome.
  /// More in words, for people; of a policy with a state for each key it
  /// begins with the key.
  std::string detail = {};
  /// Which call of the gate, counted from 1; 0 if none. The gate's own calls,
  /// such as a batch, are counted as well.
  std::uint64_t call = 0;
  /// For how long, as `kind` says: until a retry or a restart, or how long a
  /// wait or an attempt took. Zero for kinds without a duration.
  duration delay = duration::zero();
  /// Of a call with a `traceparent`: the trace's id, the id of the gate's span
  /// for the call (of the attempt's span if an attempt has ended), and that of
  /// the span above it; in hexadecimal digits. Otherwise empty.
  std::string trace_id = {};
  std::string span_id = {};        ///< See `trace_id`.
  std::string parent_span_id = {}; ///< See `trace_id`.
  /// If the call or the attempt has ended: the `tracestate` of its trace.
  std::string tracestate = {};
};
CAISSON_MESSAGE(event, number, time_ns, gate, layer, kind, from, to, detail,
                call, delay, trace_id, span_id, parent_span_id, tracestate)

/// Makes the gate refuse new work, finish held calls and flush batches. The
/// answer is empty and comes once the last call is answered. The gate stays and
/// keeps refusing.
struct drain {};
CAISSON_MESSAGE(drain)

/// Makes a gate set (gate_set.hpp) read its file again. The answer is a
/// `reload_report`.
struct reload {
  std::string why = {}; ///< Who or what wants it, for events; may be empty.
};
CAISSON_MESSAGE(reload, why)

/// What a reload has changed at a gate.
struct gate_change {
  std::string gate = {};  ///< The gate's name.
  std::string layer = {}; ///< The layer's name; empty for the gate itself.
  /// For people: `added`, `removed`, `threshold = 5 (was 3)`.
  std::string what = {};
};
CAISSON_MESSAGE(gate_change, gate, layer, what)

/// What came of a reload.
struct reload_report {
  /// Why nothing was changed, or not all of it, a problem each, with file and
  /// line; empty if the file is in force.
  std::vector<std::string> problems = {};
  /// Ordered by the names of the gates. If a reload has succeeded only in part,
  /// there are changes and problems.
  std::vector<gate_change> changes = {};

  /// Whether the file is in force.
  [[nodiscard]] bool ok() const noexcept { return problems.empty(); }
};
CAISSON_MESSAGE(reload_report, problems, changes)

// -- batches ------------------------------------------------------------------

/// What a batcher sends to its worker by default: the messages of the items in
/// order of arrival.
struct batch {
  std::vector<caf::message> items = {}; ///< One for each call.
};
CAISSON_MESSAGE(batch, items)

/// The answer with one result per item, in the same order. A result may be a
/// message with a single `caf::error`. Items without a result get
/// `batch_failed`. Any other answer to a batch is the result of every item.
struct batch_reply {
  std::vector<caf::message> results = {}; ///< One for each item.
};
CAISSON_MESSAGE(batch_reply, results)

// -- dead letters -------------------------------------------------------------

/// Which calls of a gate are dead letters if they fail.
enum class dead_letter_calls : std::uint8_t {
  plain_sends, ///< Those whose sender waits for no answer.
  all,
};

/// A call that has failed for good, for the actor that gets a gate's dead
/// letters; see `worker::dead_letters_to`. Send `call{content, options}` to the
/// gate to try again.
struct dead_letter {
  std::string gate = {};     ///< The gate's name.
  caf::message content = {}; ///< What the caller sent.
  /// The options that the caller gave, with the idempotency key that a retrier
  /// may have made; without a deadline and the gates that the call has passed,
  /// and as a first attempt.
  call_options options = {};
  /// What the caller got, or would have got: a `caf::error`, or a value that
  /// counts as a failure. A Caisson error says which layer decided.
  caf::message answer = {};
  /// Whether a caller waited for it; false for plain sends.
  bool answered = false;
  /// How many messages were sent for the call: to the worker, to alternatives
  /// and to verifiers.
  std::uint32_t attempts = 0;
  /// Whether any worker may have carried it out, in any attempt.
  bool may_have_executed = false;
  duration age = duration::zero(); ///< From arrival to the end.
};
CAISSON_MESSAGE(dead_letter, gate, content, options, answer, answered, attempts,
                may_have_executed, age)

// -- verification -------------------------------------------------------------

/// The answer of a verifier, which a retrier asks what became of a call before
/// it repeats it; see `verifier` in retrier_layer.hpp.
struct verification {
  effect what = effect::unknown; ///< What became of it.
  /// With `done`: what the worker's answer to the call was, or would be.
  caf::message result = {};

  /// It was carried out, and its answer is `xs...`.
  template <class... Ts>
  static verification done(Ts&&... xs) {
    return {effect::done, detail::make_early(std::forward<Ts>(xs)...)};
  }
  /// It was certainly not carried out: the retrier may repeat it.
  static verification not_done() { return {effect::not_done, {}}; }
  /// The verifier cannot say.
  static verification unknown() { return {}; }
};
CAISSON_MESSAGE(verification, what, result)

// -- errors -------------------------------------------------------------------

/// The context of every Caisson error.
struct rejection {
  std::string policy = {}; ///< The layer or gate that decided.
  /// Do not retry earlier; zero if unknown.
  duration retry_after = duration::zero();
  /// Whether any worker may have seen the call, in any attempt.
  bool may_have_executed = false;
  std::string text = {}; ///< An explanation for people; may be empty.
  /// Whether a worker answered with this error, rather than a gate or a layer
  /// in front of it. Set by gates.
  bool from_worker = false;
  /// What a shedder reports to gates that call it, and nobody else: it sheds
  /// calls of levels below this one at present, 1 to 4096. 0: not said.
  std::uint16_t threshold = 0;
};
CAISSON_MESSAGE(rejection, policy, retry_after, may_have_executed, text,
                from_worker, threshold)

/// For people: `by payments, retry after 2.00 s: the text`. Found by CAF by
/// argument-dependent lookup, for `to_string` of an error.
[[nodiscard]] std::string to_string(const rejection& x);

} // namespace caisson

CAF_BEGIN_TYPE_ID_BLOCK(caisson_messages, caf::first_custom_type_id)

CAF_ADD_TYPE_ID(caisson_messages, (caisson::call_options))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::call))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::cancelled))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::acquire))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::permit))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::release))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::get_status))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::layer_status))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::status))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::reconfigure))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::command))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::subscribe))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::unsubscribe))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::event))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::drain))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::batch))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::batch_reply))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::rejection))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::detail::worker_made))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::detail::member_report))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::detail::group_order))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::duration_summary))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::verification))
#if !CAISSON_CAF_LEGACY
CAF_ADD_TYPE_ID(caisson_messages, (caisson::errc))
#endif
CAF_ADD_TYPE_ID(caisson_messages, (caisson::renew))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::key_status))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::reload))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::gate_change))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::reload_report))
#if !CAISSON_CAF_LEGACY
CAF_ADD_TYPE_ID(caisson_messages, (caisson::detail::replace_stack))
#endif
CAF_ADD_TYPE_ID(caisson_messages, (caisson::tally_summary))
CAF_ADD_TYPE_ID(caisson_messages, (caisson::dead_letter))

CAF_END_TYPE_ID_BLOCK(caisson_messages)

namespace caisson {

/// The first type ID free for the user's own block on CAF 1.x, where the IDs of
/// all blocks must differ: pass it to `CAF_BEGIN_TYPE_ID_BLOCK`.
inline constexpr auto first_free_type_id = caf::id_block::caisson_messages::end;

} // namespace caisson
