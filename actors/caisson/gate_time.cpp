// What ends a wait: deadlines, the end of a hold, the wish of a policy.
#include <caisson/detail/gate_actor.hpp>

#include <utility>

namespace caisson::detail {

// -- time ---------------------------------------------------------------------

void gate_actor::fire(call_record& r) {
  if (overdue(r))
    return;
  if (r.where != phase::held || env_.now < r.hold_until)
    return schedule(r); // Set for a hold, or a deadline, that is over.
  auto k = static_cast<std::size_t>(r.at);
  auto deadline = r.deadline;
  auto d = turn_of(k).expire(r, r.layers[k].notes, env_);
  r.deadline = deadline;
  if (env_.failure && layers_[k].owner->active() == mode::enforce) {
    auto what = *env_.failure;
    calls_.move_to(r, phase::moving);
    if (d.what == decision::kind::reject)
      leave(r, k);
    else
      abandon(r, k, outcome::failure(errc::callback_failed, false), false);
    return ascend(r, r.at - 1, failed_callback(r, k, what));
  }
  if (d.what == decision::kind::hold) {
    turn_over(k);
    return hold(r, k, d.until);
  }
  if (d.what == decision::kind::pass) {
    turn_over(k);
    return descend(r, k + 1);
  }
  calls_.move_to(r, phase::moving);
  leave(r, k);
  r.decider = r.at;
  ascend(r, r.at - 1, outcome::failure(d.code, false, d.retry_after));
}

// Whether the present attempt may have reached the worker.
bool gate_actor::reached_now(const call_record& r) {
  if (r.where == phase::batched) {
    auto* parent = calls_.find(r.parent);
    return parent && (reached(*parent) || reached_now(*parent));
  }
  return r.where == phase::flying || r.where == phase::leased;
}

// Ends the call if its deadline has come. Returns whether it is gone from here.
bool gate_actor::overdue(call_record& r) {
  while (env_.now >= r.deadline)
    if (deadline_hit(r))
      return true;
  return false;
}

// Returns false if the deadline was lifted, so that the outer one is in force.
bool gate_actor::deadline_hit(call_record& r) {
  if (reached_now(r))
    set_reached(r);
  if (r.owner < 0) {
    ++totals_.expired;
    publish({.kind = event_kind::expired, .call = r.id});
    cut(r, -1, outcome::failure(errc::deadline_exceeded, false));
    r.decider = -1;
    finish(r, outcome::failure(errc::deadline_exceeded, false));
    return true;
  }
  auto k = static_cast<std::size_t>(r.owner);
  auto d = turn_of(k).deadline_passed(r, r.layers[k].notes, env_);
  turn_over(k);
  if (d.what == decision::kind::pass
      || layers_[k].owner->active() != mode::enforce) {
    ++layers_[k].observed_passes;
    r.deadline = r.layers[k].outer_deadline;
    r.owner = std::exchange(r.layers[k].outer_owner, layer_notes::none);
    return false;
  }
  cut(r, static_cast<int>(k), outcome::failure(d.code, false, d.retry_after));
  leave(r, k);
  r.decider = static_cast<std::int8_t>(k);
  ascend(r, static_cast<int>(k) - 1,
         outcome::failure(d.code, false, d.retry_after));
  return true;
}

// Takes the call away from all layers below `layer` and from the worker. What
// each layer is told of `reached` is what it knows of: this attempt if it is
// below a retrier, all of them if it is above it.
void gate_actor::cut(call_record& r, int layer, const outcome& why) {
  auto held_by = r.where == phase::held ? r.at : -1;
  auto batch = r.where == phase::batched ? r.parent : 0;
  if (reached_now(r))
    set_reached(r);
  // A gate behind this one was given the same deadline and has noticed.
  if (r.where == phase::flying
      && !(target_is_gate_ && why.is(errc::deadline_exceeded)))
    tell_cancelled(r);
  else if (r.where == phase::waiting)
    waiting_.erase(r.wait);
  else if (r.where == phase::leased)
    publish({.kind = event_kind::lease_ended,
             .detail = name_of(static_cast<errc>(why.code)),
             .call = r.id});
  land(r);
  r.hold_until = never;
  for (auto n = static_cast<int>(layers_.size()) - 1; n > layer; --n) {
    auto k = static_cast<std::size_t>(n);
    if (!inside(r, k))
      continue;
    auto seen = why;
    seen.reached = reached(r, k);
    abandon(r, k, seen, n != held_by);
  }
  if (batch != 0)
    item_left(batch);
}

// A caller (a gate in front, say) takes one of its calls back.
void gate_actor::cancel(const caf::strong_actor_ptr& caller,
                        std::uint64_t number) {
  while (auto* r = calls_.find_request(caller, number))
    cancel(*r);
}

// Nobody wants the answer any more.
void gate_actor::cancel(call_record& r) {
  ++totals_.cancelled;
  auto o = outcome::failure(errc::cancelled, false);
  cut(r, -1, o);
  r.decider = -1;
  finish(r, o);
}

// -- what policies ask for ----------------------------------------------------

void gate_actor::carry_out(const request_of_layer& x) {
  if (x.what.what == env::action::kind::launch)
    return launch_batch(x.layer, x.what.index);
  auto* r = calls_.find(x.what.call);
  // Answered or cut off since: the policy was told.
  if (!r || r->where != phase::held
      || static_cast<std::size_t>(r->at) != x.layer)
    return;
  switch (x.what.what) {
    case env::action::kind::resume:
      return descend(*r, x.layer + 1);
    case env::action::kind::redirect:
      return redirect(*r, x.layer, x.what.index);
    case env::action::kind::reject:
      calls_.move_to(*r, phase::moving);
      leave(*r, x.layer);
      r->decider = r->at;
      return ascend(*r, r->at - 1,
                    outcome::failure(x.what.code, false, x.what.retry_after));
    case env::action::kind::launch:
      return; // Handled above.
  }
}

void gate_actor::redirect(call_record& r, std::size_t k, std::uint64_t index) {
  auto* alt = layers_[k].owner->at(index);
  calls_.move_to(r, phase::moving);
  r.hold_until = never;
  if (overdue(r))
    return;
  r.decider = static_cast<std::int8_t>(k);
  r.depth = static_cast<std::int8_t>(k + 1);
  if (alt && !alt->asks) {
    r.reply = alt->value;
    auto o = outcome_of(r.reply);
    o.reached = o.from_worker = false;
    return ascend(r, static_cast<int>(k), o);
  }
  if (!alt || rt::is_down(alt->target))
    return ascend(r, static_cast<int>(k),
                  outcome::failure(errc::worker_down, false));
  auto number = layers_[k].first_alternative + index;
  auto& entry = alternatives_[number];
  r.alternative = static_cast<std::uint32_t>(number);
  entry.calls.push_back(r);
  send_to(r, entry.target, entry.is_gate);
}

} // namespace caisson::detail
