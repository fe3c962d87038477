// The way of a call down through the layers and up again.
#include <caisson/detail/gate_actor.hpp>

#include <algorithm>
#include <utility>

namespace caisson::detail {

namespace {

std::uint64_t bit(std::size_t layer) {
  return std::uint64_t{1} << layer;
}

} // namespace

// -- down ---------------------------------------------------------------------

void gate_actor::descend(call_record& r, std::size_t first) {
  calls_.move_to(r, phase::moving);
  r.hold_until = never;
  // It may have been held until this instant.
  if (overdue(r))
    return;
  for (auto k = first; k < layers_.size(); ++k) {
    auto& l = *layers_[k].owner;
    auto act = l.active();
    // A request for a permit has no content to batch or to ask others for.
    if (act == mode::off || (r.lease && l.handles_content()))
      continue;
    if (act == mode::enforce && prefiltered(r, k))
      return;
    if (!admit(r, k, act))
      return;
  }
  dispatch(r);
}

// Returns whether the call goes on to the next layer.
bool gate_actor::admit(call_record& r, std::size_t k, mode act) {
  auto outer = r.deadline;
  auto by_default = r.default_deadline;
  r.reached &= ~bit(k);
  auto d = turn_of(k).admit(r, r.layers[k].notes, env_);
  turn_over(k);
  auto replaced = r.deadline != outer || r.default_deadline != by_default;
  // The layers further in must not see a deadline that is only observed; the
  // policy counts by itself what overran it.
  if (act != mode::enforce || d.what == decision::kind::reject) {
    r.deadline = outer;
    r.default_deadline = by_default;
    replaced = false;
  }
  if (d.what == decision::kind::reject) {
    if (act != mode::enforce) {
      ++layers_[k].observed_passes;
      return true;
    }
    r.decider = static_cast<std::int8_t>(k);
    ascend(r, static_cast<int>(k) - 1,
           outcome::failure(d.code, false, d.retry_after));
    return false;
  }
  r.inside |= bit(k);
  if (replaced) {
    // The default is gone for good where a deadline took its place.
    r.layers[k].outer_deadline = by_default && !r.default_deadline ? never
                                                                   : outer;
    r.layers[k].outer_owner = std::exchange(r.owner,
                                            static_cast<std::int8_t>(k));
  }
  if (act == mode::enforce && env_.failure) {
    auto what = *env_.failure;
    abandon(r, k, outcome::failure(errc::callback_failed, false), false);
    ascend(r, static_cast<int>(k) - 1, failed_callback(r, k, what));
    return false;
  }
  if (d.what == decision::kind::pass)
    return true;
  if (act == mode::enforce) {
    hold(r, k, d.until);
    return false;
  }
  ++layers_[k].observed_passes;
  abandon(r, k, outcome::failure(errc::cancelled, false), false);
  return true;
}

void gate_actor::hold(call_record& r, std::size_t k, time_point until) {
  calls_.move_to(r, phase::held);
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
  if (overdue(r))
    return;
  if (r.lease)
    return grant(r);
  r.decider = -1;
  switch (worker_) {
    case worker_state::up:
      with_worker_.push_back(r);
      return send_to(r, target_, target_is_gate_ || behind_.wants_calls());
    case worker_state::restarting:
      if (waiting_.size() >= supervisor_.config().max_waiting) {
        // Unknown while a factory is at work on its own thread.
        auto wait = restart_at_ == never ? duration::zero()
                                         : until(restart_at_, env_.now);
        return ascend(r, r.depth - 1,
                      outcome::failure(errc::queue_full, false, wait));
      }
      calls_.move_to(r, phase::waiting);
      r.wait = waiting_.push_back(r.id);
      mind_caller(r);
      return schedule(r);
    case worker_state::none:
    case worker_state::down:
    case worker_state::given_up:
      return ascend(r, r.depth - 1, outcome::failure(errc::worker_down, false));
  }
}

void gate_actor::grant(call_record& r) {
  r.granted = true;
  calls_.move_to(r, phase::leased);
  do
    r.permit = secrets_.bits();
  while (r.permit == 0 || !permits_.emplace(r.permit, r.id).second);
  mind_caller(r);
  schedule(r);
  answer(r, caf::make_message(permit{r.permit, until(r.deadline, env_.now)}));
}

void gate_actor::send_to(call_record& r, const caf::actor& to, bool envelope) {
  ++totals_.attempts;
  calls_.move_to(r, phase::flying);
  // A permutation of the attempt's number: never twice the same, and known to
  // nobody but the receiver.
  auto number = (++attempts_ * attempt_factor_) ^ attempt_mask_;
  r.attempt_key = (number << call_table::index_bits | r.index)
                  & ((std::uint64_t{1} << key_bits) - 1);
  schedule(r);
  auto content = resends_ ? r.payload : std::move(r.payload);
  if (envelope)
    content = caf::make_message(call{std::move(content), options_of(r, to)});
  forward(to, r.attempt_key, std::move(content), r.from.urgent());
}

call_options gate_actor::options_of(const call_record& r,
                                    const caf::actor& to) const {
  call_options o;
  o.priority = r.priority;
  o.permits = r.permits;
  o.attempt = r.attempt;
  o.idempotent = static_cast<std::uint8_t>(r.idempotent);
  o.key = r.key;
  o.path.reserve(r.path.size() + 1);
  o.path = r.path;
  o.path.push_back(path_key_);
  // The clocks of two nodes do not agree: only time left can cross.
  if (to.node() != node())
    o.time_left = until(r.deadline, env_.now);
  else if (r.deadline != never)
    o.deadline_ns = r.deadline.time_since_epoch().count();
  else
    o.time_left = unlimited;
  return o;
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
  auto by_gate = went_to_gate(*r);
  auto by_worker = r->alternative == call_record::no_alternative;
  land(*r);
  auto* err = rt::get_if<caf::error>(content);
  if (err && rt::is_receiver_down(*err)) {
    // The bounce may be here before the down message.
    if (by_worker && worker_ == worker_state::up && rt::is_down(target_))
      worker_lost("it is down");
    set_reached(*r);
    ascend(*r, r->depth - 1, outcome::failure(errc::worker_down, true));
    return end();
  }
  r->reply = std::move(content);
  auto o = outcome_of(r->reply);
  // A worker may answer with an error that it got from a gate elsewhere, which
  // says nothing about this call.
  if (!by_gate) {
    o.reached = true;
    o.from_worker = true;
  }
  if (o.reached)
    set_reached(*r);
  ascend(*r, r->depth - 1, o);
  end();
}

// The call is not with a worker any more.
void gate_actor::land(call_record& r) {
  calls_.move_to(r, phase::moving);
  r.link<in_flight>::unlink();
  r.attempt_key = 0;
  r.alternative = call_record::no_alternative;
}

void gate_actor::ascend(call_record& r, int last, outcome o) {
  for (auto n = last; n >= 0; --n) {
    auto k = static_cast<std::size_t>(n);
    if (!inside(r, k))
      continue;
    // Of this attempt for the layers below a retrier, of all of them above it.
    o.reached = o.reached || reached(r, k);
    auto enforced = layers_[k].owner->active() == mode::enforce;
    auto d = settle(r, k, o);
    auto failure = enforced ? std::move(env_.failure) : std::nullopt;
    if (d.what == decision::kind::hold) {
      // A permit cannot be granted a second time to a holder who has one.
      if (enforced && !r.granted && !failure) {
        turn_over(k);
        r.reply = caf::message{};
        return hold(r, k, d.until);
      }
      ++layers_[k].observed_passes;
      abandon(r, k, o, false);
    } else {
      leave(r, k);
    }
    if (failure) {
      o = failed_callback(r, k, *failure);
    } else if (d.what == decision::kind::reject) {
      o = outcome::failure(d.code, o.reached, d.retry_after);
      r.decider = static_cast<std::int8_t>(k);
    }
  }
  finish(r, o);
}

// -- a layer's view of a call -------------------------------------------------

// The deadline is the host's but for `admit`, whatever a policy writes there.
decision gate_actor::settle(call_record& r, std::size_t k, outcome& o) {
  auto deadline = r.deadline;
  auto d = turn_of(k).settle(r, r.layers[k].notes, o, env_);
  r.deadline = deadline;
  return d;
}

void gate_actor::abandon(call_record& r, std::size_t k, const outcome& why,
                         bool in_flight) {
  auto deadline = r.deadline;
  turn_of(k).abandon(r, r.layers[k].notes, why, in_flight, env_);
  r.deadline = deadline;
  leave(r, k);
}

// The call is not with layer k any more, nor under its deadline.
void gate_actor::leave(call_record& r, std::size_t k) {
  turn_over(k);
  r.inside &= ~bit(k);
  if (auto& outer = r.layers[k].outer_owner; outer != layer_notes::none) {
    r.owner = std::exchange(outer, layer_notes::none);
    r.deadline = r.layers[k].outer_deadline;
  }
}

// Makes the call's reply of what a function of the user's threw.
outcome gate_actor::failed_callback(call_record& r, std::size_t k,
                                    std::string_view what) {
  r.reply = caf::make_message(make_error(
    errc::callback_failed, rejection{layers_[k].owner->name(), duration::zero(),
                                     reached(r), std::string{what}}));
  return outcome_of(r.reply);
}

// -- the answer ---------------------------------------------------------------

caf::message gate_actor::error_of(const call_record& r,
                                  const outcome& o) const {
  return caf::make_message(make_error(
    static_cast<errc>(o.code),
    rejection{
      std::string{name_of_decider(r.decider)}, o.retry_after, reached(r), {}}));
}

// What came from below, with what is known here of `reached`.
caf::message gate_actor::reply_of(call_record& r, const outcome& o) const {
  auto* err = rt::get_if<caf::error>(r.reply);
  if (!err || !o.own_error)
    return std::move(r.reply);
  auto* context = context_of(*err);
  if (!context && err->context().size() > 0)
    return std::move(r.reply); // The worker's own, which is not to be lost.
  auto known = context ? *context : rejection{};
  if (context && known.reached == reached(r)
      && known.from_worker == o.from_worker)
    return std::move(r.reply);
  known.reached = reached(r);
  known.from_worker = o.from_worker;
  return caf::make_message(
    make_error(static_cast<errc>(err->code()), std::move(known)));
}

std::string_view gate_actor::name_of_decider(int layer) const {
  return layer < 0 ? std::string_view{config_.name}
                   : std::string_view{
                     layers_[static_cast<std::size_t>(layer)].owner->name()};
}

void gate_actor::finish(call_record& r, const outcome& o) {
  if (r.origin >= 0)
    return unpack(r, o);
  ++(o.ok ? totals_.succeeded : totals_.failed);
  release_caller(r);
  timers_.cancel(r.timer);
  if (r.permit != 0)
    permits_.erase(r.permit);
  if (r.from.wanted())
    answer(r, o.reply ? reply_of(r, o) : error_of(r, o));
  calls_.put_back(r);
}

void gate_actor::answer(call_record& r, caf::message content) {
  calls_.unindex(r);
  r.from.answer(this, std::move(content));
}

} // namespace caisson::detail
