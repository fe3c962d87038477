// The way of a call down through the layers and up again.
#include <caisson/detail/gate_actor.hpp>

#include <algorithm>

namespace caisson::detail {

// -- down ---------------------------------------------------------------------

void gate_actor::descend(call_record& r, std::size_t first) {
  r.where = phase::moving;
  r.hold_until = never;
  for (auto k = first; k < layers_.size(); ++k) {
    auto& l = *layers_[k].owner;
    auto act = l.active();
    // There is nothing in a request for a permit that could join a batch.
    if (act == mode::off || (r.lease && l.forms()))
      continue;
    if (act == mode::enforce && prefiltered(r, k))
      return;
    auto before = r.deadline;
    auto d = turn_of(k).admit(r, r.layers[k].notes, env_);
    turn_over(k);
    if (d.what == decision::kind::reject) {
      if (act == mode::observe) {
        ++layers_[k].observed_passes;
        continue;
      }
      r.decider = static_cast<std::int8_t>(k);
      return ascend(r, static_cast<int>(k) - 1,
                    outcome::failure(d.code, false, d.retry_after));
    }
    r.inside |= std::uint64_t{1} << k;
    // The layers further in must not see a deadline that is only observed; the
    // policy counts by itself what overran it.
    if (act == mode::observe)
      r.deadline = before;
    if (r.deadline != before) {
      r.layers[k].outer_owner = r.owner;
      r.owner = static_cast<std::int8_t>(k);
    }
    if (d.what == decision::kind::pass)
      continue;
    if (act == mode::enforce)
      return hold(r, k, d.until);
    ++layers_[k].observed_passes;
    turn_of(k).abandon(r, r.layers[k].notes,
                       outcome::failure(errc::cancelled, false), false, env_);
    leave(r, k);
  }
  dispatch(r);
}

// The call is not with layer k any more; if the layer's deadline was in force,
// the policy has put back the outer one.
void gate_actor::leave(call_record& r, std::size_t k) {
  turn_over(k);
  r.inside &= ~(std::uint64_t{1} << k);
  if (auto& outer = r.layers[k].outer_owner; outer != layer_notes::none)
    r.owner = std::exchange(outer, layer_notes::none);
}

void gate_actor::hold(call_record& r, std::size_t k, time_point until) {
  r.where = phase::held;
  r.at = static_cast<std::int8_t>(k);
  r.hold_until = until;
  mind_caller(r);
  schedule(r);
}

// Sets the call's timer to whatever comes first.
void gate_actor::schedule(call_record& r) {
  auto due = std::min(r.hold_until, r.deadline);
  if (due == r.timer_at)
    return;
  if (due == never)
    timers_.cancel(r.timer);
  else if (r.timer_at == never || !timers_.update(r.timer, due))
    r.timer = timers_.push(due, r.index);
  r.timer_at = due;
}

void gate_actor::dispatch(call_record& r) {
  r.depth = static_cast<std::int8_t>(layers_.size());
  if (r.lease) {
    r.granted = true;
    r.where = phase::leased;
    mind_caller(r);
    schedule(r);
    r.from.answer(this,
                  caf::make_message(permit{r.id, until(r.deadline, env_.now)}));
    return;
  }
  r.decider = -1;
  switch (worker_) {
    case worker_state::up:
      r.incarnation = incarnation_;
      r.alternative_of = -1;
      return send_to(r, target_, target_is_gate_ || behind_.wants_calls());
    case worker_state::restarting:
      if (waiting_.size() >= supervisor_.config().max_waiting) {
        // Unknown while a factory is at work on its own thread.
        auto wait = restart_at_ == never ? duration::zero()
                                         : until(restart_at_, env_.now);
        return ascend(r, r.depth - 1,
                      outcome::failure(errc::queue_full, false, wait));
      }
      r.where = phase::waiting;
      r.wait = waiting_.push_back(r.id);
      mind_caller(r);
      return schedule(r);
    case worker_state::none:
    case worker_state::down:
    case worker_state::given_up:
      return ascend(r, r.depth - 1, outcome::failure(errc::worker_down, false));
  }
}

void gate_actor::send_to(call_record& r, const caf::actor& to, bool envelope) {
  ++totals_.attempts;
  r.where = phase::flying;
  r.touched = true;
  r.attempt_key = (++attempts_ << call_table::index_bits | r.index)
                  & ((std::uint64_t{1} << key_bits) - 1);
  schedule(r);
  auto content = resends_ ? r.payload : std::move(r.payload);
  if (envelope) {
    call_options o;
    o.priority = r.priority;
    o.permits = r.permits;
    o.attempt = r.attempt;
    o.idempotent = static_cast<std::uint8_t>(r.idempotent);
    o.key = r.key;
    // The clocks of two nodes do not agree: only time left can cross.
    if (to.node() != node())
      o.time_left = until(r.deadline, env_.now);
    else if (r.deadline != never)
      o.deadline_ns = r.deadline.time_since_epoch().count();
    else
      o.time_left = unlimited;
    content = caf::make_message(call{std::move(content), std::move(o)});
  }
  forward(to, r.attempt_key, std::move(content), r.from.urgent());
}

// -- up -----------------------------------------------------------------------

void gate_actor::on_answer(std::uint64_t key, caf::message content) {
  begin();
  auto* r = calls_.at(key & (call_table::capacity - 1));
  if (!r || r->where != phase::flying || r->attempt_key != key) {
    ++totals_.late_results;
    publish({.kind = event_kind::late_result});
    return end();
  }
  r->where = phase::moving;
  r->attempt_key = 0;
  auto* err = rt::get_if<caf::error>(content);
  if (err && rt::is_receiver_down(*err)) {
    // The bounce may be here before the down message.
    if (r->alternative_of < 0 && r->incarnation == incarnation_
        && worker_ == worker_state::up && rt::is_down(target_))
      worker_lost("it is down");
    ascend(*r, r->depth - 1, outcome::failure(errc::worker_down, true));
  } else {
    r->reply = std::move(content);
    ascend(*r, r->depth - 1, outcome_of(r->reply));
  }
  end();
}

void gate_actor::ascend(call_record& r, int last, outcome o) {
  for (auto k = last; k >= 0; --k) {
    auto layer = static_cast<std::size_t>(k);
    if (!inside(r, layer))
      continue;
    auto d = turn_of(layer).settle(r, r.layers[layer].notes, o, env_);
    if (d.what == decision::kind::hold) {
      // A permit cannot be granted a second time to a holder who has one.
      if (layers_[layer].owner->active() == mode::enforce && !r.granted) {
        turn_over(layer);
        r.reply = caf::message{};
        return hold(r, layer, d.until);
      }
      ++layers_[layer].observed_passes;
      turn_of(layer).abandon(r, r.layers[layer].notes, o, false, env_);
    }
    leave(r, layer);
    if (d.what == decision::kind::reject) {
      o = outcome::failure(d.code, o.reached, d.retry_after);
      r.decider = static_cast<std::int8_t>(k);
    }
  }
  finish(r, o);
}

caf::message gate_actor::message_of(const call_record& r,
                                    const outcome& o) const {
  if (o.reply)
    return *static_cast<const caf::message*>(o.reply);
  return caf::make_message(make_error(
    static_cast<errc>(o.code),
    rejection{
      std::string{name_of_decider(r.decider)}, o.retry_after, r.touched, {}}));
}

std::string_view gate_actor::name_of_decider(int layer) const {
  return layer < 0 ? std::string_view{config_.name}
                   : std::string_view{
                     layers_[static_cast<std::size_t>(layer)].owner->name()};
}

void gate_actor::finish(call_record& r, const outcome& o) {
  if (r.origin >= 0)
    return land(r, o);
  ++(o.ok ? totals_.succeeded : totals_.failed);
  release_caller(r);
  timers_.cancel(r.timer);
  if (r.from.wanted())
    r.from.answer(this, o.reply ? std::move(r.reply) : message_of(r, o));
  calls_.put_back(r);
}

} // namespace caisson::detail
