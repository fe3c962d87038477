// What ends a wait: deadlines, the end of a hold, the wish of a policy.
#include <caisson/detail/gate_actor.hpp>

namespace caisson::detail {

// -- time ---------------------------------------------------------------------

void gate_actor::fire(call_record& r) {
  if (env_.now >= r.deadline)
    return deadline_hit(r);
  if (r.where != phase::held || env_.now < r.hold_until)
    return schedule(r); // Set for a hold that has ended since.
  auto k = static_cast<std::size_t>(r.at);
  auto d = turn_of(k).expire(r, r.layers[k].notes, env_);
  if (d.what == decision::kind::hold) {
    turn_over(k);
    return hold(r, k, d.until);
  }
  if (d.what == decision::kind::pass) {
    turn_over(k);
    return descend(r, k + 1);
  }
  leave(r, k);
  r.decider = r.at;
  ascend(r, r.at - 1, outcome::failure(d.code, false, d.retry_after));
}

// Whether the present attempt may have reached the worker.
bool gate_actor::reached_now(const call_record& r) {
  if (r.where == phase::batched) {
    auto* parent = calls_.find(r.parent);
    return parent && parent->touched;
  }
  return r.where == phase::flying || r.where == phase::leased;
}

void gate_actor::deadline_hit(call_record& r) {
  auto k = r.owner;
  auto sent = reached_now(r);
  r.touched = r.touched || sent;
  if (k < 0) {
    ++totals_.expired;
    publish({.kind = event_kind::expired, .call = r.id});
    r.decider = -1;
    cut(r, -1, outcome::failure(errc::deadline_exceeded, sent));
    return finish(r, outcome::failure(errc::deadline_exceeded, r.touched));
  }
  auto layer = static_cast<std::size_t>(k);
  auto d = turn_of(layer).deadline_passed(r, r.layers[layer].notes, env_);
  turn_over(layer);
  r.owner = std::exchange(r.layers[layer].outer_owner, layer_notes::none);
  if (d.what == decision::kind::pass
      || layers_[layer].owner->active() != mode::enforce) {
    ++layers_[layer].observed_passes;
    return schedule(r);
  }
  // The layers below judge this attempt; those above, where it may be one of
  // several, must know if any of them may have reached the worker.
  cut(r, k, outcome::failure(d.code, sent, d.retry_after));
  r.inside &= ~(std::uint64_t{1} << layer);
  r.decider = k;
  ascend(r, k - 1, outcome::failure(d.code, r.touched, d.retry_after));
}

// Takes the call away from all layers below `layer` and from the worker.
void gate_actor::cut(call_record& r, int layer, const outcome& why) {
  auto held_by = r.where == phase::held ? r.at : -1;
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
  r.where = phase::moving;
  r.attempt_key = 0;
  r.hold_until = never;
  for (auto k = static_cast<int>(layers_.size()) - 1; k > layer; --k) {
    auto i = static_cast<std::size_t>(k);
    if (!inside(r, i))
      continue;
    turn_of(i).abandon(r, r.layers[i].notes, why, k != held_by, env_);
    leave(r, i);
  }
}

// A caller (a gate in front, say) takes one of its calls back.
void gate_actor::cancel(const caf::strong_actor_ptr& caller,
                        std::uint64_t number) {
  auto hit = calls_.ids([&](const call_record& r) {
    return r.from.wanted() && r.from.sender() == caller
           && r.from.number() == number;
  });
  for (auto id : hit)
    if (auto* r = calls_.find(id))
      cancel(*r);
}

// Nobody wants the answer any more.
void gate_actor::cancel(call_record& r) {
  ++totals_.cancelled;
  auto o = outcome::failure(errc::cancelled, reached_now(r));
  r.decider = -1;
  cut(r, -1, o);
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
      r->where = phase::moving;
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
  r.where = phase::moving;
  r.hold_until = never;
  r.decider = static_cast<std::int8_t>(k);
  r.depth = static_cast<std::int8_t>(k + 1);
  if (alt && !alt->asks) {
    r.reply = alt->value;
    return ascend(r, static_cast<int>(k), outcome_of(r.reply));
  }
  if (!alt || rt::is_down(alt->target))
    return ascend(r, static_cast<int>(k),
                  outcome::failure(errc::worker_down, false));
  r.alternative_of = static_cast<std::int8_t>(k);
  r.alternative = static_cast<std::uint32_t>(index);
  send_to(r, alt->target, is_local_gate(alt->target));
}

} // namespace caisson::detail
