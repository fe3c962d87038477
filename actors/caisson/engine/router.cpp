#include <caisson/engine/router.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/caf/error.hpp>
#include <caisson/engine/contract.hpp>
#include <caisson/engine/layer_calls.hpp>
#include <caisson/policy/call_number.hpp>

#include <utility>

namespace caisson::detail {

router::router(engine_core& core, attempts& attempts_part,
               upstream& upstream_part, leases& leases_part,
               call_expiry& expiry, child_calls& children)
  : core_(core), attempts_(attempts_part), upstream_(upstream_part),
    leases_(leases_part), expiry_(expiry), children_(children),
    descent_(core, expiry), ascent_(core), finish_(core, leases_part),
    results_(core, attempts_part) {}

void router::move(call_record& r, next_step& s) {
  using kind = next_step::kind;
  CAISSON_ENSURE(s.result || s.what < kind::ascend,
                 "call {} takes step {} without a result", call_number(r.id),
                 s.what);
  CAISSON_ENSURE(s.layer <= static_cast<int>(core_.layers.size()),
                 "call {} goes on at layer {} of {}", call_number(r.id),
                 s.layer, core_.layers.size());
  switch (s.what) {
    case kind::none:
      return;
    case kind::descend:
      return descend(r, static_cast<std::size_t>(s.layer));
    case kind::dispatch:
      return dispatch(r);
    case kind::send:
      return attempts_.send(r, s.target);
    case kind::ascend:
      return ascend(r, s.layer, *s.result);
    case kind::cut_off:
      return cut_off(r, s.layer, *s.result);
    case kind::finish:
      return finish(r, *s.result);
  }
}

// -- down ---------------------------------------------------------------------

void router::descend(call_record& r, std::size_t first) {
  auto s = descent_.pass(r, first);
  if (s.what == next_step::kind::dispatch) [[likely]]
    return dispatch(r);
  if (s.what == next_step::kind::ascend)
    return ascend(r, s.layer, *s.result);
  move(r, s);
}

// Past all layers: to the worker, or to the holder of a permit.
void router::dispatch(call_record& r) {
  CAISSON_ENSURE(r.children.empty(), "call {} is sent, and has children",
                 call_number(r.id));
  r.depth = static_cast<std::int8_t>(core_.layers.size());
  if (end_overdue(r))
    return;
  if (r.lease) [[unlikely]]
    return move(r, leases_.grant(r));
  r.rejected_by = -1;
  auto s = upstream_.take(r);
  if (s.what == next_step::kind::send) [[likely]]
    return attempts_.send(r, s.target);
  move(r, s);
}

// -- up -----------------------------------------------------------------------

void router::on_answer(std::uint64_t key, caf::message&& content) {
  auto* r = attempts_.answered(key);
  if (!r)
    return;
  core_.take_up(*r);
  auto target = r->target;
  attempts_.end(*r);
  auto* err = portable::get_if<caf::error>(content);
  if (err && portable::is_receiver_down(*err))
    return lose(*r, target);
  auto o = attempts_.take_answer(*r, target, std::move(content));
  ascend(*r, r->depth - 1, o);
}

// The attempt bounced. This may arrive before the target's down message.
void router::lose(call_record& r, target_id from) {
  CAISSON_ENSURE(r.where == phase::moving && r.attempt_key == 0,
                 "call {} bounces off target {} while it is {}",
                 call_number(r.id), from, name_of(r.where));
  auto id = r.id;
  on_change(upstream_.suspect(from));
  // Others at the target have ended, and with them perhaps its parents.
  if (!core_.calls.find(id))
    return;
  mark_executed(r);
  CAISSON_ENSURE(r.id == id && r.where == phase::moving,
                 "call {} is {} after the calls of its target have ended",
                 call_number(id), name_of(r.where));
  auto o = outcome::failure(errc::worker_down, true);
  attempts_.measure(r, o);
  ascend(r, r.depth - 1, o);
}

void router::ascend(call_record& r, int last, outcome& o) {
  if (ascent_.pass(r, last, o)) [[likely]]
    finish(r, o);
}

void router::finish(call_record& r, const outcome& o) {
  if (r.child) [[unlikely]]
    return finish_child(r, o);
  finish_.finish(r, o);
}

// Every parent that still waits gets its part.
void router::finish_child(call_record& c, const outcome& o) {
  auto x = results_.finish(c, o);
  auto k = x.state->origin;
  CAISSON_ENSURE(k < core_.layers.size(),
                 "call {} was started by layer {} of {}", call_number(x.id), k,
                 core_.layers.size());
  std::size_t released = 0;
  for (std::size_t i = 0; i < x.state->parents.size(); ++i) {
    auto* p = results_.released_parent(x, i);
    if (!p)
      continue;
    ++released;
    CAISSON_ENSURE(released <= x.state->waiting,
                   "{} parents of call {} go on, and {} wait", released,
                   call_number(x.id), x.state->waiting);
    core_.take_up(*p);
    leave_children(*p);
    auto held_as = p->rejected_by;
    auto own = results_.outcome_for(x, i, *p);
    ascend(*p, static_cast<int>(k), own);
    // It may have been put back.
    if (p = core_.calls.find(x.state->parents[i]); is_held_by(k, p))
      p->rejected_by = held_as;
  }
}

// -- away ---------------------------------------------------------------------

// Returns whether the call is gone from here.
bool router::end_overdue(call_record& r) {
  if (core_.now() < r.deadline) [[likely]]
    return false;
  auto s = expiry_.overdue(r);
  if (!s)
    return false;
  move(r, s);
  return true;
}

void router::on_timer(call_record& r) {
  core_.take_up(r);
  CAISSON_ENSURE(!core_.timers.contains(r.timer),
                 "the timer of call {} goes off, and is set",
                 call_number(r.id));
  CAISSON_ENSURE(r.where != phase::moving,
                 "call {} is {}, and its timer is set", call_number(r.id),
                 name_of(r.where));
  r.timer_at = never;
  if (end_overdue(r))
    return;
  if (!expiry_.hold_is_over(r))
    return core_.schedule(r); // Set for a hold, or a deadline, that is over.
  if (auto value = expiry_.expire(r)) {
    leave_children(r);
    move(r, expiry_.end_hold(r, *value));
  }
}

void router::cut(call_record& r, int layer, const outcome& why) {
  expiry_.cut(r, layer, why);
  leave_children(r);
}

void router::cut_off(call_record& r, int layer, outcome& why) {
  cut(r, layer, why);
  CAISSON_ENSURE(r.where == phase::moving && r.children.empty(),
                 "call {} is cut off, and is {}", call_number(r.id),
                 name_of(r.where));
  r.rejected_by = static_cast<std::int8_t>(layer);
  if (layer < 0)
    return finish(r, why);
  leave_layer(r, static_cast<std::size_t>(layer));
  ascend(r, layer - 1, why);
}

// The call is not held any more.
void router::leave_children(call_record& r) {
  children_.leave_all(r, [this](call_record& c) { give_up(c); });
}

// No parent waits for it any more.
void router::give_up(call_record& c) {
  CAISSON_ENSURE(c.child && c.child->waiting == 0,
                 "call {} is given up, and parents wait for it",
                 call_number(c.id));
  // The deadline of its last parent is its own.
  if (end_overdue(c))
    return;
  auto o = outcome::failure(errc::cancelled, false);
  cut_off(c, -1, o);
}

// -- the worker ---------------------------------------------------------------

void router::on_change(worker_change&& x) {
  upstream_.check();
  CAISSON_ENSURE(!x.sends_waiting || !x.fails_waiting,
                 "calls that wait for the worker are sent, and fail");
  if (x.sends_waiting)
    send_waiting();
  if (x.fails_waiting)
    fail_waiting();
  if (x.quits)
    core_.host.worker_given_up(*x.quits);
  if (x.lost)
    fail_all_at(*x.lost);
}

// In order of arrival. One that the new worker kills leaves the rest waiting.
void router::send_waiting() {
  while (upstream_.state() == worker_state::up) {
    auto* r = upstream_.pop_waiting();
    if (!r)
      return;
    core_.take_up(*r);
    dispatch(*r);
  }
}

void router::fail_waiting() {
  while (auto* r = upstream_.pop_waiting()) {
    core_.take_up(*r);
    auto o = outcome::failure(errc::worker_down, false);
    ascend(*r, r->depth - 1, o);
  }
}

void router::fail_all_at(target_id x) {
  // Calls that are sent meanwhile go to another worker.
  auto lost = upstream_.take_calls(x);
  while (!lost.empty()) {
    auto& r = lost.front();
    core_.take_up(r);
    CAISSON_ENSURE(r.where == phase::in_flight,
                   "call {} is lost with its target while it is {}",
                   call_number(r.id), name_of(r.where));
    auto o = outcome::failure(errc::worker_down, true);
    attempts_.measure(r, o);
    attempts_.end(r);
    mark_executed(r);
    ascend(r, r.depth - 1, o);
  }
}

// -- what layers ask for ------------------------------------------------------

// Layer k, which holds the call, has decided about it.
void router::take_from_layer(call_record& r, std::size_t k) {
  core_.take_up(r);
  CAISSON_ENSURE(is_held_by(k, &r) && is_inside(r, k),
                 "layer {} decides about call {}, which it does not hold", k,
                 call_number(r.id));
  CAISSON_ENSURE(r.attempt_key == 0,
                 "layer {} decides about call {}, which is with target {}", k,
                 call_number(r.id), r.target);
  leave_children(r);
}

void router::resume(call_record& r, std::size_t k) {
  take_from_layer(r, k);
  descend(r, k + 1);
}

void router::answer(call_record& r, std::size_t k, std::uint64_t value,
                    bool executed) {
  if (executed)
    mark_executed(r);
  take_from_layer(r, k);
  core_.calls.move_to(r, phase::moving);
  r.hold_until = never;
  if (end_overdue(r))
    return;
  CAISSON_ENSURE(r.inside >> k == 1 && r.children.empty(),
                 "layer {} answers call {}, which is in layers {:#x}", k,
                 call_number(r.id), r.inside);
  r.reply = core_.layers[k].owner->value(value);
  auto o = outcome_of(r.reply);
  o.may_have_executed = executed;
  o.from_worker = false;
  r.rejected_by = static_cast<std::int8_t>(k);
  ascend(r, static_cast<int>(k), o);
}

void router::reject(call_record& r, std::size_t k, errc code,
                    duration retry_after) {
  take_from_layer(r, k);
  core_.calls.move_to(r, phase::moving);
  r.hold_until = never;
  check_reject(code, retry_after);
  leave_layer(r, k);
  r.rejected_by = static_cast<std::int8_t>(k);
  auto o = outcome::failure(code, false, retry_after);
  ascend(r, static_cast<int>(k) - 1, o);
}

void router::start_child(std::size_t k, call_id id) {
  auto* c = core_.calls.find(id);
  if (!c)
    return; // Given up before it began.
  core_.take_up(*c);
  CAISSON_ENSURE(c->child && c->child->origin == k,
                 "layer {} starts call {}, which is no child of it", k,
                 call_number(id));
  auto parents = children_.take_parents(*c);
  // The last moment for those whose deadline has come. Such an end may end
  // others, so no call is attached before all of them are through.
  for (auto p : parents)
    if (auto* parent = children_.held_parent(*c, p))
      end_overdue(*parent);
  CAISSON_ENSURE(c->id == id && c->where == phase::moving,
                 "call {} is {} before it has any parents", call_number(id),
                 name_of(c->where));
  move(*c, children_.start(*c, parents));
}

void router::cancel_child(std::size_t k, call_id child) {
  auto* c = children_.child_of(k, child);
  if (!c)
    return;
  core_.take_up(*c);
  CAISSON_ENSURE((c->inside & (layer_bit(k + 1) - 1)) == 0,
                 "a child of layer {}, call {}, is in layers {:#x}", k,
                 call_number(child), c->inside);
  cut(*c, -1, outcome::failure(errc::cancelled, false));
  CAISSON_ENSURE(c->id == child && c->attempt_key == 0,
                 "call {} is given up, and is with a target",
                 call_number(child));
  results_.drop(*c);
}

} // namespace caisson::detail
