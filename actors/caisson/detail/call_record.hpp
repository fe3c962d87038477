// What a gate knows of one call.
#pragma once

#include <caisson/caf.hpp>
#include <caisson/detail/linked.hpp>
#include <caisson/policy.hpp>
#include <caisson/timer_queue.hpp>
#include <caisson/wait_list.hpp>

#include <cstdint>
#include <vector>

namespace caisson::detail {

struct caller;

using call_timers = timer_queue<std::uint32_t>;

/// Where a call is.
enum class phase : std::uint8_t {
  free,    // the record is not in use
  moving,  // between two layers, within one handler
  held,    // by the layer `at`
  waiting, // for a worker
  flying,  // with the worker or an alternative
  leased,  // its permit is with a holder
  batched, // part of the batch that is the call `parent`
};

inline constexpr std::size_t phase_count = 7;

/// A layer's notes on one call.
struct layer_notes {
  static constexpr std::int8_t none = -2;

  slot notes;
  /// If the layer put a deadline on the call: the one that it replaced, and
  /// whose that was.
  time_point outer_deadline;
  std::int8_t outer_owner = none;
};

/// Tags of the lists that a call can be in.
struct in_flight;
struct of_caller;

/// One call. The part that policies see comes first.
struct call_record : flight, link<in_flight>, link<of_caller> {
  rt::reply_to from;
  /// What the caller sent; kept for further attempts only if some layer may
  /// want them.
  caf::message payload;
  /// What goes up; means something while an outcome refers to it.
  caf::message reply;
  time_point hold_until = never;
  time_point timer_at = never;
  call_timers::handle timer;
  /// Names the attempt under way: an answer with another key is late.
  std::uint64_t attempt_key = 0;
  /// Bit k: layer k has the call.
  std::uint64_t inside = 0;
  /// Bit k: an attempt made since layer k admitted the call may have reached a
  /// worker. The highest bit: any attempt.
  std::uint64_t reached = 0;
  wait_list<call_id>::handle wait = wait_list<call_id>::none;
  std::uint32_t index = 0;
  /// The worker it was sent to, if it was not an alternative.
  std::uint32_t incarnation = 0;
  /// The alternative it was sent to: its number among all of the gate's, none
  /// if it was sent to the worker.
  std::uint32_t alternative = no_alternative;
  /// The next call in the same bucket of the table's index.
  std::uint32_t next_indexed = 0;
  phase where = phase::free;
  bool indexed = false;
  /// The layer that holds it.
  std::int8_t at = -1;
  /// How many layers are above the place to which it was sent.
  std::int8_t depth = 0;
  /// The layer whose deadline is in force, -1: the caller's or the gate's.
  std::int8_t owner = -1;
  /// The layer whose error goes up, -1: the gate itself.
  std::int8_t decider = -1;
  /// It asks for a permit.
  bool lease = false;
  /// It has got it.
  bool granted = false;
  /// The permit's number.
  std::uint64_t permit = 0;
  /// Its caller, if that is watched on its behalf.
  caller* watched = nullptr;
  /// The gates that it passed on its way here.
  std::vector<std::uint64_t> path;

  /// The batch whose item this is.
  call_id parent = 0;

  /// If this call is a batch: its items, how many of them still wait, its
  /// number, the layer that made it.
  std::vector<call_id> items;
  std::uint32_t waiting_items = 0;
  std::uint64_t batch = 0;
  std::int8_t origin = -1;

  /// One for each layer; the table's.
  layer_notes* layers = nullptr;

  static constexpr std::uint32_t no_alternative = 0xffffffff;
};

using flying_calls = linked_list<call_record, in_flight>;
using callers_calls = linked_list<call_record, of_caller>;

} // namespace caisson::detail
