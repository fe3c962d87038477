// An engine's record of one call.
#pragma once

#include <caisson/base/linked.hpp>
#include <caisson/base/pooled_list.hpp>
#include <caisson/base/timer_queue.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/engine/engine_host.hpp>
#include <caisson/policy/policy.hpp>
#include <caisson/policy/propagated_fields.hpp>
#include <caisson/policy/trace_context.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

namespace caisson::detail {

struct watched_caller;

using call_timers = timer_queue<std::uint32_t>;

/// Where a call is.
enum class phase : std::uint8_t {
  free,      // the record is not in use
  moving,    // between two layers, within one handler
  held,      // by the layer `at`
  delegated, // held by the layer `at`, with children in flight
  waiting,   // for a worker
  in_flight, // with the worker or another target
  leased,    // its permit is with a holder
};

inline constexpr std::size_t phase_count = 7;

[[nodiscard]] constexpr std::string_view name_of(phase x) noexcept {
  constexpr std::string_view names[phase_count]{
    "free", "moving", "held", "delegated", "waiting", "in_flight", "leased"};
  return names[static_cast<std::size_t>(x)];
}

/// A layer's notes on one call.
struct layer_notes {
  static constexpr std::int8_t none = -2;

  slot notes;
  /// If the layer put a deadline on the call: the one that it replaced, and
  /// whose that was.
  time_point outer_deadline;
  /// Of a request for a permit: when its work may begin as far as the layers
  /// further out say.
  time_point outer_begins;
  std::int8_t outer_owner = none;
  /// If a child ended that the layer had started for the call: whose error
  /// would have gone up before.
  std::int8_t held_as = -1;
};

/// Tags of the lists that a call can be in.
struct by_target;
struct by_caller;

/// What a child knows of its parents.
struct child_state {
  /// The layer that started it.
  std::size_t origin = 0;
  /// In the order in which they joined; some may have left.
  std::vector<call_id> parents;
  /// How many have not left.
  std::size_t waiting = 0;
  /// As `child_call` says.
  std::uint32_t target = child_call::below;
  std::uint32_t permits = 0;
  /// How many messages were sent for it; known when it is over.
  std::uint32_t sends = 0;
  time_point limit = never;
  /// Whether it was started on behalf of parents: it is then given up once it
  /// has none. One that was started without parents goes on when those that
  /// joined it have left.
  bool has_parents = false;
  /// Whether its key is not that of its parents.
  bool has_own_key = false;
};

/// Where a call belongs in its trace, and what travels with it. A call that has
/// neither has none.
struct call_trace {
  /// As the caller said: `above.span` is the span above the gate's own. Without
  /// one the call is in no trace.
  trace_context above;
  /// The gate's own span for the call.
  std::uint64_t span = 0;
  /// That of the attempt in flight, or of the last one.
  std::uint64_t attempt = 0;
  /// The target of that attempt.
  target_id target = worker_target;
  /// Goes with each attempt.
  propagated_fields propagated = {};

  [[nodiscard]] bool in_trace() const noexcept { return above.span != 0; }
};

/// What an engine notes on a call, without what owns memory.
struct call_notes {
  time_point hold_until = never;
  /// When the attempt in flight was sent, or the last one; `never`: none was.
  /// Of a permit: from when on there may be work, which can be in the future.
  time_point sent_at = never;
  time_point timer_at = never;
  /// When the call must be over, with all its attempts: its own deadline, or
  /// that of a layer outside of all that may send it again.
  time_point limit = never;
  /// A request for a permit that wants to know when its work may begin: by when
  /// it must. Otherwise `min`.
  time_point begin_by = time_point::min();
  /// When its work may begin as far as the layers say that have it.
  time_point begins = time_point::min();
  call_timers::handle timer;
  /// Names the attempt in flight: an answer with another key is late.
  std::uint64_t attempt_key = 0;
  /// The number under which the target knows that attempt.
  std::uint64_t attempt_number = 0;
  /// Bit k: layer k has the call.
  std::uint64_t inside = 0;
  /// Bit k: an attempt made since layer k admitted the call may have executed.
  /// The highest bit: any attempt.
  std::uint64_t may_have_executed = 0;
  /// The permit's number.
  std::uint64_t permit = 0;
  /// The call's caller, if that is watched on behalf of the call.
  watched_caller* watched = nullptr;
  pooled_list<call_id>::handle wait = pooled_list<call_id>::none;
  /// The target of the attempt in flight, or of the last one.
  target_id target = worker_target;
  /// The record's neighbours in the same bucket of the table's index.
  std::uint32_t next_indexed = 0;
  std::uint32_t previous_indexed = 0;
  /// The call passes the layers that serve this plan, even if others come and
  /// go meanwhile.
  std::uint32_t plan = 0;
  /// How many messages were sent for the call, by its children as well.
  std::uint32_t sends = 0;
  phase where = phase::free;
  bool indexed = false;
  /// The call's content has been sent and not kept.
  bool content_gone = false;
  /// The layer that holds the call.
  std::int8_t at = -1;
  /// How many layers are above the place to which the call was sent.
  std::int8_t depth = 0;
  /// The layer whose deadline is in force, -1: the caller's or the gate's.
  std::int8_t owner = -1;
  /// The layer whose error goes up, -1: the gate itself.
  std::int8_t rejected_by = -1;
  /// The call asks for a permit.
  bool lease = false;
  /// It has got the permit.
  bool granted = false;

  [[nodiscard]] bool reserves() const noexcept {
    return begin_by != time_point::min();
  }
};

static_assert(std::is_trivially_copyable_v<call_notes>);

/// One call. The part that policies see comes first.
struct call_record : call_info, call_notes, link<by_target>, link<by_caller> {
  reply_slot from;
  /// What the caller sent; kept for further attempts only if some layer may
  /// want them.
  caf::message payload;
  /// What goes up; means something while an outcome refers to it.
  caf::message reply;
  /// The gates that the call passed on its way here.
  std::vector<std::uint64_t> path;
  /// The call's children in flight.
  std::vector<call_id> children;
  /// Set if the call is a child itself.
  std::unique_ptr<child_state> child;
  /// Set if the call's caller traces it, or sends baggage along; a child has
  /// that of the call it serves.
  std::unique_ptr<call_trace> trace;

  // Of its place, whatever call it has:

  /// One for each layer; the table's.
  layer_notes* layers = nullptr;
  std::uint32_t index = 0;
};

using target_calls = linked_list<call_record, by_target>;
using caller_calls = linked_list<call_record, by_caller>;

// -- marks --------------------------------------------------------------------

inline constexpr std::size_t any_attempt = 63;

/// How many layers a table can have at once, those included that only serve
/// calls from before a change.
inline constexpr std::size_t most_layers = any_attempt;

[[nodiscard]] inline bool is_inside(const call_record& r,
                                    std::size_t layer) noexcept {
  return (r.inside >> layer & 1) != 0;
}

/// Whether an attempt that layer k, or (without one) the caller, knows of may
/// have been executed by a worker.
[[nodiscard]] inline bool
may_have_executed(const call_record& r,
                  std::size_t layer = any_attempt) noexcept {
  return (r.may_have_executed >> layer & 1) != 0;
}

inline void mark_executed(call_record& r) noexcept {
  r.may_have_executed |= r.inside | std::uint64_t{1} << any_attempt;
}

// -- children -----------------------------------------------------------------

/// Whether `r`, if it is not null, is a parent of that child. One that has left
/// a child does not wait for it, also if the same layer holds it again.
[[nodiscard]] inline bool waits_for(const call_record* r,
                                    call_id child) noexcept {
  return r
         && std::find(r->children.begin(), r->children.end(), child)
              != r->children.end();
}

} // namespace caisson::detail
